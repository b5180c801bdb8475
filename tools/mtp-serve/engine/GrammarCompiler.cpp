//===- GrammarCompiler.cpp - Constraints of requests ----------------------===//

#include "tools/mtp-serve/engine/GrammarCompiler.h"
#include "runtime/core/StrCat.h"
#include "tools/mtp-serve/api/FieldReaders.h"
#include "tools/mtp-serve/api/tools/ToolFields.h"

using namespace mtp;
using namespace mtp::serve;

/// Return a text that only equal grammars have.
static std::string keyOf(const GrammarRequest &asked,
                         const AnswerStart &start) {
  return strCat(int(start.place), " ",
                constraintKey(asked.source, asked.isCompact));
}
static std::string keyOf(const ToolUse &use, const CallDemand &demand) {
  return strCat("calls ", int(demand.start.place), int(demand.isRequired),
                int(demand.isParallel), demand.only ? demand.only->name : "",
                " ", use.items);
}

AnswerStart GrammarCompiler::startOf(std::string_view prompt) const {
  return findStart(facts.reasoning, prompt,
                   facts.chat->source(/*hasTools=*/true));
}

CallDemand GrammarCompiler::demandOf(const ToolUse &use,
                                     const AnswerStart &start) const {
  CallDemand demand;
  demand.isRequired = use.mustCall();
  demand.isParallel = use.isParallel;
  if (use.choice == ToolChoice::Named)
    demand.only = use.set->find(use.named);
  demand.start = start;
  return demand;
}

Result<std::shared_ptr<const grammar::Vocabulary>>
GrammarCompiler::vocabularyOf(bool hasMarks) {
  auto isMark = [this](std::string_view token) {
    return isCallMark(facts.tools.format, facts.reasoning, token);
  };
  std::shared_ptr<const grammar::Vocabulary> &made =
      hasMarks ? withMarks : plain;
  if (!made) {
    std::function<bool(std::string_view)> marks;
    if (hasMarks)
      marks = isMark;
    MTP_ASSIGN_OR_RETURN(made, grammarVocabulary(*facts.tokenizer, facts.vocab,
                                                 facts.generation.eos, marks));
  }
  return made;
}

GrammarCompiler::Made GrammarCompiler::makeCalls(const ToolUse &use,
                                                 const CallDemand &demand) {
  MTP_ASSIGN_OR_RETURN(auto compiled,
                       compileCalls(use.facts.format, *use.set, demand));
  MTP_ASSIGN_OR_RETURN(auto vocabulary, vocabularyOf(/*hasMarks=*/true));
  return makeConstraint(std::move(compiled), std::move(vocabulary),
                        facts.tokenizer);
}

GrammarCompiler::Made GrammarCompiler::make(const GrammarRequest &asked,
                                            const AnswerStart &start) {
  grammar::Limits limits;
  if (asked.isCompact)
    limits.whitespace = 0;
  MTP_ASSIGN_OR_RETURN(auto compiled,
                       compileAnswer(asked.source, start, limits));
  bool hasMarks = start.place == ReasoningPlace::Before ||
                  start.place == ReasoningPlace::Inside;
  MTP_ASSIGN_OR_RETURN(auto vocabulary, vocabularyOf(hasMarks));
  return makeConstraint(std::move(compiled), std::move(vocabulary),
                        facts.tokenizer);
}

MaybeError
GrammarCompiler::compile(const GenerationRequest &request,
                         std::string_view prompt,
                         std::shared_ptr<const TokenConstraint> &constraint) {
  const ToolUse &use = request.tools;
  AnswerStart start;
  if (request.isChat)
    start = startOf(prompt);
  CallDemand demand;
  if (use.isRestricted)
    demand = demandOf(use, start);
  std::string key =
      use.isRestricted ? keyOf(use, demand) : keyOf(*request.grammar, start);
  Made made = kept.find(std::move(key), [&] {
    return use.isRestricted ? makeCalls(use, demand)
                            : make(*request.grammar, start);
  });
  if (!made && use.isRestricted)
    return pathError(toolStatus(made.status(), use.api));
  if (!made)
    return wrongField(request.grammar->field,
                      std::string(made.status().message()));
  constraint = std::move(*made);
  return std::nullopt;
}
