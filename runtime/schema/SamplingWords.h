//===- SamplingWords.h - The words of the state "sampling" ------*- C++ -*-===//
//
// What compiled programs know of a slot's sampling parameters; FORMAT.md has
// all of them.
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

} // namespace mtp

#endif // MTP_RUNTIME_SCHEMA_SAMPLINGWORDS_H
