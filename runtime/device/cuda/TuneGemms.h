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

/// Algorithms by the order of what was to be tuned, see schema::GemmAlgorithm.
struct TunedGemms {
  uint64_t version = 0;
  std::string chip;
  std::vector<std::vector<uint64_t>> algorithms;
};

/// Times what the library's heuristic offers for each product on this machine's
/// GPU and takes the fastest; of a driver that has no time, the last.
/// FailedPrecondition where there is no GPU or no library.
Result<TunedGemms> tuneGemms(std::span<const GemmToTune> gemms);

} // namespace mtp

#endif // MTP_RUNTIME_DEVICE_CUDA_TUNEGEMMS_H
