//===- SamplingLayout.h - Layout of sampling parameters ---------*- C++ -*-===//
//
// Words of the state "sampling", and of the data that `mtp.sample_scan` passes
// to `mtp.sample_join`. FORMAT.md describes all of them.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_SCHEMA_SAMPLINGLAYOUT_H
#define MTP_RUNTIME_SCHEMA_SAMPLINGLAYOUT_H

#include <cstdint>

namespace mtp {

/// Number of words of a slot's row, 32 bits each.
inline constexpr int64_t kSamplingWords = 8;
/// Index of the word that is not 0 if the slot's logits are not read.
inline constexpr int64_t kSkipLogitsWord = 6;

/// Number of logits of a row that one task scans. The division of a row depends
/// on the vocabulary only, so that programs do not depend on the number of
/// threads.
inline constexpr int64_t kSampleStretch = 16384;
/// Number of words that a task outputs: 103 buckets of 24 bytes.
inline constexpr int64_t kSampleStretchWords = 103 * 6;

inline constexpr int64_t sampleStretches(int64_t vocabulary) {
  return (vocabulary + kSampleStretch - 1) / kSampleStretch;
}

} // namespace mtp

#endif // MTP_RUNTIME_SCHEMA_SAMPLINGLAYOUT_H
