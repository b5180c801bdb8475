//===- PromptText.h - Text to prompt tokens ---------------------*- C++ -*-===//

#ifndef MTP_TOOLS_SUPPORT_PROMPTTEXT_H
#define MTP_TOOLS_SUPPORT_PROMPTTEXT_H

#include "mtp/model.h"
#include "mtp/tokenizer.h"

#include <memory>
#include <string_view>
#include <vector>

namespace mtp {

/// Returns the artifact's tokenizer; null if it has none. The model must
/// outlive it.
Result<std::unique_ptr<Tokenizer>> loadTokenizer(const Model &model);

struct PromptTextOptions {
  /// Add the model's start tokens.
  bool addsStart = true;
  /// Parse the strings of special tokens as tokens. A start token that is
  /// spelled out is then not added again.
  bool special = false;
  /// Like EncodeOptions::cancelled.
  const std::atomic<bool> *cancelled = nullptr;
};

/// Returns the ids of a text, as a prompt of the model. The errors are the
/// tokenizer's.
Result<std::vector<int32_t>> promptIds(std::string_view text,
                                       const PromptTextOptions &options,
                                       const GenerationInfo &generation,
                                       const Tokenizer &tokenizer);

} // namespace mtp

#endif // MTP_TOOLS_SUPPORT_PROMPTTEXT_H
