//===- SamplingWords.h - What programs know of sampling ---------*- C++ -*-===//
//
// The words of the state "sampling" and of what `mtp.sample_scan` leaves for
// `mtp.sample_join`; FORMAT.md has all of them.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_SCHEMA_SAMPLINGWORDS_H
#define MTP_RUNTIME_SCHEMA_SAMPLINGWORDS_H

#include <cstdint>

namespace mtp {

/// Words of a slot's row, 32 bits each.
inline constexpr int64_t kSamplingWords = 8;
/// The word that is not 0 where nobody reads the slot's logits.
inline constexpr int64_t kSkipLogitsWord = 6;

/// Logits of a row that one task scans. The vocabulary alone divides a row, so
/// that no thread count is in a program.
inline constexpr int64_t kSampleStretch = 16384;
/// Words that a task leaves: 103 buckets of 24 bytes.
inline constexpr int64_t kSampleStretchWords = 103 * 6;

inline constexpr int64_t sampleStretches(int64_t vocabulary) {
  return (vocabulary + kSampleStretch - 1) / kSampleStretch;
}

} // namespace mtp

#endif // MTP_RUNTIME_SCHEMA_SAMPLINGWORDS_H
