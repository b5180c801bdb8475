//===- ExecAttrs.h - Attributes of the exec dialect -------------*- C++ -*-===//

#ifndef MTP_DIALECTS_EXEC_IR_EXECATTRS_H
#define MTP_DIALECTS_EXEC_IR_EXECATTRS_H

#include "dialects/Exec/IR/Count.h"
#include "dialects/Exec/IR/ExecAttrInterfaces.h"
#include "dialects/Exec/IR/WeightLayout.h"
#include "dialects/MTP/IR/MTPAttrs.h"
#include "mlir/IR/TensorEncoding.h"
#include "runtime/schema/WeightFormat.h"

#include "dialects/Exec/IR/ExecEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Exec/IR/ExecAttrs.h.inc"

#endif // MTP_DIALECTS_EXEC_IR_EXECATTRS_H
