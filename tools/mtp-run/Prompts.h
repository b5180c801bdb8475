//===- Prompts.h - Prompts from flags and files -----------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_RUN_PROMPTS_H
#define MTP_TOOLS_MTP_RUN_PROMPTS_H

#include "runtime/text/Tokenizer.h"
#include "tools/mtp-run/Options.h"

namespace mtp {

/// The artifact's tokenizer; null when it has none.
Result<std::unique_ptr<Tokenizer>> loadTokenizer(const Model &model);

/// The token ids of all prompts: --prompt, then --prompt-file, then --ids.
/// `tokenizer` may be null when there are only ids. Adds the model's own start
/// tokens to texts unless options.noSpecial.
Result<std::vector<std::vector<int32_t>>>
readPrompts(const RunOptions &options, const Model &model,
            const Tokenizer *tokenizer);

} // namespace mtp

#endif // MTP_TOOLS_MTP_RUN_PROMPTS_H
