//===- JsonFields.h - Read the fields of a JSON object ----------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_SERVE_JSONFIELDS_H
#define MTP_TOOLS_MTP_SERVE_JSONFIELDS_H

#include "tools/mtp-serve/ApiError.h"

#include <cstdint>
#include <simdjson.h>
#include <string>
#include <string_view>
#include <vector>

namespace mtp::serve {

using JsonElement = simdjson::dom::element;

/// An untrusted body as a JSON object.
class JsonBody {
public:
  /// Objects and arrays within each other.
  static constexpr size_t kMaxDepth = 64;

  /// 400 where `text` is no JSON object, is no UTF-8 or goes too deep. The
  /// object is valid while this lives.
  MaybeError parse(std::string_view text);

  const simdjson::dom::object &object() const { return root; }

private:
  simdjson::dom::parser parser;
  simdjson::dom::object root;
};

/// A value as it stands in a message: "1.5", "a string", "an array".
std::string describe(const JsonElement &element);

/// Whether it is a whole number that fits: 8 and 8.0 are one number in JSON.
bool getWhole(const JsonElement &element, int64_t &value);
bool getWhole(const JsonElement &element, uint64_t &value);

/// "expected <what>, got <the element>".
ApiError expected(std::string_view field, std::string_view what,
                  const JsonElement &element);

// Each reads a field of the kind in its name; the error names the field.
MaybeError readFlag(std::string_view field, const JsonElement &element,
                    bool &value);
MaybeError readText(std::string_view field, const JsonElement &element,
                    std::string &value);
/// From `least` to `most`.
MaybeError readNumber(std::string_view field, const JsonElement &element,
                      double least, double most, float &value);
MaybeError readInteger(std::string_view field, const JsonElement &element,
                       int64_t least, int64_t most, int64_t &value);
/// An array of whole numbers from 0 to `most`.
MaybeError readIds(std::string_view field, const JsonElement &element,
                   int64_t most, std::vector<int32_t> &value);

} // namespace mtp::serve

#endif // MTP_TOOLS_MTP_SERVE_JSONFIELDS_H
