//===- Constraint.cpp - The grammar of a run ------------------------------===//

#include "tools/mtp-run/Constraint.h"
#include "runtime/core/StrCat.h"
#include "tools/support/ChatText.h"
#include "tools/support/TextFile.h"

using namespace mtp;

namespace {
/// A flag that gives a grammar.
struct GrammarFlag {
  const char *name;
  const std::string &value;
  grammar::Source::Kind kind;
  /// Whether the value is the name of a file.
  bool isFile;
};
} // namespace

/// Returns the grammar of a flag. Errors do not name the flag.
static Result<grammar::Source> readSource(const GrammarFlag &flag) {
  grammar::Source source;
  source.kind = flag.kind;
  if (!flag.isFile) {
    source.text = flag.value;
    return source;
  }
  MTP_ASSIGN_OR_RETURN(source.text, readTextFile(flag.value));
  return source;
}

Result<RunGrammar> RunGrammar::read(const RunOptions &options,
                                    const Model &model,
                                    const Tokenizer *tokenizer) {
  using Kind = grammar::Source::Kind;
  const GrammarFlag flags[] = {
      {"--grammar", options.grammar, Kind::Gbnf, false},
      {"--grammar-file", options.grammarFile, Kind::Gbnf, true},
      {"--json-schema", options.jsonSchema, Kind::JsonSchema, false},
      {"--json-schema-file", options.jsonSchemaFile, Kind::JsonSchema, true}};
  RunGrammar grammar;
  const GrammarFlag *given = nullptr;
  for (const GrammarFlag &flag : flags) {
    if (flag.value.empty())
      continue;
    if (given)
      return invalidArgument(
          strCat("expected ", given->name, " or ", flag.name, ", got both"));
    given = &flag;
  }
  if (!given)
    return grammar;
  grammar.origin = given->name;
  if (given->isFile)
    grammar.origin += " " + given->value;
  auto source = readSource(*given);
  if (!source)
    return source.status().withContext(grammar.origin);
  grammar.source = std::move(*source);
  grammar.model = &model;
  grammar.tokenizer = tokenizer;
  grammar.answers = std::make_shared<AnswerConstraints>(
      tokenizer, model.envelope() ? model.envelope()->vocab : 0,
      model.generation().eos);
  MTP_RETURN_IF_ERROR(grammar.make(AnswerStart()).status());
  return grammar;
}

RunGrammar::Made RunGrammar::make(const AnswerStart &start) const {
  Made made = answers->findText(source, /*isCompact=*/false, start);
  return made ? made : made.status().withContext(origin);
}

RunGrammar::Made RunGrammar::after(const AnswerStart &start) const {
  if (!answers)
    return std::shared_ptr<const TokenConstraint>();
  bool hasReasoning = start.place == ReasoningPlace::Before ||
                      start.place == ReasoningPlace::Inside;
  return make(hasReasoning ? start : AnswerStart());
}

RunGrammar::Made
RunGrammar::afterPrompt(std::span<const int32_t> prompt) const {
  if (!answers)
    return std::shared_ptr<const TokenConstraint>();
  MTP_ASSIGN_OR_RETURN(auto templates,
                       loadChatTemplate(*model, tokenizer, /*file=*/""));
  if (!templates)
    return make(AnswerStart());
  DecodeOptions decode;
  decode.skipSpecial = false;
  MTP_ASSIGN_OR_RETURN(std::string text, tokenizer->decode(prompt, decode));
  AnswerStart start =
      findStart(detectReasoningFormat(templates->source()), text, "");
  return make(start.place == ReasoningPlace::Inside ? start : AnswerStart());
}
