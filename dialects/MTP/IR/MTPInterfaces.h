//===- MTPInterfaces.h - Interfaces of operations -------------*- C++ -*-===//

#ifndef MTP_DIALECTS_MTP_IR_MTPINTERFACES_H
#define MTP_DIALECTS_MTP_IR_MTPINTERFACES_H

#include "mlir/IR/OpDefinition.h"
#include "llvm/ADT/SmallVector.h"

#include "dialects/MTP/IR/MTPInterfaces.h.inc"

#endif // MTP_DIALECTS_MTP_IR_MTPINTERFACES_H
