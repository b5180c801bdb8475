//===- TuneGemms.h - The fastest algorithms of the library ------*- C++ -*-===//

#ifndef MTP_RUNTIME_DEVICE_CUDA_TUNEGEMMS_H
#define MTP_RUNTIME_DEVICE_CUDA_TUNEGEMMS_H

#include "runtime/core/Result.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace mtp {

/// A product of rows by a weight, see schema::Gemm.
struct GemmToTune {
  uint32_t rows = 0, outputs = 0, inputs = 0;
  uint64_t workspace = 0;
};

/// Algorithms in the order of the products to tune, see schema::GemmAlgorithm.
struct TunedGemms {
  uint64_t version = 0;
  std::string chip;
  std::vector<std::vector<uint64_t>> algorithms;
};

/// Times the algorithms that the library's heuristic offers for each product on
/// this machine's GPU and returns the fastest. If the driver has no clock,
/// returns the last one. Returns FailedPrecondition if there is no GPU or no
/// library.
Result<TunedGemms> tuneGemms(std::span<const GemmToTune> gemms);

} // namespace mtp

#endif // MTP_RUNTIME_DEVICE_CUDA_TUNEGEMMS_H
