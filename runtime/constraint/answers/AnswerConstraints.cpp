//===- AnswerConstraints.cpp - Constraints of answers ---------------------===//

#include "runtime/constraint/answers/AnswerConstraints.h"

#include "runtime/core/StrCat.h"

using namespace mtp;

/// Returns a text that only equal starts have. The marks do not matter if no
/// token of them is left.
static std::string keyOf(const AnswerStart &start, bool hasMarks) {
  return strCat(int(start.place), " ", hasMarks ? int(start.reasoning) : -1,
                " ");
}

/// Returns a text that only equal parameters have. The types of a schema are
/// not always known: the tools of a request share a limit on references.
static std::string keyOf(const Tool &tool) {
  std::string key;
  for (const auto &[name, types] : tool.parameters)
    key += strCat(" ", name.size(), ":", name, " ", int(types.string),
                  int(types.integer), int(types.number), int(types.boolean),
                  int(types.null), int(types.object), int(types.array));
  return key;
}

/// Returns a text that only equal calls have.
static std::string keyOf(const AnswerCalls &calls) {
  std::string key = strCat("calls ", int(calls.format), " ",
                           int(calls.isRequired), int(calls.isParallel), " ");
  for (const Tool &tool : calls.tools->tools())
    if (tool.isCallable)
      key += strCat(tool.name, tool.isStrict ? " strict " : " ",
                    tool.schema.size(), ":", tool.schema, keyOf(tool));
  return key;
}

Status AnswerConstraints::check() const {
  if (tokenizer && !ends.empty())
    return okStatus();
  return failedPrecondition("expected an artifact with a tokenizer and end "
                            "tokens, got one without");
}

AnswerConstraints::Made
AnswerConstraints::make(std::shared_ptr<const grammar::Grammar> grammar,
                        ToolFormat format, ReasoningFormat reasoning) {
  std::shared_ptr<const grammar::Vocabulary> &vocabulary =
      vocabularies[{format, reasoning}];
  if (!vocabulary) {
    std::function<bool(std::string_view)> isMark;
    if (format != ToolFormat::None || reasoning != ReasoningFormat::None)
      isMark = [format, reasoning](std::string_view token) {
        return isCallMark(format, reasoning, token);
      };
    MTP_ASSIGN_OR_RETURN(vocabulary,
                         grammarVocabulary(*tokenizer, vocab, ends, isMark));
  }
  return makeConstraint(std::move(grammar), vocabulary, tokenizer);
}

AnswerConstraints::Made
AnswerConstraints::findText(const grammar::Source &source, bool isCompact,
                            const AnswerStart &start) {
  MTP_RETURN_IF_ERROR(check());
  // A closing mark in front of the answer needs no token.
  bool hasMarks = start.place == ReasoningPlace::Before ||
                  start.place == ReasoningPlace::Inside;
  std::string key = keyOf(start, hasMarks) + constraintKey(source, isCompact);
  return kept.find(std::move(key), [&]() -> Made {
    grammar::Limits limits;
    if (isCompact)
      limits.whitespace = 0;
    MTP_ASSIGN_OR_RETURN(auto compiled, compileAnswer(source, start, limits));
    return make(std::move(compiled), ToolFormat::None,
                hasMarks ? start.reasoning : ReasoningFormat::None);
  });
}

AnswerConstraints::Made AnswerConstraints::findCalls(const AnswerCalls &calls,
                                                     const AnswerStart &start) {
  MTP_RETURN_IF_ERROR(check());
  std::string key = keyOf(start, /*hasMarks=*/true) + keyOf(calls);
  return kept.find(std::move(key), [&]() -> Made {
    CallDemand demand;
    demand.isRequired = calls.isRequired;
    demand.isParallel = calls.isParallel;
    demand.start = start;
    MTP_ASSIGN_OR_RETURN(auto compiled,
                         compileCalls(calls.format, *calls.tools, demand));
    return make(std::move(compiled), calls.format, start.reasoning);
  });
}
