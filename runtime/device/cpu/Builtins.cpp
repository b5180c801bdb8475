//===- Builtins.cpp - The host code of builtin kernels --------------------===//

#include "runtime/device/cpu/Builtins.h"
#include "runtime/core/StrCat.h"
#include "runtime/device/cpu/Sample.h"

using namespace mtp;

namespace {
/// Whose rows are sampled, and how: the last buffers of every sampling kernel.
/// The row at position p picks the token of position p + 1; dead rows pick 0.
struct SampledRows {
  SampledRows(void *const *buffers, const int64_t *params, void *scratch)
      : slots(static_cast<const int32_t *>(buffers[0])),
        positions(static_cast<const int32_t *>(buffers[1])),
        sampling(static_cast<const SamplingRow *>(buffers[2])),
        picks(static_cast<int32_t *>(buffers[3])), vocab(size_t(params[1])),
        scratch(static_cast<uint64_t *>(scratch), vocab) {}

  const SamplingRow &samplingOf(int64_t row) const {
    return sampling[slots[row]];
  }

  /// Picks from a row of logits; `tokens` may be empty.
  void sample(int64_t row, const float *logits,
              std::span<const int32_t> tokens) const {
    picks[row] = positions[row] < 0
                     ? 0
                     : sampleToken({logits + row * vocab, vocab}, tokens,
                                   samplingOf(row), positions[row] + 1,
                                   scratch);
  }

  const int32_t *slots, *positions;
  const SamplingRow *sampling;
  int32_t *picks;
  size_t vocab;
  std::span<uint64_t> scratch;
};
} // namespace

/// mtp.sample: [logits f32[M][V], slots i32[M], positions i32[M], sampling
/// i32[S][8], picks i32[M]] / [M, V, rows per slot] / M tasks.
/// mtp.sample_mapped: the same with tokens i32[V] behind the logits.
template <bool isMapped>
static void sampleRows(void *const *buffers, const int64_t *params,
                       int64_t begin, int64_t end, void *scratch) {
  const float *logits = static_cast<const float *>(buffers[0]);
  SampledRows rows(buffers + 1 + isMapped, params, scratch);
  std::span<const int32_t> tokens;
  if (isMapped)
    tokens = {static_cast<const int32_t *>(buffers[1]), rows.vocab};
  for (int64_t row = begin; row < end; ++row)
    rows.sample(row, logits, tokens);
}

/// mtp.sample_parts: [values f32[M][P], indices i32[M][P], logits f32[M][V],
/// slots i32[M], positions i32[M], sampling i32[S][8], picks i32[M]] /
/// [M, V, P] / M tasks. The same picks from the best logit of each of P parts;
/// logits are read only of rows that sample.
/// mtp.sample_parts_mapped: the same with tokens i32[V] behind the logits.
template <bool isMapped>
static void samplePartRows(void *const *buffers, const int64_t *params,
                           int64_t begin, int64_t end, void *scratch) {
  const float *values = static_cast<const float *>(buffers[0]);
  const int32_t *winners = static_cast<const int32_t *>(buffers[1]);
  const float *logits = static_cast<const float *>(buffers[2]);
  SampledRows rows(buffers + 3 + isMapped, params, scratch);
  std::span<const int32_t> tokens;
  if (isMapped)
    tokens = {static_cast<const int32_t *>(buffers[3]), rows.vocab};
  size_t parts = size_t(params[2]);
  for (int64_t row = begin; row < end; ++row) {
    const SamplingRow &sampling = rows.samplingOf(row);
    if (rows.positions[row] < 0 ||
        !(sampling.skipLogits || isGreedy(sampling))) {
      rows.sample(row, logits, tokens);
      continue;
    }
    int32_t best = bestOfParts({values + row * parts, parts},
                               {winners + row * parts, parts});
    rows.picks[row] = best < 0 || !isMapped ? best : tokens[size_t(best)];
  }
}

Result<KernelFunction> mtp::findBuiltinCode(std::string_view name) {
  if (name == "mtp.sample")
    return KernelFunction(sampleRows<false>);
  if (name == "mtp.sample_mapped")
    return KernelFunction(sampleRows<true>);
  if (name == "mtp.sample_parts")
    return KernelFunction(samplePartRows<false>);
  if (name == "mtp.sample_parts_mapped")
    return KernelFunction(samplePartRows<true>);
  return internalError(strCat("builtin '", name, "' has no host code"));
}

uint64_t mtp::builtinScratchBytes(const schema::Artifact &artifact) {
  return artifact.envelope()
             ? uint64_t(artifact.envelope()->vocab()) * sizeof(uint64_t)
             : 0;
}
