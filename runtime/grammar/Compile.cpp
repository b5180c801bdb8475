//===- Compile.cpp - Sources of grammars ----------------------------------===//

#include "runtime/grammar/Compile.h"

#include "runtime/core/StrCat.h"
#include "runtime/grammar/gbnf/Gbnf.h"
#include "runtime/grammar/regex/Pattern.h"
#include "runtime/grammar/schema/SchemaRules.h"
#include "runtime/utf8/Utf8.h"

using namespace mtp;
using namespace mtp::grammar;

namespace {

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

Result<RuleId> addSchema(std::string_view schema, AutomatonBuilder &builder,
                         const Limits &limits, const JsonStyle &style) {
  MTP_ASSIGN_OR_RETURN(SchemaDocument document,
                       SchemaDocument::parse(schema, limits.nesting));
  SchemaRules rules(document, builder, limits, style);
  RuleId root = rules.ruleOf({document.root()});
  MTP_RETURN_IF_ERROR(rules.fill());
  return root;
}

Result<RuleId> addPattern(std::string_view pattern, AutomatonBuilder &builder,
                          const Limits &limits) {
  MTP_ASSIGN_OR_RETURN(Expression expression,
                       parsePattern(pattern, MatchMode::Whole, limits));
  RuleId root = builder.addRule("root");
  addExpression(builder, expression, builder.startOf(root),
                builder.endOf(root));
  return root;
}

Result<RuleId> addChoice(const std::vector<std::string> &choices,
                         AutomatonBuilder &builder) {
  if (choices.empty())
    return invalidArgument("expected at least one choice, got none");
  RuleId root = builder.addRule("choice");
  for (const std::string &choice : choices)
    builder.addText(builder.startOf(root), choice, builder.endOf(root));
  return root;
}

} // namespace

Result<RuleId> mtp::grammar::addSource(const Source &source,
                                       AutomatonBuilder &builder,
                                       const Limits &limits,
                                       const JsonStyle &style) {
  MTP_RETURN_IF_ERROR(checkText(source.text, limits.sourceBytes));
  size_t room = limits.sourceBytes - source.text.size();
  for (const std::string &choice : source.choices) {
    MTP_RETURN_IF_ERROR(checkText(choice, room));
    room -= choice.size();
  }
  switch (source.kind) {
  case Source::Kind::JsonObject:
    return addSchema(R"({"type": "object"})", builder, limits, style);
  case Source::Kind::JsonSchema:
    return addSchema(source.text, builder, limits, style);
  case Source::Kind::Regex:
    return addPattern(source.text, builder, limits);
  case Source::Kind::Gbnf:
    return addGbnf(source.text, builder, limits);
  case Source::Kind::Choice:
    return addChoice(source.choices, builder);
  }
  return internalError("expected a known kind of grammar");
}

Result<std::shared_ptr<const Grammar>>
mtp::grammar::compile(const Source &source, const Limits &limits) {
  AutomatonBuilder builder(limits);
  MTP_ASSIGN_OR_RETURN(RuleId root, addSource(source, builder, limits));
  MTP_ASSIGN_OR_RETURN(Automaton automaton, std::move(builder).finish(root));
  return std::make_shared<const Grammar>(std::move(automaton), limits);
}
