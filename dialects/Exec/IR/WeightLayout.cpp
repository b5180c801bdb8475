//===- WeightLayout.cpp - Layouts of packed weights -----------------------===//

#include "dialects/Exec/IR/WeightLayout.h"
#include "dialects/Exec/IR/ExecOps.h"
#include "runtime/schema/FragmentOrder.h"
#include "runtime/schema/QuantizedPanel.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::exec;

#include "dialects/Exec/IR/ExecAttrInterfaces.cpp.inc"

static ::mtp::QuantizedPanel integerPanel(const PackedMatrices &matrices) {
  return {matrices.dtype.getIntOrFloatBitWidth(), *matrices.group, matrices.k};
}

/// `count` panels of `width` outputs.
static MemRefType panelsType(const PackedMatrices &matrices, int64_t count,
                             int64_t width, bool fragments) {
  Type dtype = matrices.dtype;
  if (matrices.group) {
    Type byte = IntegerType::get(dtype.getContext(), 8);
    int64_t bytes = integerPanel(matrices).bytes();
    if (!fragments)
      return MemRefType::get({count, bytes}, byte);
    // Words of each output.
    return MemRefType::get({count, bytes / (width * 4), width, 4}, byte);
  }
  if (fragments) {
    int64_t inputs = ::mtp::FragmentOrder::kInputs;
    return MemRefType::get({count, matrices.k / inputs, width, inputs}, dtype);
  }
  // Panels of bf16 hold inputs in pairs.
  if (dtype.isBF16())
    return MemRefType::get({count, (matrices.k + 1) / 2, width, 2}, dtype);
  return MemRefType::get({count, matrices.k, width}, dtype);
}

MemRefType RawLayoutAttr::getPackedType(const PackedMatrices &matrices) const {
  if (matrices.group) {
    return MemRefType::get({matrices.n, integerPanel(matrices).rowBytes()},
                           IntegerType::get(getContext(), 8));
  }
  return MemRefType::get({matrices.stack * matrices.n, matrices.k},
                         matrices.dtype);
}

MemRefType PanelsAttr::getPackedType(const PackedMatrices &matrices) const {
  return panelsType(matrices,
                    matrices.stack * panelCount(matrices.n, getWidth()),
                    getWidth(), getFragments());
}

MemRefType
GatedPanelsAttr::getPackedType(const PackedMatrices &matrices) const {
  // Either half is padded by itself.
  return panelsType(matrices,
                    matrices.stack * 2 * panelCount(matrices.n / 2, getWidth()),
                    getWidth(), getFragments());
}

static LogicalResult
verifyWidth(llvm::function_ref<InFlightDiagnostic()> emitError, int64_t width,
            bool fragments) {
  if (width < 4 || width > 256 || !llvm::isPowerOf2_64(width)) // C1
    return emitError() << "expected panels of a power of two from 4 to 256 "
                          "outputs, got "
                       << width;
  if (fragments && width != ::mtp::FragmentOrder::kOutputs)
    return emitError() << "expected panels of "
                       << ::mtp::FragmentOrder::kOutputs
                       << " outputs in fragments, got " << width;
  return success();
}

LogicalResult
PanelsAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                   int64_t width, bool fragments) {
  return verifyWidth(emitError, width, fragments);
}

LogicalResult
GatedPanelsAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                        int64_t width, bool fragments) {
  return verifyWidth(emitError, width, fragments);
}

int64_t mlir::exec::formatPanelWidth() {
  return ::mtp::QuantizedPanel::kOutputs;
}

int64_t mlir::exec::panelWidthOf(Value weight) {
  auto type = cast<ShapedType>(weight.getType());
  // Panels of integers are bytes.
  return type.getRank() > 2 ? type.getDimSize(2) : formatPanelWidth();
}

bool mlir::exec::isInFragments(Value weight) {
  auto type = cast<ShapedType>(weight.getType());
  return type.getRank() == 4 &&
         (type.getElementType().isInteger(8) ||
          type.getDimSize(3) == ::mtp::FragmentOrder::kInputs);
}
