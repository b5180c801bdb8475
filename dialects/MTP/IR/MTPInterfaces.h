//===- MTPInterfaces.h - Interfaces of operations -------------*- C++ -*-===//

#ifndef DIALECTS_MTP_IR_MTPINTERFACES_H
#define DIALECTS_MTP_IR_MTPINTERFACES_H

#include "mlir/IR/OpDefinition.h"
#include "llvm/ADT/SmallVector.h"

#include "dialects/MTP/IR/MTPInterfaces.h.inc"

#endif // DIALECTS_MTP_IR_MTPINTERFACES_H
