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

//===----------------------------------------------------------------------===//
// Texts as rows of a function
//===----------------------------------------------------------------------===//

/// Returns the rows of a function that runs tokens of the target, given as
/// tokens, slots and positions. Zero if there is no such function.
size_t rowsOfFunction(const Model &model, std::string_view function);

/// Returns inputs of such a function with `rows` rows, of which `count` are
/// tokens from `begin` on in slot 0. The others are padding rows.
std::vector<Tensor> rowInputs(std::span<const int32_t> tokens, size_t begin,
                              size_t count, size_t rows);

/// Returns the tokens that are run together: --window, or the context.
Result<size_t> windowOf(const RunOptions &options, const Model &model);

/// Checks that every id is in the vocabulary.
Status checkIds(std::span<const int32_t> ids, uint32_t vocab);

/// Shows the progress on a terminal.
class RowProgress {
public:
  /// `verb` is what happens to the tokens of the prompts.
  RowProgress(std::string_view verb, const std::vector<Prompt> &prompts);
  ~RowProgress();
  void add(size_t tokens);

private:
  std::string verb;
  size_t done = 0, total = 0;
  bool enabled;
};

} // namespace mtp

#endif // MTP_TOOLS_MTP_RUN_PROMPTS_H
