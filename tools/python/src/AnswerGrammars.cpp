//===- AnswerGrammars.cpp - Constraints of answers ------------------------===//

#include "tools/python/src/AnswerGrammars.h"

#include "runtime/core/StrCat.h"

using namespace mtp;
using namespace mtp::python;

bool AnswerTools::hasStrict() const { return set.hasStrict(); }

AnswerGrammars::Made
AnswerGrammars::make(std::shared_ptr<const grammar::Grammar> grammar,
                     ToolFormat format, ReasoningFormat reasoning) {
  auto &vocabulary = vocabularies[{format, reasoning}];
  if (!vocabulary) {
    auto isMark = [&](std::string_view token) {
      return isCallMark(format, reasoning, token);
    };
    auto made = grammarVocabulary(tokenizer, vocab, ends, isMark);
    if (!made)
      return made.status();
    vocabulary = std::move(*made);
  }
  return makeConstraint(std::move(grammar), vocabulary, &tokenizer);
}

AnswerGrammars::Made AnswerGrammars::find(const grammar::Source &source,
                                          bool isCompact,
                                          const AnswerStart &start) {
  // A closing mark in front of the answer needs no token.
  bool hasMarks = start.place == ReasoningPlace::Before ||
                  start.place == ReasoningPlace::Inside;
  ReasoningFormat reasoning =
      hasMarks ? start.reasoning : ReasoningFormat::None;
  std::string key = strCat(int(start.place), " ", int(reasoning), " ",
                           constraintKey(source, isCompact));
  return kept.find(std::move(key), [&]() -> Made {
    grammar::Limits limits;
    if (isCompact)
      limits.whitespace = 0;
    MTP_ASSIGN_OR_RETURN(auto compiled, compileAnswer(source, start, limits));
    return make(std::move(compiled), ToolFormat::None, reasoning);
  });
}

AnswerGrammars::Made AnswerGrammars::findCalls(const AnswerTools &tools,
                                               const AnswerStart &start) {
  std::string key =
      strCat("calls ", int(tools.format), " ", int(tools.isRequired),
             int(tools.isParallel), int(start.place), " ", int(start.reasoning),
             " ", tools.only, " ", tools.json);
  return kept.find(std::move(key), [&]() -> Made {
    CallDemand demand;
    demand.isRequired = tools.isRequired;
    demand.isParallel = tools.isParallel;
    demand.start = start;
    MTP_ASSIGN_OR_RETURN(auto compiled,
                         compileCalls(tools.format, tools.set, demand));
    return make(std::move(compiled), tools.format, start.reasoning);
  });
}
