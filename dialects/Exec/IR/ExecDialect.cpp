//===- ExecDialect.cpp - The exec dialect ---------------------------------===//

#include "dialects/Exec/IR/ExecDialect.h"
#include "dialects/Exec/IR/ExecOps.h"
#include "dialects/MTP/IR/AsmDirectives.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::exec;

#include "dialects/Exec/IR/ExecDialect.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Exec/IR/ExecAttrs.cpp.inc"

void ExecDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Exec/IR/ExecAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/Exec/IR/ExecOps.cpp.inc"
      >();
}

int64_t mlir::exec::moduleNumber(Operation *module, llvm::StringRef attribute,
                                 llvm::StringRef key) {
  auto entries = module->getAttrOfType<DictionaryAttr>(attribute);
  auto value = entries ? entries.getAs<IntegerAttr>(key) : IntegerAttr();
  return value ? value.getInt() : 0;
}

LogicalResult
RotationAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                     int64_t dim, int64_t offset, mtp::RopeLayout) {
  if (dim < 2 || dim % 2 != 0 || offset < 0) // C1
    return emitError()
           << "expected an even number of columns from 2 on, and an "
              "offset from 0 on, got "
           << dim << " and " << offset;
  return success();
}

std::optional<int64_t> mlir::exec::bufferBytes(MemRefType type) {
  Type element = type.getElementType();
  if (!element.isIntOrFloat())
    return std::nullopt;
  int64_t bytes = (element.getIntOrFloatBitWidth() + 7) / 8;
  for (int64_t dim : type.getShape()) {
    if (ShapedType::isDynamic(dim) ||
        __builtin_mul_overflow(bytes, dim, &bytes)) {
      return std::nullopt;
    }
  }
  return bytes;
}

/// The clause ` init -1` of a state, whose elements are those of its type.
static ParseResult parseBufferInit(OpAsmParser &parser, TypedAttr &init,
                                   TypeAttr type) {
  auto buffer = dyn_cast<MemRefType>(type.getValue());
  if (!buffer)
    return success(); // the verifier has something to say about it
  return mtp::parseStateInit(parser, init,
                             TypeAttr::get(buffer.getElementType()));
}

static void printBufferInit(OpAsmPrinter &printer, Operation *op,
                            TypedAttr init, TypeAttr type) {
  mtp::printStateInit(printer, op, init, type);
}

#define GET_OP_CLASSES
#include "dialects/Exec/IR/ExecOps.cpp.inc"
