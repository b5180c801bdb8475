//===- ExecRecurrenceOps.cpp - Layers with a recurrent state --------------===//

#include "dialects/Exec/IR/ExecOps.h"

using namespace mlir;
using namespace mlir::exec;

//===----------------------------------------------------------------------===//
// Gates
//===----------------------------------------------------------------------===//

KernelAttrInterface SigmoidOp::makeKernel() {
  ColumnView x = viewOf(getX());
  return SigmoidKernelAttr::get(
      getContext(),
      {.width = x.width, .x_stride = x.stride, .y_stride = x.width});
}

LogicalResult SigmoidGateOp::verify() {
  int64_t width = columnsOf(getX()), gates = columnsOf(getGate());
  if (width % gates != 0) // C2
    return emitOpError("expected gates that divide ")
           << width << " columns, got " << gates;
  return success();
}

KernelAttrInterface SigmoidGateOp::makeKernel() {
  ColumnView x = viewOf(getX()), gate = viewOf(getGate());
  return SigmoidGateKernelAttr::get(getContext(), {.width = x.width,
                                                   .gates = gate.width,
                                                   .x_stride = x.stride,
                                                   .gate_stride = gate.stride,
                                                   .y_stride = x.width});
}

LogicalResult L2NormOp::verify() {
  int64_t groups = getGroups(), width = columnsOf(getX());
  if (groups < 1 || width % groups != 0) // C2
    return emitOpError("expected groups that divide ")
           << width << " columns, got " << groups;
  return success();
}

KernelAttrInterface L2NormOp::makeKernel() {
  ColumnView x = viewOf(getX());
  int64_t groups = getGroups();
  return L2NormKernelAttr::get(getContext(), {.width = x.width / groups,
                                              .groups = groups,
                                              .eps = getEpsAttr(),
                                              .x_stride = x.stride,
                                              .y_stride = x.width});
}

KernelAttrInterface DecayOp::makeKernel() {
  ColumnView x = viewOf(getX());
  return DecayKernelAttr::get(getContext(), {.width = x.width,
                                             .x_stride = x.stride,
                                             .y_stride = x.width,
                                             .linear = getLinear()});
}

bool DecayOp::readsAnyRow(size_t index) { return getOperand(index) != getX(); }

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

/// Returns whether a state has `columns` columns and at least `rows` rows per
/// slot.
static bool hasRows(Value state, int64_t rows, int64_t columns) {
  llvm::ArrayRef<int64_t> shape = shapeOf(state);
  return shape.size() == 3 && shape[1] >= rows && shape[2] == columns;
}

LogicalResult CausalConvOp::verify() {
  int64_t width = columnsOf(getX()), window = getWindow();
  if (window < 2 ||
      ShapedType::getNumElements(shapeOf(getWeight())) != window * width) // C2
    return emitOpError("expected a window of at least 2 rows, and a "
                       "weight of window * ")
           << width << " elements, got " << window << " and "
           << getWeight().getType();
  if (!hasRows(getState(), window, width)) // C3
    return emitOpError("expected at least ")
           << window << " rows of " << width << " columns for a slot, got "
           << getState().getType();
  return success();
}

KernelAttrInterface CausalConvOp::makeKernel() {
  ColumnView x = viewOf(getX());
  int64_t window = getWindow();
  return CausalConvKernelAttr::get(
      getContext(), {.width = x.width,
                     .window = window,
                     .kept = shapeOf(getState())[1] - (window - 1),
                     .slots = rowLimitOf(getState()),
                     .x_stride = x.stride,
                     .y_stride = x.width});
}

/// Returns true: the first task of a run reads all rows of the run.
bool CausalConvOp::readsAnyRow(size_t) { return true; }

bool CausalConvOp::updatesOperand(size_t index) {
  return getOperand(index) == getState();
}

LogicalResult DeltaRuleOp::verify() {
  int64_t heads = columnsOf(getBeta()), keyHeads = getKeyHeads();
  int64_t keys = columnsOf(getK()), values = columnsOf(getV());
  int64_t decays = columnsOf(getDecay());
  bool isDivided = keyHeads >= 1 && heads % keyHeads == 0 &&
                   keys % keyHeads == 0 && values % heads == 0;
  if (!isDivided || columnsOf(getQ()) != keys ||
      (decays != heads && decays != heads * (keys / keyHeads))) // C2
    return emitOpError("expected a decay for each beta or for each of its "
                       "keys, betas that divide the columns of v, and "
                       "key_heads that divides them and the columns of q and "
                       "of k, got ")
           << decays << " decays, " << heads << " betas and " << keyHeads
           << " key_heads for " << columnsOf(getQ()) << ", " << keys << " and "
           << values << " columns";
  int64_t dk = keys / keyHeads, dv = values / heads;
  int64_t kept = heads * (dk + dv) + decays;
  if (!hasRows(getMemory(), heads * dk, dv) ||
      shapeOf(getMemory())[1] != heads * dk || !hasRows(getKept(), 1, kept) ||
      rowLimitOf(getMemory()) != rowLimitOf(getKept())) // C3
    return emitOpError("expected a state of ")
           << heads * dk << " rows of " << dv << " columns for each slot, and "
           << "kept rows of " << kept << ", got " << getMemory().getType()
           << " and " << getKept().getType();
  return success();
}

KernelAttrInterface DeltaRuleOp::makeKernel() {
  int64_t heads = columnsOf(getBeta()), keyHeads = getKeyHeads();
  ColumnView q = viewOf(getQ()), k = viewOf(getK()), v = viewOf(getV());
  return DeltaRuleKernelAttr::get(getContext(),
                                  {.heads = heads,
                                   .key_heads = keyHeads,
                                   .dk = k.width / keyHeads,
                                   .dv = v.width / heads,
                                   .kept = shapeOf(getKept())[1],
                                   .slots = rowLimitOf(getMemory()),
                                   .scale = getScaleAttr(),
                                   .decays = columnsOf(getDecay()) / heads,
                                   .q_stride = q.stride,
                                   .k_stride = k.stride,
                                   .v_stride = v.stride,
                                   .y_stride = v.width});
}

/// Returns true: the first task of a run reads all rows of the run.
bool DeltaRuleOp::readsAnyRow(size_t) { return true; }

bool DeltaRuleOp::updatesOperand(size_t index) {
  Value operand = getOperand(index);
  return operand == getMemory() || operand == getKept();
}
