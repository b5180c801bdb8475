//===- JsonStyle.h - How JSON is written ------------------------*- C++ -*-===//

#ifndef MTP_RUNTIME_GRAMMAR_SCHEMA_JSONSTYLE_H
#define MTP_RUNTIME_GRAMMAR_SCHEMA_JSONSTYLE_H

#include "runtime/grammar/automaton/CodePoints.h"

#include <string_view>
#include <vector>

namespace mtp::grammar {

/// How JSON is written. Formats of tool calls change the default.
struct JsonStyle {
  std::string_view null = "null", yes = "true", no = "false";
  /// Characters, in ASCII, that strings escape as well. Raw strings with bounds
  /// on their length have none of them; other raw strings have no `marks`.
  CodePoints escaped = {};
  /// Raw strings have no escapes, and a mark on both sides instead of quotes.
  bool isRaw = false;
  std::string_view quote = "\"";
  std::vector<std::string_view> marks = {};
  /// Whether names of letters, digits, '_', '-' and '.' have no quotes.
  bool hasBareNames = false;
};

} // namespace mtp::grammar

#endif // MTP_RUNTIME_GRAMMAR_SCHEMA_JSONSTYLE_H
