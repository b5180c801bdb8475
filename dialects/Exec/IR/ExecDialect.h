//===- ExecDialect.h - The exec dialect -------------------------*- C++ -*-===//

#ifndef MTP_DIALECTS_EXEC_IR_EXECDIALECT_H
#define MTP_DIALECTS_EXEC_IR_EXECDIALECT_H

#include "dialects/MTP/IR/MTPDialect.h"
#include "mlir/IR/Dialect.h"

#include "dialects/Exec/IR/ExecDialect.h.inc"

#endif // MTP_DIALECTS_EXEC_IR_EXECDIALECT_H
