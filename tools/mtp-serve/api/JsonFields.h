//===- JsonFields.h - Read the fields of a JSON object ----------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_SERVE_API_JSONFIELDS_H
#define MTP_TOOLS_MTP_SERVE_API_JSONFIELDS_H

#include "runtime/json/JsonTree.h"
#include "tools/mtp-serve/api/ApiError.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mtp::serve {

using JsonElement = simdjson::dom::element;

/// An untrusted body as a JSON object.
class JsonBody {
public:
  /// Fails with 400 if `text` is no JSON object, is not UTF-8 or is nested too
  /// deep. The object is valid during the lifetime of this JsonBody.
  MaybeError parse(std::string_view text);

  const simdjson::dom::object &object() const { return root; }

private:
  JsonTree tree;
  simdjson::dom::object root;
};

/// Describes a value for a message: "1.5", "a string", "an array".
std::string describe(const JsonElement &element);

/// Returns whether `element` is a whole number in range: 8 and 8.0 are one
/// number in JSON.
bool getWhole(const JsonElement &element, int64_t &value);
bool getWhole(const JsonElement &element, uint64_t &value);

/// Returns the error "expected <what>, got <the element>".
ApiError expected(std::string_view field, std::string_view what,
                  const JsonElement &element);

// Each function reads a field of the type in its name; errors name the field.
MaybeError readFlag(std::string_view field, const JsonElement &element,
                    bool &value);
MaybeError readText(std::string_view field, const JsonElement &element,
                    std::string &value);
/// Reads a number from `least` to `most`.
MaybeError readNumber(std::string_view field, const JsonElement &element,
                      double least, double most, float &value);
MaybeError readInteger(std::string_view field, const JsonElement &element,
                       int64_t least, int64_t most, int64_t &value);
/// Reads an array of whole numbers from 0 to `most`.
MaybeError readIds(std::string_view field, const JsonElement &element,
                   int64_t most, std::vector<int32_t> &value);

} // namespace mtp::serve

#endif // MTP_TOOLS_MTP_SERVE_API_JSONFIELDS_H
