//===- ExecOps.h - Ops of the exec dialect ----------------------*- C++ -*-===//

#ifndef MTP_DIALECTS_EXEC_IR_EXECOPS_H
#define MTP_DIALECTS_EXEC_IR_EXECOPS_H

#include "dialects/Exec/IR/ExecAttrs.h"
#include "dialects/Exec/IR/ExecDialect.h"
#include "dialects/Exec/IR/ExecInterfaces.h"
#include "dialects/MTP/IR/MTPInterfaces.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/RegionKindInterface.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#define GET_OP_CLASSES
#include "dialects/Exec/IR/ExecOps.h.inc"

namespace mlir::exec {

/// Returns the bytes of a buffer, or nothing if it is not static or they do not
/// fit 63 bits.
std::optional<int64_t> bufferBytes(MemRefType type);

/// Returns the bytes of a program's buffer at every n; nothing for a cache.
std::optional<Count> bufferBytes(Value buffer);

/// Returns the values of n of the program around `op`.
Points pointsOf(Operation *op);

/// Returns whether two operands of calls are the same value, or references to
/// the same layer of one resource.
bool isSameBuffer(Value a, Value b);

} // namespace mlir::exec

#endif // MTP_DIALECTS_EXEC_IR_EXECOPS_H
