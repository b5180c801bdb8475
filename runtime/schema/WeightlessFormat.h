//===- WeightlessFormat.h - The header of a weightless file -----*- C++ -*-===//

#ifndef MTP_RUNTIME_SCHEMA_WEIGHTLESSFORMAT_H
#define MTP_RUNTIME_SCHEMA_WEIGHTLESSFORMAT_H

#include <cstdint>

namespace mtp {

/// First bytes of a file of `mtpc --omit-weights`.
struct WeightlessHeader {
  char magic[8];
  /// Bytes of the artifact up to its weights, which follows the header.
  uint64_t frontBytes;
  /// Bytes of the recipes after the front, and their XXH3-64.
  uint64_t recipeBytes;
  uint64_t recipeHash;
};
inline constexpr char kWeightlessMagic[8] = {'M', 'T', 'P', '-',
                                             'F', 'I', 'L', 'L'};

} // namespace mtp

#endif // MTP_RUNTIME_SCHEMA_WEIGHTLESSFORMAT_H
