//===- ExecOps.h - Ops of the exec dialect ----------------------*- C++ -*-===//

#ifndef MTP_DIALECTS_EXEC_IR_EXECOPS_H
#define MTP_DIALECTS_EXEC_IR_EXECOPS_H

#include "dialects/Exec/IR/ExecDialect.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/RegionKindInterface.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#define GET_OP_CLASSES
#include "dialects/Exec/IR/ExecOps.h.inc"

#endif // MTP_DIALECTS_EXEC_IR_EXECOPS_H
