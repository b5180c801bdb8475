//===- JsonText.h - JSON as paths of an automaton ---------------*- C++ -*-===//
//
// The parts of JSON that do not depend on a schema. *Canonical* text escapes
// only characters that need it, each in one way: `\n`, `\u0001`.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_GRAMMAR_SCHEMA_JSONTEXT_H
#define MTP_RUNTIME_GRAMMAR_SCHEMA_JSONTEXT_H

#include "runtime/grammar/automaton/Expression.h"
#include "runtime/grammar/schema/JsonAccess.h"
#include "runtime/grammar/schema/JsonStyle.h"

#include <optional>
#include <string>

namespace mtp::grammar {

/// Adds JSON to a builder. Rules that many places share are made on first use.
class JsonText {
public:
  /// `builder` and `limits` must outlive the object.
  JsonText(AutomatonBuilder &builder, const Limits &limits,
           JsonStyle style = {});

  /// Adds white space between tokens of JSON: none, or up to
  /// Limits::whitespace bytes.
  void addGap(StateId from, StateId to);
  /// Adds a token with a gap on both sides.
  void addSeparator(StateId from, char token, StateId to);

  /// Adds one character of a string in any spelling.
  void addAnyCharacter(StateId from, StateId to);
  /// Adds the canonical text of a character of the set.
  void addCharacter(StateId from, const CodePoints &set, StateId to);
  /// Adds any string with its quotes, a string of some lengths, and any string
  /// except some. `names` must have no duplicates.
  void addString(StateId from, StateId to);
  void addString(StateId from, uint32_t min, uint32_t max, StateId to);
  void addStringExcept(StateId from, const std::vector<std::string> &names,
                       StateId to);

  /// Adds any integer, and any number.
  void addInteger(StateId from, StateId to);
  void addNumber(StateId from, StateId to);

  /// Adds a value of a document in canonical text, with gaps. Takes a stack as
  /// deep as the value.
  void addValue(StateId from, JsonElement value, StateId to);
  void addText(StateId from, std::string_view text, StateId to) {
    builder.addText(from, text, to);
  }
  void addNull(StateId from, StateId to) { addText(from, style.null, to); }
  void addBoolean(StateId from, bool isTrue, StateId to) {
    addText(from, isTrue ? style.yes : style.no, to);
  }
  /// Adds the canonical text of a string with its quotes. Adds nothing if a raw
  /// string cannot have it.
  void addQuoted(StateId from, std::string_view text, StateId to);
  /// Adds the name of a member.
  void addName(StateId from, std::string_view name, StateId to);
  /// Adds the mark on a side of a string.
  void addQuote(StateId from, StateId to) { addText(from, style.quote, to); }

private:
  using Add = void (JsonText::*)(StateId from, StateId to);
  /// Adds a call of a shared rule, which `add` fills on first use.
  void addShared(std::optional<RuleId> &rule, const char *name, Add add,
                 StateId from, StateId to);
  void fillGap(StateId from, StateId to);
  void fillEscape(StateId from, StateId to);
  void fillString(StateId from, StateId to);
  void fillInteger(StateId from, StateId to);
  void fillNumber(StateId from, StateId to);
  void addDigits(StateId from, StateId to);
  void addMembers(StateId from, JsonObject object, StateId to);
  void addItems(StateId from, JsonArray array, StateId to);

  AutomatonBuilder &builder;
  const Limits &limits;
  JsonStyle style;
  /// Characters that stand for themselves in strings.
  CodePoints plain;
  std::optional<RuleId> gap, escape, string, integer, number;
};

} // namespace mtp::grammar

#endif // MTP_RUNTIME_GRAMMAR_SCHEMA_JSONTEXT_H
