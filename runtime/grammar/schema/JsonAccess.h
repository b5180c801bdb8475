//===- JsonAccess.h - Values of known type ----------------------*- C++ -*-===//

#ifndef MTP_RUNTIME_GRAMMAR_SCHEMA_JSONACCESS_H
#define MTP_RUNTIME_GRAMMAR_SCHEMA_JSONACCESS_H

#include <simdjson.h>
#include <string_view>

namespace mtp::grammar {

using JsonElement = simdjson::dom::element;
using JsonObject = simdjson::dom::object;
using JsonArray = simdjson::dom::array;

// Each function returns a value whose type is known. A value of another type
// gives an empty one.

inline std::string_view textOf(JsonElement element) {
  std::string_view text;
  (void)element.get(text);
  return text;
}

inline bool truthOf(JsonElement element) {
  bool truth = false;
  (void)element.get(truth);
  return truth;
}

} // namespace mtp::grammar

#endif // MTP_RUNTIME_GRAMMAR_SCHEMA_JSONACCESS_H
