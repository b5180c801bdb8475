//===- FunctionProgram.h - Programs of exported functions -------*- C++ -*-===//

#ifndef MTP_PASSES_LOWER_FUNCTIONPROGRAM_H
#define MTP_PASSES_LOWER_FUNCTIONPROGRAM_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::mtp {

/// Writes the program of an exported function of static shapes. Its ports are
/// named by `mtp.name` on arguments and results, else `arg0`, `result0`. An
/// argument whose name marks it as distributions must be of f32.
LogicalResult writeFunctionProgram(func::FuncOp function);

} // namespace mlir::mtp

#endif // MTP_PASSES_LOWER_FUNCTIONPROGRAM_H
