//===- KeptLogits.cpp - The logits of a sequence --------------------------===//

#include "runtime/exec/KeptLogits.h"
#include "runtime/core/StrCat.h"

using namespace mtp;

Result<KeptLogits> KeptLogits::reserve(LogitsMode mode, uint32_t maxTokens,
                                       uint32_t vocab,
                                       const MemoryLimit &limit) {
  KeptLogits kept;
  if (mode == LogitsMode::None)
    return kept;
  kept.isLast = mode == LogitsMode::Last;
  kept.width = vocab;
  uint64_t row = uint64_t(vocab) * sizeof(float);
  uint64_t bytes = kept.isLast ? row : multiplyBytes(row, maxTokens);
  std::string what = kept.isLast
                         ? std::string("the logits of a token")
                         : strCat("the logits of ", maxTokens, " max tokens");
  Result<MemoryReservation> reserved = hostMemory().reserve(bytes, what, limit);
  if (reserved) {
    kept.reservation = std::move(*reserved);
    return kept;
  }
  uint64_t fit = hostMemory().left(limit) / row;
  if (kept.isLast || fit == 0)
    return reserved.status();
  return resourceExhausted(strCat(reserved.status().message(),
                                  "; lower max_tokens to ", fit, " or less"));
}

std::span<float> KeptLogits::addRow() {
  if (!isLast || rows.empty())
    rows.push_back(std::make_unique_for_overwrite<float[]>(width));
  return {rows.back().get(), width};
}

void KeptLogits::finish() {
  reservation.shrinkTo(rows.size() * width * sizeof(float));
}
