//===- Builtins.cpp - The host code of builtin kernels --------------------===//

#include "runtime/device/cpu/Builtins.h"
#include "runtime/core/StrCat.h"
#include "runtime/device/cpu/Sample.h"

#include <algorithm>

using namespace mtp;

/// Whether a slot picks the best logit, so that other logits need not exist.
static bool takesBest(const SamplingRow &sampling) {
  return sampling.skipLogits || isGreedy(sampling);
}

namespace {
/// The rows to sample and their parameters: the buffers after the logits of
/// every sampling kernel. The row at position p picks the token of position p +
/// 1; padding rows pick 0.
struct SampledRows {
  /// `buffers` starts at the logits.
  SampledRows(void *const *buffers, const int64_t *params, bool isMapped)
      : logits(static_cast<const float *>(buffers[0])),
        vocab(size_t(params[1])), slotCount(params[3]) {
    if (isMapped)
      tokens = {static_cast<const int32_t *>(buffers[1]), vocab};
    buffers += 1 + isMapped;
    slots = static_cast<const int32_t *>(buffers[0]);
    positions = static_cast<const int32_t *>(buffers[1]);
    sampling = static_cast<const SamplingRow *>(buffers[2]);
    outputs = buffers + 3;
  }

  /// Returns the sampling of a row. Slots are numbers in memory: an invalid
  /// slot counts as the nearest valid one.
  const SamplingRow &samplingOf(int64_t row) const {
    return sampling[std::clamp<int64_t>(slots[row], 0, slotCount - 1)];
  }
  SampleInput input(int64_t row) const {
    return {{logits + size_t(row) * vocab, vocab}, tokens};
  }

  const float *logits;
  size_t vocab;
  int64_t slotCount;
  std::span<const int32_t> tokens;
  const int32_t *slots, *positions;
  const SamplingRow *sampling;
  void *const *outputs;
};

/// Rows to sample with the best logit of each of P parts of the vocabulary
/// first: values f32[M][P], indices i32[M][P].
struct PartRows : SampledRows {
  PartRows(void *const *buffers, const int64_t *params, bool isMapped)
      : SampledRows(buffers + 2, params, isMapped),
        values(static_cast<const float *>(buffers[0])),
        indices(static_cast<const int32_t *>(buffers[1])),
        parts(size_t(params[2])) {}

  BestLogit best(int64_t row) const {
    size_t first = size_t(row) * parts;
    return bestOfParts({values + first, parts}, {indices + first, parts},
                       tokens);
  }

  const float *values;
  const int32_t *indices;
  size_t parts;
};
} // namespace

/// mtp.sample: [logits f32[M][V], slots i32[M], positions i32[M], sampling
/// i32[S][8], picks i32[M]] / [M, V, rows per slot] / M tasks.
/// mtp.sample_mapped: as mtp.sample, with tokens i32[V] after the logits.
template <bool isMapped>
static void sampleRows(void *const *buffers, const int64_t *params,
                       int64_t begin, int64_t end, void *scratch) {
  SampledRows rows(buffers, params, isMapped);
  int32_t *picks = static_cast<int32_t *>(rows.outputs[0]);
  std::span<uint64_t> room(static_cast<uint64_t *>(scratch), rows.vocab);
  for (int64_t row = begin; row < end; ++row)
    picks[row] =
        rows.positions[row] < 0
            ? 0
            : sampleToken(rows.input(row).logits, rows.tokens,
                          rows.samplingOf(row), rows.positions[row] + 1, room);
}

/// mtp.sample_parts: [values f32[M][P], indices i32[M][P], logits f32[M][V],
/// slots i32[M], positions i32[M], sampling i32[S][8], picks i32[M]] / [M, V,
/// P] / M tasks. Makes the picks of mtp.sample from the best logit of each of P
/// parts; reads logits only of rows that sample. mtp.sample_parts_mapped: as
/// mtp.sample_parts, with tokens i32[V] after the logits.
template <bool isMapped>
static void samplePartRows(void *const *buffers, const int64_t *params,
                           int64_t begin, int64_t end, void *scratch) {
  PartRows rows(buffers, params, isMapped);
  int32_t *picks = static_cast<int32_t *>(rows.outputs[0]);
  std::span<uint64_t> room(static_cast<uint64_t *>(scratch), rows.vocab);
  for (int64_t row = begin; row < end; ++row) {
    const SamplingRow &sampling = rows.samplingOf(row);
    int32_t position = rows.positions[row];
    BestLogit best = rows.best(row);
    picks[row] = position < 0          ? 0
                 : takesBest(sampling) ? best.token
                                       : sampleToken(rows.input(row), sampling,
                                                     position + 1, best, room);
  }
}

