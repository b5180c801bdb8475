//===- Gguf.h - Reading GGUF files ------------------------------*- C++ -*-===//
//
// The format: a header with the numbers of tensors and keys, the keys' values,
// a table of tensors, then the tensors' bytes. A file is used only after all
// rules of the format have been checked; compiler/Weights/README.md lists them.
// Values stay in the file's bytes and are read on demand.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_WEIGHTS_GGUF_H
#define MTP_COMPILER_WEIGHTS_GGUF_H

#include "compiler/Weights/WeightType.h"
#include "runtime/core/Result.h"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mtp {

/// Types of metadata values, with the format's numbers.
enum class GgufType : uint32_t {
  U8,
  I8,
  U16,
  I16,
  U32,
  I32,
  F32,
  Bool,
  String,
  Array,
  U64,
  I64,
  F64,
};

/// A metadata value, as a view of the file.
class GgufValue {
public:
  GgufValue(GgufType type, bool isArray, uint64_t count,
            std::span<const uint8_t> bytes)
      : type(type), array(isArray), count(count), bytes(bytes) {}

  bool isArray() const { return array; }
  /// Returns true for a string, or an array of strings.
  bool isText() const { return type == GgufType::String; }
  /// Returns the number of elements of an array, and 1 for other values.
  uint64_t size() const { return count; }

  /// Return the elements, or the value as the only element, if all have the
  /// wanted kind: integers of any width that 64 signed bits hold, integers or
  /// floats, booleans, or strings. Floats keep the shortest decimal form, so an
  /// f32 of 1e-5 gives the double 1e-5.
  std::optional<std::vector<int64_t>> integers() const;
  std::optional<std::vector<double>> numbers() const;
  std::optional<std::vector<bool>> flags() const;
  std::optional<std::vector<std::string_view>> texts() const;

  /// Returns the kind of the value for messages: "a string", "an array", ...
  const char *describe() const;

private:
  GgufType type; ///< Of the elements of an array.
  bool array;
  uint64_t count;
  std::span<const uint8_t> bytes;
};

/// One row of the table of tensors.
struct GgufTensor {
  std::string name;
  WeightType type;
  std::vector<int64_t> shape; ///< The slowest extent first, as in safetensors.
  uint64_t offset = 0;        ///< From the start of the file.
  uint64_t size = 0;          ///< In bytes.
};

/// A checked file. Valid as long as the file's bytes.
struct GgufHeader {
  std::map<std::string, GgufValue, std::less<>> values;
  std::vector<GgufTensor> tensors; ///< In the order of the file.

  /// Returns the value of a key, if there is one.
  const GgufValue *find(std::string_view key) const;
  /// Returns the string at a key; empty if it is absent or no string.
  std::string_view text(std::string_view key) const;
  /// Returns the integer at a key, if there is one.
  std::optional<int64_t> integer(std::string_view key) const;
};

/// Checks the bytes of a whole file and returns its header. Never reads beyond
/// `bytes`, whatever they contain.
Result<GgufHeader> parseGguf(std::span<const uint8_t> bytes);

/// Returns true if a file begins as GGUF does.
bool isGguf(std::span<const uint8_t> bytes);

} // namespace mtp

#endif // MTP_COMPILER_WEIGHTS_GGUF_H
