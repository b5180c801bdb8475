//===- ConfigFields.h - Typed access to a config's keys ---------*- C++ -*-===//

#ifndef MTP_COMPILER_IMPORT_CONFIGFIELDS_H
#define MTP_COMPILER_IMPORT_CONFIGFIELDS_H

#include "compiler/Weights/Json.h"
#include "runtime/core/Status.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mtp::importer {

/// Reads the keys of a JSON object. The first failure is kept and everything
/// read after it is a harmless default, so that a reader can take all its keys
/// and ask once. A key whose value is null counts as absent.
class ConfigFields {
public:
  /// `context` stands before each key in messages, e.g. "rope_scaling.".
  ConfigFields(simdjson::dom::object object, std::string context = "")
      : object(object), context(std::move(context)) {}

  bool isEmpty() const { return object.size() == 0; }
  bool has(std::string_view key) const;
  /// Whether the key is there with null: some classes tell that from absence.
  bool isNull(std::string_view key) const;
  /// Whether the key's value is false, 0, empty or null, or there is none.
  bool isNeutral(std::string_view key) const { return isEmptyOr(key, 0.0); }
  /// As above, with `neutral` in place of 0.
  bool isEmptyOr(std::string_view key, double neutral) const;

  /// An integer of `least` to `most`, which must be there.
  int64_t integer(std::string_view key, int64_t least, int64_t most);
  /// `absent` must be in the range too: a default may not suit other keys.
  int64_t integerOr(std::string_view key, int64_t least, int64_t most,
                    int64_t absent);

  /// A number of elements: positive, and small enough for any product of three
  /// to be counted.
  int64_t dimensionOr(std::string_view key, int64_t absent) {
    return integerOr(key, 1, kMaxDimension, absent);
  }

  /// A finite number greater than 0.
  double positive(std::string_view key);
  double positiveOr(std::string_view key, double absent);
  /// A finite number.
  double numberOr(std::string_view key, double absent);
  /// The value at a key as in the file, cut to a readable length.
  std::string shown(std::string_view key) const;

  bool flagOr(std::string_view key, bool absent);
  std::string text(std::string_view key);
  std::string textOr(std::string_view key, std::string_view absent);
  /// An integer, or an array of them. Absent: empty.
  std::vector<int64_t> integers(std::string_view key, int64_t least,
                                int64_t most);
  std::vector<std::string> texts(std::string_view key);
  /// The object at a key; nothing if there is none.
  std::optional<ConfigFields> child(std::string_view key);
  /// The objects of an array at a key. Absent: none.
  std::vector<ConfigFields> children(std::string_view key);

  /// Fails unless the key is absent or has that value.
  void expectFlag(std::string_view key, bool value);
  void expectText(std::string_view key, std::string_view value);

  /// Records that a key's value will not do, if nothing failed before.
  void fail(std::string_view key, const std::string &expected);
  void failAs(std::string_view key, Status status);

  /// Takes over a child's failure.
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

#endif // MTP_COMPILER_IMPORT_CONFIGFIELDS_H
