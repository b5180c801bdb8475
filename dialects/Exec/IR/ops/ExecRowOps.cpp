//===- ExecRowOps.cpp - Kernels that work row by row ----------------------===//

#include "dialects/Exec/IR/ExecOps.h"

using namespace mlir;
using namespace mlir::exec;

LogicalResult ColumnsOp::inferReturnTypes(MLIRContext *,
                                          std::optional<Location> location,
                                          Adaptor adaptor,
                                          llvm::SmallVectorImpl<Type> &types) {
  auto type = cast<RankedTensorType>(adaptor.getX().getType());
  int64_t begin = adaptor.getBegin(), end = adaptor.getEnd();
  if (begin < 0 || begin >= end || end > type.getDimSize(1)) // C1
    return emitOptionalError(location, "expected columns of ", type, ", got ",
                             begin, " to ", end);
  types.push_back(type.clone({type.getDimSize(0), end - begin}));
  return success();
}

LogicalResult ColumnsOp::verify() {
  if (getX().getDefiningOp<ColumnsOp>()) // C2
    return emitOpError("expected columns of what is no view itself");
  return success();
}

LogicalResult ReshapeOp::verify() {
  if (elementsOf(getX()) != elementsOf(getResult())) // C1
    return emitOpError("expected equal numbers of elements, got ")
           << getX().getType() << " and " << getType();
  if (getElementTypeOrSelf(getX()) != getElementTypeOrSelf(getType())) // C2
    return emitOpError("expected numbers of one type, got ")
           << getX().getType() << " and " << getType();
  if (getX().getDefiningOp<ColumnsOp>()) // C3
    return emitOpError("expected what is no view of columns");
  return success();
}

KernelAttrInterface EmbedOp::makeKernel() {
  return EmbedKernelAttr::get(
      getContext(),
      {.width = columnsOf(getY()),
       .vocab = int64_t(getPanelRows().value_or(shapeOf(getTable()).front())),
       .format = getFormat(),
       .panels = getPanelRows().has_value(),
       .scale = getScaleAttr()});
}

bool EmbedOp::readsAnyRow(size_t index) {
  return getOperand(index) == getTable();
}

Value EmbedOp::getPackedWeight() { return getTable(); }

KernelAttrInterface MaskFirstOp::makeKernel() {
  return MaskFirstKernelAttr::get(getContext(), {.width = columnsOf(getY())});
}

//===----------------------------------------------------------------------===//
// RmsNormOp
//===----------------------------------------------------------------------===//

LogicalResult RmsNormOp::verify() {
  int64_t groups = getGroups(), width = columnsOf(getX());
  if (groups < 1 || width % groups != 0) // C2
    return emitOpError("expected groups that divide ")
           << width << " columns, got " << groups;
  return success();
}

KernelAttrInterface RmsNormOp::makeKernel() {
  ColumnView x = viewOf(getX());
  int64_t groups = getGroups();
  return RmsNormKernelAttr::get(getContext(), {.width = x.width / groups,
                                               .groups = groups,
                                               .eps = getEpsAttr(),
                                               .offset = int64_t(getOffset()),
                                               .x_stride = x.stride,
                                               .y_stride = x.width});
}

bool RmsNormOp::readsAnyRow(size_t index) {
  return getOperand(index) == getWeight();
}

KernelAttrInterface RoundRowsOp::makeKernel() {
  ColumnView x = viewOf(getX());
  return RoundRowsKernelAttr::get(getContext(), {.width = x.width,
                                                 .norm = bool(getNorm()),
                                                 .eps = getEpsAttr(),
                                                 .offset = int64_t(getOffset()),
                                                 .x_stride = x.stride});
}

bool RoundRowsOp::readsAnyRow(size_t index) {
  return getOperand(index) == getNorm();
}

KernelAttrInterface AddBiasOp::makeKernel() {
  ColumnView x = viewOf(getX());
  return AddBiasKernelAttr::get(
      getContext(),
      {.width = x.width, .x_stride = x.stride, .y_stride = x.width});
}

bool AddBiasOp::readsAnyRow(size_t index) {
  return getOperand(index) == getBias();
}

//===----------------------------------------------------------------------===//
// Pairs and copies
//===----------------------------------------------------------------------===//

template <typename KernelT, typename OpT>
static KernelAttrInterface makePair(OpT op) {
  int64_t width = columnsOf(op.getY());
  return KernelT::get(op.getContext(), {.width = width,
                                        .a_stride = viewOf(op.getA()).stride,
                                        .b_stride = viewOf(op.getB()).stride,
                                        .y_stride = width});
}

KernelAttrInterface AddOp::makeKernel() {
  return makePair<AddKernelAttr>(*this);
}

KernelAttrInterface SwigluOp::makeKernel() {
  return makePair<SwigluKernelAttr>(*this);
}

KernelAttrInterface GegluTanhOp::makeKernel() {
  return makePair<GegluTanhKernelAttr>(*this);
}

KernelAttrInterface SiluOp::makeKernel() {
  ColumnView x = viewOf(getX());
  return SiluKernelAttr::get(
      getContext(),
      {.width = x.width, .x_stride = x.stride, .y_stride = x.width});
}

LogicalResult ConcatOp::verify() {
  int64_t width = columnsOf(getA()) + columnsOf(getB());
  if (columnsOf(getY()) != width) // C2
    return emitOpError("expected ")
           << width << " columns of the result, got " << getY().getType();
  return success();
}

KernelAttrInterface ConcatOp::makeKernel() {
  ColumnView a = viewOf(getA()), b = viewOf(getB());
  return ConcatKernelAttr::get(getContext(), {.a_width = a.width,
                                              .b_width = b.width,
                                              .a_stride = a.stride,
                                              .b_stride = b.stride});
}

