//===- KeptColumns.cpp - Columns of heads that a product keeps ------------===//

#include "compiler/Codegen/Rows/KeptColumns.h"

#include "compiler/Codegen/Rows/Rope.h"

using namespace mtp;
using namespace mtp::codegen;

void codegen::emitKeptColumns(KernelBuilder &kb,
                              exec::HeadLinearKernelAttr kernel, Value from,
                              Value to, Value row) {
  int64_t width = kernel.getKeepWidth();
  if (!kernel.getRotation())
    return kb.copy(from, to, width);
  RopeSpec rope = ropeSpec(kernel.getRotation(), kernel.getPositions(), width);
  Value angles = emitAngles(kb, rope, kb.buffer(2), kb.buffer(3), row);
  emitRotatedHead(kb, rope, from, to, angles);
}
