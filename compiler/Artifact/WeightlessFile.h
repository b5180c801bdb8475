//===- WeightlessFile.h - An artifact without its weights -------*- C++ -*-===//
//
// Random weights are a function of a seed. An artifact that is sent to another
// machine can contain recipes instead of them. The file is a header, the
// artifact up to its weights, and the recipes.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_ARTIFACT_WEIGHTLESSFILE_H
#define MTP_COMPILER_ARTIFACT_WEIGHTLESSFILE_H

#include "compiler/Weights/pack/WeightRecipe.h"
#include "runtime/core/Result.h"
#include "runtime/schema/WeightlessFormat.h"

namespace mtp::compiler {

/// A weight that is not packed yet, and its place.
struct PlacedRecipe {
  WeightRecipe recipe;
  /// Index into the artifact's segments, and offset in the segment.
  uint32_t segment = 0;
  uint64_t offset = 0;
};

/// Returns the recipes as bytes of the file. `weights` must be in the order of
/// their places.
std::vector<uint8_t> encodeRecipes(uint64_t seed,
                                   const std::vector<PlacedRecipe> &weights);

/// Completes a weightless file. `output` gets the bytes that mtpc would have
/// written with weights. `threads` threads make the weights.
Status fillArtifact(const std::string &input, const std::string &output,
                    unsigned threads);

} // namespace mtp::compiler

#endif // MTP_COMPILER_ARTIFACT_WEIGHTLESSFILE_H
