//===- Prompts.h - Prompts from flags and files -----------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_RUN_PROMPTS_H
#define MTP_TOOLS_MTP_RUN_PROMPTS_H

#include "runtime/tokenizer/Tokenizer.h"
#include "tools/mtp-run/Options.h"
#include "tools/support/PromptText.h"

namespace mtp {

struct Prompt {
  /// The source of the prompt: "--prompt", "--prompt-file PATH" or "--ids".
  std::string source;
  std::vector<int32_t> ids;
};

/// Returns all prompts, in the order --prompt, --prompt-file, --ids.
/// `tokenizer` may be null if there are only ids. Adds the model's start tokens
/// to texts unless options.noStartTokens. A start token that a text spells out
/// (options.special) is not added again.
Result<std::vector<Prompt>> readPrompts(const RunOptions &options,
                                        const Model &model,
                                        const Tokenizer *tokenizer);

} // namespace mtp

#endif // MTP_TOOLS_MTP_RUN_PROMPTS_H