KernelAttrInterface CopyOp::makeKernel() {
  ColumnView x = viewOf(getX());
  return CopyColsKernelAttr::get(
      getContext(),
      {.width = x.width, .x_stride = x.stride, .y_stride = x.width});
}

KernelAttrInterface GatherRowsOp::makeKernel() {
  return GatherRowsKernelAttr::get(getContext(),
                                   {.width = columnsOf(getResult())});
}

llvm::SmallVector<Count> GatherRowsOp::getKernelParams() {
  return {rowsOf(getResult()), rowsOf(getX())};
}

//===----------------------------------------------------------------------===//
// PackOp and UnpackRowsOp
//===----------------------------------------------------------------------===//

static bool isMask(Value value) {
  return getElementTypeOrSelf(value).isInteger(64);
}

LogicalResult PackOp::verify() {
  auto isPacked = [](auto pair) {
    auto [number, result] = pair;
    return getElementTypeOrSelf(number) == getElementTypeOrSelf(result);
  };
  bool fits =
      getNumbers().size() == getPackedNumbers().size() &&
      llvm::all_of(llvm::zip(getNumbers(), getPackedNumbers()), isPacked) &&
      llvm::is_sorted(llvm::map_to_vector(getNumbers(), isMask));
  if (!fits) // C2
    return emitOpError("expected each of ")
           << getNumbers().getTypes() << " to be packed, i32 before i64, got "
           << getPackedNumbers().getTypes();
  auto have = [](ValueRange values, Value like) {
    return llvm::all_of(
        values, [&](Value value) { return rowsOf(value) == rowsOf(like); });
  };
  if (!have(getNumbers(), getPositions()) ||
      !have(getPackedNumbers(), getPacked())) // C1
    return emitOpError("expected numbers of ")
           << rowsOf(getPositions()) << " and, packed, of "
           << rowsOf(getPacked()) << " rows, got " << getNumbers().getTypes()
           << " and " << getPackedNumbers().getTypes();
  if (rowsOf(getLive()) != 1) // C3
    return emitOpError("expected one number of rows, got ")
           << getLive().getType();
  return success();
}

KernelAttrInterface PackOp::makeKernel() {
  int64_t masks = llvm::count_if(getNumbers(), isMask);
  return PackRowsKernelAttr::get(
      getContext(),
      {.numbers = int64_t(getNumbers().size()) - masks, .masks = masks});
}

llvm::SmallVector<Count> PackOp::getKernelParams() {
  return {rowsOf(getPlaces()), rowsOf(getPacked())};
}

/// Returns whether lists of numbers have equal element types, masks last.
static bool areAlike(ValueRange a, ValueRange b) {
  auto isSame = [](auto pair) {
    auto [x, y] = pair;
    return getElementTypeOrSelf(x) == getElementTypeOrSelf(y);
  };
  return a.size() == b.size() && llvm::all_of(llvm::zip(a, b), isSame) &&
         llvm::is_sorted(llvm::map_to_vector(a, isMask));
}

LogicalResult PackPromptsOp::verify() {
  ValueRange rows = getRows(), prompts = getPrompts(), packed = getPacked();
  if (rows.empty() || isMask(rows.front()) || !areAlike(rows, prompts) ||
      !areAlike(rows, packed)) // C2
    return emitOpError("expected each of ")
           << rows.getTypes() << " to be packed with one of prompts, i32 "
           << "before i64, got " << prompts.getTypes() << " and "
           << packed.getTypes();
  Count own = rowsOf(getPlaces()), theirs = rowsOf(getPromptPlaces());
  auto have = [](ValueRange values, Count count) {
    return llvm::all_of(values,
                        [&](Value value) { return rowsOf(value) == count; });
  };
  Count all = rowsOf(packed.front());
  if (!have(rows, own) || !have(prompts, theirs) || !have(packed, all) ||
      all.step < theirs.step ||
      (all.step == theirs.step && all.base <= theirs.base)) // C1
    return emitOpError("expected numbers of ")
           << own << " and " << theirs
           << " rows, and packed more than the latter, got " << rows.getTypes()
           << ", " << prompts.getTypes() << " and " << packed.getTypes();
  if (rowsOf(getLive()) != 1) // C3
    return emitOpError("expected one number of rows, got ")
           << getLive().getType();
  return success();
}

KernelAttrInterface PackPromptsOp::makeKernel() {
  int64_t masks = llvm::count_if(getRows(), isMask);
  return PackPromptsKernelAttr::get(
      getContext(),
      {.numbers = int64_t(getRows().size()) - 1 - masks, .masks = masks});
}

llvm::SmallVector<Count> PackPromptsOp::getKernelParams() {
  Count theirs = rowsOf(getPromptPlaces());
  return {rowsOf(getPlaces()), theirs,
          rowsOf(getPacked().front()) + theirs * -1};
}

LogicalResult UnpackRowsOp::verify() {
  auto from = cast<ShapedType>(getX().getType());
  auto to = cast<ShapedType>(getType());
  if (from.getElementType() != to.getElementType() ||
      from.getShape().drop_front() != to.getShape().drop_front()) // C3
    return emitOpError("expected rows as those of ") << from << ", got " << to;
  return success();
}

KernelAttrInterface UnpackRowsOp::makeKernel() {
  return UnpackRowsKernelAttr::get(
      getContext(),
      {.width = columnsOf(getResult()),
       .is_numbers = getElementTypeOrSelf(getResult()).isInteger()});
}

llvm::SmallVector<Count> UnpackRowsOp::getKernelParams() {
  return {rowsOf(getResult()), rowsOf(getX())};
}
