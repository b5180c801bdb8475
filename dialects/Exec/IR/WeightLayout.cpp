//===- WeightLayout.cpp - Layouts of packed weights -----------------------===//

#include "dialects/Exec/IR/WeightLayout.h"
#include "dialects/Exec/IR/ExecOps.h"
#include "runtime/schema/FragmentOrder.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::exec;

#include "dialects/Exec/IR/ExecAttrInterfaces.cpp.inc"

// The enumeration exists twice, because the runtime does not include MLIR.
// Contract_test compares the names.
static_assert(getMaxEnumValForWeightElements() + 1 ==
              std::size(::mtp::kWeightFormats));
static_assert(getMaxEnumValForWeightScales() + 1 ==
              std::size(::mtp::kWeightScales));

Type FormatAttr::getBufferElement() const {
  Builder builder(getContext());
  if (isQuantized())
    return builder.getI8Type(); // integers and their scales, as bytes
  return isBF16() ? Type(builder.getBF16Type()) : builder.getF32Type();
}

LogicalResult
FormatAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                   WeightElements elements, int64_t group, WeightScales scales,
                   bool offset) {
  ::mtp::WeightFormat format{static_cast<::mtp::WeightElements>(elements),
                             group, static_cast<::mtp::WeightScales>(scales),
                             offset};
  if (format.isValid())
    return success();
  if (!format.isQuantized()) // C1
    return emitError() << "expected no group, scales or offset for elements of "
                       << stringifyWeightElements(elements) << ", got group "
                       << group;
  if (!::mtp::isQuantGroup(group)) // C1
    return emitError() << "expected a group of " << ::mtp::kMinQuantGroup
                       << " or a multiple of " << ::mtp::kQuantGroupStep
                       << " up to " << ::mtp::kMaxQuantGroup
                       << " for elements of "
                       << stringifyWeightElements(elements) << ", got "
                       << group;
  return emitError() << "expected a group and an offset that suit " // C2
                     << stringifyWeightElements(elements) << " with scales of "
                     << stringifyWeightScales(scales) << ", got group " << group
                     << (offset ? " with an offset" : " without an offset");
}

/// Returns the buffer type of `count` panels of `width` outputs.
static MemRefType panelsType(MLIRContext *context,
                             const PackedMatrices &matrices, int64_t count,
                             int64_t width, bool fragments) {
  auto format = FormatAttr::get(context, matrices.format);
  Type element = format.getBufferElement();
  if (format.isQuantized()) {
    int64_t bytes = matrices.format.panelBytes(matrices.k, width);
    if (!fragments)
      return MemRefType::get({count, bytes}, element);
    // Words per output.
    return MemRefType::get({count, bytes / (width * 4), width, 4}, element);
  }
  if (fragments) {
    int64_t inputs = ::mtp::FragmentOrder::kInputs;
    return MemRefType::get({count, matrices.k / inputs, width, inputs},
                           element);
  }
  // Panels of bf16 hold inputs in pairs.
  if (format.isBF16())
    return MemRefType::get({count, (matrices.k + 1) / 2, width, 2}, element);
  return MemRefType::get({count, matrices.k, width}, element);
}

MemRefType RawLayoutAttr::getPackedType(const PackedMatrices &matrices) const {
  auto format = FormatAttr::get(getContext(), matrices.format);
  if (format.isQuantized())
    return MemRefType::get({matrices.n, matrices.format.rowBytes(matrices.k)},
                           format.getBufferElement());
  return MemRefType::get({matrices.stack * matrices.n, matrices.k},
                         format.getBufferElement());
}

MemRefType PanelsAttr::getPackedType(const PackedMatrices &matrices) const {
  return panelsType(getContext(), matrices,
                    matrices.stack * panelCount(matrices.n, getWidth()),
                    getWidth(), getFragments());
}

MemRefType
GatedPanelsAttr::getPackedType(const PackedMatrices &matrices) const {
  // Each half is padded separately.
  return panelsType(getContext(), matrices,
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
