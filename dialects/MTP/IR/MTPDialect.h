//===- MTPDialect.h - The mtp dialect -------------------------*- C++ -*-===//

#ifndef DIALECTS_MTP_IR_MTPDIALECT_H
#define DIALECTS_MTP_IR_MTPDIALECT_H

#include "mlir/IR/Dialect.h"

#include "dialects/MTP/IR/MTPDialect.h.inc"

#endif // DIALECTS_MTP_IR_MTPDIALECT_H
