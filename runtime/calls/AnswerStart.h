//===- AnswerStart.h - Reasoning in front of an answer ----------*- C++ -*-===//

#ifndef MTP_RUNTIME_CALLS_ANSWERSTART_H
#define MTP_RUNTIME_CALLS_ANSWERSTART_H

#include "runtime/chat/ReasoningSplitter.h"
#include "runtime/grammar/Compile.h"

namespace mtp {

/// The reasoning with which an answer may begin.
struct AnswerStart {
  ReasoningFormat reasoning = ReasoningFormat::None;
  ReasoningPlace place = ReasoningPlace::None;
};

/// Returns how the answer to a prompt begins. `format` may be assumed: if the
/// prompt opens no reasoning and `chatTemplate` does not have the opening mark,
/// there is none.
AnswerStart findStart(ReasoningFormat format, std::string_view prompt,
                      std::string_view chatTemplate);

/// Adds the reasoning, and at most two spaces or line ends after it.
void addStart(grammar::AutomatonBuilder &builder, const AnswerStart &start,
              grammar::StateId from, grammar::StateId to);

/// Compiles a grammar of the text that follows the reasoning of an answer.
/// Fails as grammar::compile() does.
Result<std::shared_ptr<const grammar::Grammar>>
compileAnswer(const grammar::Source &source, const AnswerStart &start,
              const grammar::Limits &limits);

} // namespace mtp

#endif // MTP_RUNTIME_CALLS_ANSWERSTART_H
