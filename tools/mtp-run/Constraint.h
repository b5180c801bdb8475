//===- Constraint.h - The grammar of a run ----------------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_RUN_CONSTRAINT_H
#define MTP_TOOLS_MTP_RUN_CONSTRAINT_H

#include "mtp/tokenizer.h"
#include "runtime/calls/AnswerStart.h"
#include "tools/mtp-run/Options.h"

#include <memory>
#include <span>
#include <string>

namespace mtp {

/// The grammar of --grammar or --json-schema. Without a flag there is none, and
/// all constraints are null.
class RunGrammar {
public:
  using Made = Result<std::shared_ptr<const TokenConstraint>>;

  /// Reads the flag's file and compiles the grammar. `tokenizer` is the
  /// model's; null if the model has none. Both must outlive the grammar and its
  /// constraints.
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
  /// The flag and its file, for messages.
  std::string origin;
  /// The constraint without reasoning; null without a flag.
  std::shared_ptr<const TokenConstraint> plain;
};

} // namespace mtp

#endif // MTP_TOOLS_MTP_RUN_CONSTRAINT_H
