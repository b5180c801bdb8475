//===- MTPTypes.h - Types of the mtp dialect ------------------*- C++ -*-===//

#ifndef DIALECTS_MTP_IR_MTPTYPES_H
#define DIALECTS_MTP_IR_MTPTYPES_H

#include "mlir/IR/BuiltinTypes.h"

#define GET_TYPEDEF_CLASSES
#include "dialects/MTP/IR/MTPTypes.h.inc"

#endif // DIALECTS_MTP_IR_MTPTYPES_H
