//===- KeptLogits.cpp - The logits of a sequence --------------------------===//

#include "runtime/exec/memory/KeptLogits.h"
#include "runtime/core/StrCat.h"

#include <utility>

using namespace mtp;

uint64_t KeptLogits::bytes(LogitsMode mode, uint32_t maxTokens,
                           uint32_t vocab) {
  if (mode == LogitsMode::None)
    return 0;
  return multiplyBytes(uint64_t(vocab) * sizeof(float),
                       mode == LogitsMode::Last ? 2 : maxTokens);
}

Result<KeptLogits> KeptLogits::reserve(LogitsMode mode, uint32_t maxTokens,
                                       uint32_t vocab,
                                       const MemoryLimit &limit) {
  KeptLogits kept;
  if (mode == LogitsMode::None)
    return kept;
  kept.isLast = mode == LogitsMode::Last;
  kept.width = vocab;
  uint64_t row = uint64_t(vocab) * sizeof(float);
  std::string what = kept.isLast
                         ? std::string("the logits of a token")
                         : strCat("the logits of ", maxTokens, " max tokens");
  Result<MemoryReservation> reserved =
      hostMemory().reserve(bytes(mode, maxTokens, vocab), what, limit);
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

Status KeptLogits::addRow(const std::function<Status(std::span<float>)> &read) {
  std::unique_ptr<float[]> row = std::move(spare);
  if (!row)
    row = std::make_unique_for_overwrite<float[]>(width);
  MTP_RETURN_IF_ERROR(read({row.get(), width}));
  if (!isLast || rows.empty()) {
    rows.push_back(std::move(row));
    return okStatus();
  }
  spare = std::exchange(rows.back(), std::move(row));
  return okStatus();
}

void KeptLogits::finish() {
  spare.reset();
  reservation.shrinkTo(rows.size() * width * sizeof(float));
}
