//===- ExecDialect.cpp - The exec dialect ---------------------------------===//

#include "dialects/Exec/IR/ExecDialect.h"
#include "dialects/Exec/IR/ExecOps.h"
#include "dialects/MTP/IR/AsmDirectives.h"

using namespace mlir;
using namespace mlir::exec;

#include "dialects/Exec/IR/ExecDialect.cpp.inc"

void ExecDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialects/Exec/IR/ExecOps.cpp.inc"
      >();
}

std::optional<int64_t> mlir::exec::bufferBytes(MemRefType type) {
  Type element = type.getElementType();
  if (!element.isIntOrFloat()) {
    return std::nullopt;
  }
  int64_t bytes = (element.getIntOrFloatBitWidth() + 7) / 8;
  for (int64_t dim : type.getShape()) {
    if (ShapedType::isDynamic(dim) ||
        __builtin_mul_overflow(bytes, dim, &bytes)) {
      return std::nullopt;
    }
  }
  return bytes;
}

bool mlir::exec::isSameOperand(const KernelOperand &a, const KernelOperand &b) {
  return a.offset == b.offset && isSameBuffer(a.value, b.value);
}

#include "dialects/Exec/IR/ExecInterfaces.cpp.inc"

/// The clause ` init -1` of a state, whose elements are those of its type.
static ParseResult parseStateInit(OpAsmParser &parser, TypedAttr &init,
                                  TypeAttr type) {
  auto buffer = dyn_cast<MemRefType>(type.getValue());
  if (!buffer)
    return success(); // the verifier has something to say about it
  return mtp::parseStateInit(parser, init,
                             TypeAttr::get(buffer.getElementType()));
}

static void printStateInit(OpAsmPrinter &printer, Operation *op, TypedAttr init,
                           TypeAttr type) {
  mtp::printStateInit(printer, op, init, type);
}

#define GET_OP_CLASSES
#include "dialects/Exec/IR/ExecOps.cpp.inc"
