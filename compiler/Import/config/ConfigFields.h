//===- ConfigFields.h - Typed access to a config's keys ---------*- C++ -*-===//

#ifndef MTP_COMPILER_IMPORT_CONFIG_CONFIGFIELDS_H
#define MTP_COMPILER_IMPORT_CONFIG_CONFIGFIELDS_H

#include "compiler/Weights/Json.h"
#include "runtime/core/Status.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mtp::importer {

/// Reads the keys of a JSON object. The first failure is kept, and later reads
/// return harmless defaults. So a reader can read all keys and check for a
/// failure once. A key with the value null counts as absent.
class ConfigFields {
public:
  /// `context` precedes each key in messages, e.g. "rope_scaling.".
  ConfigFields(simdjson::dom::object object, std::string context = "")
      : object(object), context(std::move(context)) {}

  bool isEmpty() const { return object.size() == 0; }
  bool has(std::string_view key) const;
  /// Returns true if the key exists with the value null. Some classes
  /// distinguish null from an absent key.
  bool isNull(std::string_view key) const;
  /// Returns true if the key is absent or its value is false, 0, empty or null.
  bool isNeutral(std::string_view key) const { return isEmptyOr(key, 0.0); }
  /// Like isNeutral(), with `neutral` in place of 0.
  bool isEmptyOr(std::string_view key, double neutral) const;

  /// Reads a required integer from `least` to `most`.
  int64_t integer(std::string_view key, int64_t least, int64_t most);
  /// Reads an optional integer. `absent` must be in the range too, because the
  /// range may depend on other keys.
  int64_t integerOr(std::string_view key, int64_t least, int64_t most,
                    int64_t absent);

  /// Reads a number of elements. It is positive, and small enough that the
  /// product of any three such numbers does not overflow.
  int64_t dimensionOr(std::string_view key, int64_t absent) {
    return integerOr(key, 1, kMaxDimension, absent);
  }

  /// Reads a finite number greater than 0.
  double positive(std::string_view key);
  double positiveOr(std::string_view key, double absent);
  /// Reads a finite number.
  double numberOr(std::string_view key, double absent);
  /// Returns the value of a key as written in the file, cut to a readable
  /// length.
  std::string shown(std::string_view key) const;

  bool flagOr(std::string_view key, bool absent);
  std::string text(std::string_view key);
  std::string textOr(std::string_view key, std::string_view absent);
  /// Reads an integer or an array of integers. Absent: empty.
  std::vector<int64_t> integers(std::string_view key, int64_t least,
                                int64_t most);
  std::vector<std::string> texts(std::string_view key);
  /// Returns the object at a key, if there is one.
  std::optional<ConfigFields> child(std::string_view key);
  /// Returns the objects of the array at a key. Absent: empty.
  std::vector<ConfigFields> children(std::string_view key);

  /// Fails unless the key is absent or has the value `value`.
  void expectFlag(std::string_view key, bool value);
  void expectText(std::string_view key, std::string_view value);

  /// Records the first failure: the value of `key` is not `expected`.
  void fail(std::string_view key, const std::string &expected);
  void failAs(std::string_view key, const Status &status);

  /// Copies the failure of a child, if there is no earlier one.
  void adopt(const ConfigFields &child) {
    if (failure.isOk())
      failure = child.failure;
  }

  const Status &status() const { return failure; }

private:
  static constexpr int64_t kMaxDimension = int64_t(1) << 24;

  std::optional<simdjson::dom::element> find(std::string_view key) const;
  std::optional<double> readNumber(std::string_view key);
  void failMissing(std::string_view key);

  simdjson::dom::object object;
  std::string context;
  Status failure;
};

} // namespace mtp::importer

#endif // MTP_COMPILER_IMPORT_CONFIG_CONFIGFIELDS_H
