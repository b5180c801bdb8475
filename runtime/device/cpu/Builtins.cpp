//===- Builtins.cpp - The host code of builtin kernels --------------------===//

#include "runtime/device/cpu/Builtins.h"
#include "runtime/core/StrCat.h"
#include "runtime/device/cpu/Sample.h"

using namespace mtp;

/// mtp.sample: [logits f32[M][V], slots i32[M], positions i32[M], sampling
/// i32[S][8], picks i32[M]] / [M, V, rows per slot] / M tasks. The row at
/// position p picks the token of position p + 1; dead rows pick 0.
static void sampleRows(void *const *buffers, const int64_t *params,
                       int64_t begin, int64_t end, void *scratch) {
  const float *logits = static_cast<const float *>(buffers[0]);
  const int32_t *slots = static_cast<const int32_t *>(buffers[1]);
  const int32_t *positions = static_cast<const int32_t *>(buffers[2]);
  const SamplingRow *sampling = static_cast<const SamplingRow *>(buffers[3]);
  int32_t *picks = static_cast<int32_t *>(buffers[4]);
  size_t vocab = size_t(params[1]);
  std::span<int32_t> indices(static_cast<int32_t *>(scratch), vocab);
  for (int64_t row = begin; row < end; ++row)
    picks[row] = positions[row] < 0 ? 0
                                    : sampleToken({logits + row * vocab, vocab},
                                                  sampling[slots[row]],
                                                  positions[row] + 1, indices);
}

/// mtp.sample_parts: [values f32[M][P], indices i32[M][P], logits f32[M][V],
/// slots i32[M], positions i32[M], sampling i32[S][8], picks i32[M]] /
/// [M, V, P] / M tasks. The same picks from the best logit of each of P parts;
/// logits are read only of rows that sample.
static void samplePartRows(void *const *buffers, const int64_t *params,
                           int64_t begin, int64_t end, void *scratch) {
  const float *values = static_cast<const float *>(buffers[0]);
  const int32_t *winners = static_cast<const int32_t *>(buffers[1]);
  const float *logits = static_cast<const float *>(buffers[2]);
  const int32_t *slots = static_cast<const int32_t *>(buffers[3]);
  const int32_t *positions = static_cast<const int32_t *>(buffers[4]);
  const SamplingRow *sampling = static_cast<const SamplingRow *>(buffers[5]);
  int32_t *picks = static_cast<int32_t *>(buffers[6]);
  size_t vocab = size_t(params[1]), parts = size_t(params[2]);
  std::span<int32_t> indices(static_cast<int32_t *>(scratch), vocab);
  for (int64_t row = begin; row < end; ++row) {
    const SamplingRow &ofSlot = sampling[slots[row]];
    if (positions[row] < 0)
      picks[row] = 0;
    else if (ofSlot.skipLogits || isGreedy(ofSlot))
      picks[row] = bestOfParts({values + row * parts, parts},
                               {winners + row * parts, parts});
    else
      picks[row] = sampleToken({logits + row * vocab, vocab}, ofSlot,
                               positions[row] + 1, indices);
  }
}

Result<KernelFunction> mtp::findBuiltinCode(std::string_view name) {
  if (name == "mtp.sample")
    return KernelFunction(sampleRows);
  if (name == "mtp.sample_parts")
    return KernelFunction(samplePartRows);
  return internalError(strCat("builtin '", name, "' has no host code"));
}

uint64_t mtp::builtinScratchBytes(const schema::Artifact &artifact) {
  return artifact.envelope()
             ? uint64_t(artifact.envelope()->vocab()) * sizeof(int32_t)
             : 0;
}
