//===- Compile.cpp - Sources of grammars ----------------------------------===//

#include "runtime/grammar/Compile.h"

#include "runtime/core/StrCat.h"
#include "runtime/grammar/automaton/AutomatonBuilder.h"
#include "runtime/grammar/gbnf/Gbnf.h"
#include "runtime/grammar/regex/Pattern.h"
#include "runtime/grammar/schema/SchemaCompiler.h"
#include "runtime/utf8/Utf8.h"

using namespace mtp;
using namespace mtp::grammar;

namespace {

Result<Automaton> compileChoice(const std::vector<std::string> &choices,
                                const Limits &limits) {
  AutomatonBuilder builder(limits);
  RuleId root = builder.addRule("choice");
  for (const std::string &choice : choices)
    builder.addText(builder.startOf(root), choice, builder.endOf(root));
  return std::move(builder).finish(root);
}

Status checkText(std::string_view text, size_t limit) {
  if (text.size() > limit)
    return resourceExhausted(strCat("expected a grammar of at most ", limit,
                                    " bytes, got ", text.size()));
  size_t invalid = findInvalidUtf8(text);
  if (invalid != text.size())
    return invalidArgument(strCat("expected UTF-8 in a grammar, got an invalid "
                                  "byte at offset ",
                                  invalid));
  return okStatus();
}

Result<Automaton> compileKind(const Source &source, const Limits &limits) {
  switch (source.kind) {
  case Source::Kind::JsonObject:
    return compileJsonSchema(R"({"type": "object"})", limits);
  case Source::Kind::JsonSchema:
    return compileJsonSchema(source.text, limits);
  case Source::Kind::Regex:
    return compilePattern(source.text, limits);
  case Source::Kind::Gbnf:
    return compileGbnf(source.text, limits);
  case Source::Kind::Choice:
    if (source.choices.empty())
      return invalidArgument("expected at least one choice, got none");
    return compileChoice(source.choices, limits);
  }
  return internalError("expected a known kind of grammar");
}

} // namespace

Result<std::shared_ptr<const Grammar>>
mtp::grammar::compile(const Source &source, const Limits &limits) {
  MTP_RETURN_IF_ERROR(checkText(source.text, limits.sourceBytes));
  size_t room = limits.sourceBytes - source.text.size();
  for (const std::string &choice : source.choices) {
    MTP_RETURN_IF_ERROR(checkText(choice, room));
    room -= choice.size();
  }
  MTP_ASSIGN_OR_RETURN(Automaton automaton, compileKind(source, limits));
  return std::make_shared<const Grammar>(std::move(automaton), limits);
}
