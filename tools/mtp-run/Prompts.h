//===- Prompts.h - Prompts from flags and files -----------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_RUN_PROMPTS_H
#define MTP_TOOLS_MTP_RUN_PROMPTS_H

#include "runtime/tokenizer/Tokenizer.h"
#include "tools/mtp-run/Options.h"
#include "tools/support/PromptText.h"

namespace mtp {

struct Prompt {
  /// Where it is from: "--prompt", "--prompt-file PATH" or "--ids".
  std::string source;
  std::vector<int32_t> ids;
};

/// All prompts: those of --prompt, then of --prompt-file, then of --ids.
/// `tokenizer` may be null when there are only ids. Adds the model's own start
/// tokens to texts unless options.noStartTokens; a start token that a text
/// spells out (options.special) is not added a second time.
Result<std::vector<Prompt>> readPrompts(const RunOptions &options,
                                        const Model &model,
                                        const Tokenizer *tokenizer);

} // namespace mtp

#endif // MTP_TOOLS_MTP_RUN_PROMPTS_H
