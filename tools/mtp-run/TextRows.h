//===- TextRows.h - Texts as rows of a function -----------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_RUN_TEXTROWS_H
#define MTP_TOOLS_MTP_RUN_TEXTROWS_H

#include "tools/mtp-run/Prompts.h"

namespace mtp {

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

#endif // MTP_TOOLS_MTP_RUN_TEXTROWS_H
