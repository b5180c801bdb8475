//===- MTPDialect.h - The mtp dialect -------------------------*- C++ -*-===//

#ifndef MTP_DIALECTS_MTP_IR_MTPDIALECT_H
#define MTP_DIALECTS_MTP_IR_MTPDIALECT_H

#include "mlir/IR/Dialect.h"

#include "dialects/MTP/IR/MTPDialect.h.inc"

#endif // MTP_DIALECTS_MTP_IR_MTPDIALECT_H
