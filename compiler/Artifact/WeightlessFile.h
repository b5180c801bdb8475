//===- WeightlessFile.h - An artifact that has its weights to come -*- C++
//-*-===//
//
// Random weights are a function of a seed. An artifact that travels can leave
// them out and say how they are made: the file is a header, the artifact up to
// its weights, and their recipes.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_ARTIFACT_WEIGHTLESSFILE_H
#define MTP_COMPILER_ARTIFACT_WEIGHTLESSFILE_H

#include "compiler/Weights/WeightRecipe.h"
#include "runtime/core/Result.h"

namespace mtp::compiler {

/// The file's first bytes.
struct WeightlessHeader {
  char magic[8];
  /// Of the artifact up to its weights, which follows.
  uint64_t frontBytes;
  /// Of the recipes behind it, and their XXH3-64.
  uint64_t recipeBytes;
  uint64_t recipeHash;
};
inline constexpr char kWeightlessMagic[8] = {'M', 'T', 'P', '-',
                                             'F', 'I', 'L', 'L'};

/// A weight that is not packed yet, and where it belongs.
struct PlacedRecipe {
  WeightRecipe recipe;
  /// Index into the artifact's segments, and the first byte there.
  uint32_t segment = 0;
  uint64_t offset = 0;
};

/// The recipes' bytes in the file. `weights` are in the order of their places.
std::vector<uint8_t> encodeRecipes(uint64_t seed,
                                   const std::vector<PlacedRecipe> &weights);

/// Completes such a file: `output` gets the bytes that mtpc would have written.
/// `threads` make the weights.
Status fillArtifact(const std::string &input, const std::string &output,
                    unsigned threads);

} // namespace mtp::compiler

#endif // MTP_COMPILER_ARTIFACT_WEIGHTLESSFILE_H
