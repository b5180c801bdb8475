//===- AnswerConstraints.h - Constraints of answers -------------*- C++ -*-===//

#ifndef MTP_RUNTIME_CONSTRAINT_ANSWERS_ANSWERCONSTRAINTS_H
#define MTP_RUNTIME_CONSTRAINT_ANSWERS_ANSWERCONSTRAINTS_H

#include "runtime/calls/CallGrammar.h"
#include "runtime/constraint/KeptConstraints.h"

#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace mtp {

/// The calls that an answer may have.
struct AnswerCalls {
  std::shared_ptr<const ToolSet> tools;
  ToolFormat format = ToolFormat::None;
  /// Whether an answer may have several calls, and whether it must have one.
  bool isParallel = true, isRequired = false;
};

/// Compiles the grammars of answers over the vocabulary of one tokenizer.
/// Requests with equal grammars share a constraint. Any thread may call the
/// functions.
class AnswerConstraints {
public:
  using Made = KeptConstraints::Made;

  /// `tokenizer` must outlive the object and its constraints. `vocab` and
  /// `ends` are as for grammarVocabulary(). Without a tokenizer (null) or
  /// without `ends`, the functions fail with FailedPrecondition.
  AnswerConstraints(const Tokenizer *tokenizer, uint32_t vocab,
                    std::vector<int32_t> ends)
      : tokenizer(tokenizer), vocab(vocab), ends(std::move(ends)) {}

  /// Returns the texts of a grammar after the reasoning of an answer.
  /// `isCompact`: JSON has no white space between tokens. Fails as
  /// compileAnswer() does.
  Made findText(const grammar::Source &source, bool isCompact,
                const AnswerStart &start);
  /// Returns the answers with calls of tools. Fails as compileCalls() does.
  Made findCalls(const AnswerCalls &calls, const AnswerStart &start);

private:
  Status check() const;
  Made make(std::shared_ptr<const grammar::Grammar> grammar, ToolFormat format,
            ReasoningFormat reasoning);

  const Tokenizer *tokenizer;
  uint32_t vocab;
  std::vector<int32_t> ends;
  /// Vocabularies with the marks of calls and reasoning that are special
  /// tokens.
  std::map<std::pair<ToolFormat, ReasoningFormat>,
           std::shared_ptr<const grammar::Vocabulary>>
      vocabularies;
  KeptConstraints kept;
};

} // namespace mtp

#endif // MTP_RUNTIME_CONSTRAINT_ANSWERS_ANSWERCONSTRAINTS_H
