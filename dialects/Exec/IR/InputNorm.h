//===- InputNorm.h - Attributes of weights for the quantiser ----*- C++ -*-===//

#ifndef MTP_DIALECTS_EXEC_IR_INPUTNORM_H
#define MTP_DIALECTS_EXEC_IR_INPUTNORM_H

#include "llvm/ADT/StringRef.h"

namespace mlir::exec {

/// Attributes of an exec.weight for the quantiser: the key of the norm of its
/// inputs, the number that is added to the norm's weights, and a unit attribute
/// of heads.
inline constexpr llvm::StringLiteral kInputNormAttr = "exec.input_norm";
inline constexpr llvm::StringLiteral kNormOffsetAttr = "exec.norm_offset";
inline constexpr llvm::StringLiteral kHeadAttr = "exec.head";

} // namespace mlir::exec

#endif // MTP_DIALECTS_EXEC_IR_INPUTNORM_H
