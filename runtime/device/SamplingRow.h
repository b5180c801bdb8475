//===- SamplingRow.h - Sampling parameters of a slot ------------*- C++ -*-===//

#ifndef MTP_RUNTIME_DEVICE_SAMPLINGROW_H
#define MTP_RUNTIME_DEVICE_SAMPLINGROW_H

#include "runtime/schema/SamplingLayout.h"

#include <cstddef>
#include <cstdint>

namespace mtp {

/// One row of the state "sampling", as the host writes it.
struct SamplingRow {
  uint32_t seedLow;
  uint32_t seedHigh;
  /// Zero: greedy.
  float temperature;
  /// Zero or less: off.
  int32_t topK;
  /// One or more: off.
  float topP;
  /// Zero or less: off.
  float minP;
  /// Not zero: the slot's logits are not read, so programs need not write them.
  /// Only for a greedy slot.
  int32_t skipLogits;
  int32_t reserved;
};
static_assert(sizeof(SamplingRow) == kSamplingWords * 4);
static_assert(offsetof(SamplingRow, skipLogits) == kSkipLogitsWord * 4);

} // namespace mtp

#endif // MTP_RUNTIME_DEVICE_SAMPLINGROW_H
