//===- MTPTypes.h - Types of the mtp dialect ------------------*- C++ -*-===//

#ifndef MTP_DIALECTS_MTP_IR_MTPTYPES_H
#define MTP_DIALECTS_MTP_IR_MTPTYPES_H

#include "mlir/IR/BuiltinTypes.h"

#define GET_TYPEDEF_CLASSES
#include "dialects/MTP/IR/MTPTypes.h.inc"

#endif // MTP_DIALECTS_MTP_IR_MTPTYPES_H
