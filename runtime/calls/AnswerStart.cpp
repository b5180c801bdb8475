//===- AnswerStart.cpp - Reasoning in front of an answer ------------------===//

#include "runtime/calls/AnswerStart.h"

#include "runtime/grammar/automaton/Expression.h"
#include "runtime/grammar/schema/RawText.h"

using namespace mtp;
using namespace mtp::grammar;

/// The most spaces and line ends in front of calls and after reasoning. Models
/// seldom write more, and small ones might write nothing else.
static constexpr uint32_t kMostGap = 2;

static void addGap(AutomatonBuilder &builder, StateId from, StateId to) {
  addRepeat(builder, 0, kMostGap, from, to, [&](StateId a, StateId b) {
    builder.addBytes(a, ' ', ' ', b);
    builder.addBytes(a, '\n', '\n', b);
  });
}

AnswerStart mtp::findStart(ReasoningFormat format, std::string_view prompt,
                           std::string_view chatTemplate) {
  AnswerStart start = {format, findReasoningPlace(format, prompt)};
  if (start.place == ReasoningPlace::Before &&
      chatTemplate.find(reasoningMarks(format).open) == chatTemplate.npos)
    start.place = ReasoningPlace::None;
  return start;
}

void mtp::addStart(AutomatonBuilder &builder, const AnswerStart &start,
                   StateId from, StateId to) {
  ReasoningMarks marks = reasoningMarks(start.reasoning);
  bool isInside = start.place == ReasoningPlace::Inside;
  if (!isInside)
    addGap(builder, from, to);
  if (!isInside && start.place != ReasoningPlace::Before)
    return;
  StateId text = builder.addState(), close = builder.addState(),
          after = builder.addState();
  if (isInside)
    builder.addEmpty(from, text);
  else
    builder.addText(from, marks.open, text);
  addTextWithout(builder, {marks.close}, text, close);
  builder.addText(close, marks.close, after);
  addGap(builder, after, to);
}

Result<std::shared_ptr<const Grammar>>
mtp::compileAnswer(const Source &source, const AnswerStart &start,
                   const Limits &limits) {
  // Without reasoning the answer has nothing else.
  if (start.place == ReasoningPlace::None ||
      start.place == ReasoningPlace::After)
    return compile(source, limits);
  AutomatonBuilder builder(limits);
  JsonStyle style;
  bool isHarmony = start.reasoning == ReasoningFormat::Harmony;
  if (isHarmony)
    style.escaped = {{'<', '<'}}; // A special token would end the message.
  RuleId root = builder.addRule("answer");
  MTP_ASSIGN_OR_RETURN(RuleId text, addSource(source, builder, limits, style));
  StateId first = builder.addState(), begin = builder.addState();
  addStart(builder, start, builder.startOf(root), first);
  builder.addText(first, isHarmony ? "<|channel|>final<|message|>" : "", begin);
  builder.addCall(begin, text, builder.endOf(root));
  MTP_ASSIGN_OR_RETURN(Automaton automaton, std::move(builder).finish(root));
  return std::make_shared<const Grammar>(std::move(automaton), limits);
}
