//===- RopeTable.h - Cosines and sines of a rotary embedding ----*- C++ -*-===//

#ifndef MTP_COMPILER_ARTIFACT_ROPETABLE_H
#define MTP_COMPILER_ARTIFACT_ROPETABLE_H

#include "dialects/MTP/IR/MTPAttrs.h"
#include <cstdint>
#include <vector>

namespace mtp::compiler {

/// Returns the dim/2 inverse frequencies of `rope`, with its scaling: linear
/// (positions divided by the factor), llama3 (transformers'
/// _compute_llama3_parameters) or YaRN (Peng et al., 2023, section 3.2;
/// transformers' _compute_yarn_parameters).
std::vector<float> inverseFrequencies(mlir::mtp::RopeAttr rope);

/// Writes row `position` of the table: dim/2 cosines, then dim/2 sines, times
/// the attention factor. The angle is computed in f32, as in the models'
/// reference code. `row` has room for dim values.
void writeRopeRow(mlir::mtp::RopeAttr rope,
                  const std::vector<float> &frequencies, int64_t position,
                  float *row);

} // namespace mtp::compiler

#endif // MTP_COMPILER_ARTIFACT_ROPETABLE_H
