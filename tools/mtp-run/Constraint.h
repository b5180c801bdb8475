//===- Constraint.h - The grammar of a run ----------------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_RUN_CONSTRAINT_H
#define MTP_TOOLS_MTP_RUN_CONSTRAINT_H

#include "mtp/tokenizer.h"
#include "runtime/constraint/answers/AnswerConstraints.h"
#include "tools/mtp-run/Options.h"

#include <memory>
#include <span>
#include <string>

namespace mtp {

/// The grammar of --grammar, --json-schema, or their files. Without a flag
/// there is none, and all constraints are null.
class RunGrammar {
public:
  using Made = Result<std::shared_ptr<const TokenConstraint>>;

  /// Reads the flags and compiles the grammar. `tokenizer` is the model's; null
  /// if the model has none. Both must outlive the grammar and its constraints.
  /// Fails if more than one flag is given, and with the flag in front of an
  /// error of its file or text.
  static Result<RunGrammar> read(const RunOptions &options, const Model &model,
                                 const Tokenizer *tokenizer);

  /// Returns the texts of the grammar after the reasoning of an answer.
  Made after(const AnswerStart &start) const;

  /// Returns the texts of the grammar after a prompt. If the prompt ends with
  /// the opening mark of reasoning of the model's chat template, the reasoning
  /// comes first.
  Made afterPrompt(std::span<const int32_t> prompt) const;

private:
  Made make(const AnswerStart &start) const;

  const Model *model = nullptr;
  const Tokenizer *tokenizer = nullptr;
  grammar::Source source;
  /// The flag, and its file if it names one, for messages.
  std::string origin;
  /// Null without a flag.
  std::shared_ptr<AnswerConstraints> answers;
};

} // namespace mtp

#endif // MTP_TOOLS_MTP_RUN_CONSTRAINT_H
