//===- safetensors_fuzz.cpp - Any bytes as a safetensors file -------------===//

#include "compiler/Weights/Safetensors.h"

#include <cstdlib>

/// Checks that every parsed tensor is inside the bytes, with the size of its
/// shape and type.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  mtp::Result<mtp::TensorMap> tensors = mtp::parseSafetensors({data, size});
  if (!tensors)
    return 0;
  uint64_t total = 0;
  for (const auto &[name, entry] : *tensors) {
    uint64_t bits = mtp::bitWidth(entry.type);
    for (int64_t dim : entry.shape)
      bits *= uint64_t(dim);
    if (entry.offset > size || entry.size > size - entry.offset ||
        entry.size * 8 != bits)
      std::abort();
    total += entry.size;
  }
  if (total > size)
    std::abort();
  return 0;
}
