//===- ExecDialect.cpp - The exec dialect ---------------------------------===//

#include "dialects/Exec/IR/ExecDialect.h"
#include "dialects/Exec/IR/AsmDirectives.h"
#include "dialects/Exec/IR/ExecOps.h"
#include "dialects/MTP/IR/OldOps.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::exec;

#include "dialects/Exec/IR/ExecDialect.cpp.inc"
#include "dialects/Exec/IR/ExecEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Exec/IR/ExecAttrs.cpp.inc"

std::optional<Dialect::ParseOpHook>
ExecDialect::getParseOperationHook(StringRef name) const {
  return mlir::mtp::parserOfOldOp(name);
}

void ExecDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Exec/IR/ExecAttrs.cpp.inc"
      >();
  registerExecDialectOperations(this);
}

int64_t mlir::exec::moduleNumber(Operation *module, llvm::StringRef attribute,
                                 llvm::StringRef key) {
  auto entries = module->getAttrOfType<DictionaryAttr>(attribute);
  auto value = entries ? entries.getAs<IntegerAttr>(key) : IntegerAttr();
  return value ? value.getInt() : 0;
}

LogicalResult
RotationAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                     int64_t dim, int64_t offset, mlir::mtp::RopeLayout) {
  if (dim < 2 || dim % 2 != 0 || offset < 0) // C1
    return emitError()
           << "expected an even number of columns from 2 on, and an "
              "offset from 0 on, got "
           << dim << " and " << offset;
  return success();
}

LogicalResult
SourceAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                   llvm::StringRef, int64_t, int64_t, int64_t, int64_t, int64_t,
                   bool, DenseI64ArrayAttr shape) {
  if (shape && shape.size() != 1 && shape.size() != 2) // C1
    return emitError() << "expected a shape of one or two dimensions, got "
                       << shape.size();
  return success();
}

Attribute CountAttr::parse(AsmParser &parser, Type) {
  Count count;
  if (parser.parseLess() || parseCount(parser, count) || parser.parseGreater())
    return {};
  return CountAttr::get(parser.getContext(), count);
}

void CountAttr::print(AsmPrinter &printer) const {
  printer.getStream() << "<" << getCount() << ">";
}

LogicalResult CountAttr::verifyEncoding(
    llvm::ArrayRef<int64_t> shape, Type,
    llvm::function_ref<InFlightDiagnostic()> emitError) const {
  constexpr int64_t kMost = int64_t(1) << 31;
  bool hasRows = !shape.empty() && ShapedType::isDynamic(shape.front()) &&
                 !llvm::is_contained(shape.drop_front(), ShapedType::kDynamic);
  if (hasRows && getStep() > 0 && getStep() < kMost && getBase() >= 0 &&
      getBase() < kMost) // C1
    return success();
  return emitError() << "expected a count of a first extent that alone is "
                        "dynamic, growing from 0 on, got "
                     << getCount();
}

//===----------------------------------------------------------------------===//
// Bytes
//===----------------------------------------------------------------------===//

std::optional<Count> mlir::exec::bufferBytes(Value buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  Type element = type.getElementType();
  std::optional<Count> bytes = elementsOf(buffer);
  if (!element.isIntOrFloat() || !bytes ||
      (type.getRank() > 0 && type.isDynamicDim(0) && *bytes == Count()))
    return std::nullopt;
  int64_t size = (element.getIntOrFloatBitWidth() + 7) / 8;
  if (__builtin_mul_overflow(bytes->base, size, &bytes->base) ||
      __builtin_mul_overflow(bytes->step, size, &bytes->step))
    return std::nullopt;
  return bytes;
}

Points mlir::exec::pointsOf(Operation *op) {
  auto program = op->getParentOfType<ProgramOp>();
  return program ? program.getPoints() : Points();
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