/// mtp.sample_scan: the buffers of mtp.sample_parts, with buckets
/// i32[M][R][618] instead of picks / [M, V, P] / M x R tasks for the R
/// stretches of a row. The first of two steps; see Sample.h.
/// mtp.sample_scan_mapped: as mtp.sample_scan, with tokens i32[V] after the
/// logits.
template <bool isMapped>
static void scanPartRows(void *const *buffers, const int64_t *params,
                         int64_t begin, int64_t end, void *) {
  PartRows rows(buffers, params, isMapped);
  auto *buckets = static_cast<SampleBucket *>(rows.outputs[0]);
  int64_t stretches = sampleStretches(params[1]);
  while (begin < end) {
    int64_t row = begin / stretches;
    int64_t rowEnd = std::min(end, (row + 1) * stretches);
    const SamplingRow &sampling = rows.samplingOf(row);
    if (rows.positions[row] >= 0 && !takesBest(sampling)) {
      BestLogit best = rows.best(row);
      for (int64_t task = begin; task < rowEnd; ++task)
        scanStretch(rows.input(row), sampling, rows.positions[row] + 1, best,
                    size_t(task % stretches),
                    {buckets + task * kSampleBuckets, kSampleBuckets});
    }
    begin = rowEnd;
  }
}

/// mtp.sample_join: the buffers of mtp.sample_scan and picks i32[M] / [M, V, P]
/// / M tasks. Makes the picks of mtp.sample_parts. mtp.sample_join_mapped: as
/// mtp.sample_join, with tokens i32[V] after the logits.
template <bool isMapped>
static void joinPartRows(void *const *buffers, const int64_t *params,
                         int64_t begin, int64_t end, void *scratch) {
  PartRows rows(buffers, params, isMapped);
  const auto *buckets = static_cast<const SampleBucket *>(rows.outputs[0]);
  int32_t *picks = static_cast<int32_t *>(rows.outputs[1]);
  std::span<uint64_t> room(static_cast<uint64_t *>(scratch), rows.vocab);
  size_t count = size_t(sampleStretches(params[1])) * kSampleBuckets;
  for (int64_t row = begin; row < end; ++row) {
    const SamplingRow &sampling = rows.samplingOf(row);
    int32_t position = rows.positions[row];
    BestLogit best = rows.best(row);
    picks[row] =
        position < 0 ? 0
        : takesBest(sampling)
            ? best.token
            : joinStretches(rows.input(row), sampling, position + 1, best,
                            {buckets + size_t(row) * count, count}, room);
  }
}

Result<KernelFunction> mtp::findBuiltinCode(std::string_view name) {
  static constexpr struct {
    std::string_view name;
    KernelFunction code;
  } all[] = {{"mtp.sample", sampleRows<false>},
             {"mtp.sample_mapped", sampleRows<true>},
             {"mtp.sample_parts", samplePartRows<false>},
             {"mtp.sample_parts_mapped", samplePartRows<true>},
             {"mtp.sample_scan", scanPartRows<false>},
             {"mtp.sample_scan_mapped", scanPartRows<true>},
             {"mtp.sample_join", joinPartRows<false>},
             {"mtp.sample_join_mapped", joinPartRows<true>}};
  for (const auto &builtin : all)
    if (builtin.name == name)
      return KernelFunction(builtin.code);
  return internalError(strCat("builtin '", name, "' has no host code"));
}

uint64_t mtp::builtinScratchBytes(const Artifact &artifact) {
  return artifact.envelope
             ? uint64_t(artifact.envelope->vocab()) * sizeof(uint64_t)
             : 0;
}
