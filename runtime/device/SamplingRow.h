//===- SamplingRow.h - How a slot samples -----------------------*- C++ -*-===//

#ifndef MTP_RUNTIME_DEVICE_SAMPLINGROW_H
#define MTP_RUNTIME_DEVICE_SAMPLINGROW_H

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
  int32_t reserved[2];
};
static_assert(sizeof(SamplingRow) == 32);

} // namespace mtp

#endif // MTP_RUNTIME_DEVICE_SAMPLINGROW_H
