//===- ExecRecurrenceKernels.cpp - Kinds of recurrences -------------------===//

#include "dialects/Exec/IR/KernelFamily.h"

using namespace mlir;
using namespace mlir::exec;

//===----------------------------------------------------------------------===//
// Gates
//===----------------------------------------------------------------------===//

void SigmoidKernelAttr::describe(ContractWriter &w) const {
  w.rows(w.p0, getXStride(), getWidth());          // x
  w.rows(w.p0, getYStride(), getWidth()).result(); // y
}

void SigmoidGateKernelAttr::describe(ContractWriter &w) const {
  w.rows(w.p0, getXStride(), getWidth());          // x
  w.rows(w.p0, getGateStride(), getGates());       // gates
  w.rows(w.p0, getYStride(), getWidth()).result(); // y
}

LogicalResult
SigmoidGateKernelAttr::verifyRules(KernelErrorFn emitError) const {
  if (getWidth() % getGates() != 0)
    return emitError() << "expected gates to divide the " << getWidth()
                       << " columns, got " << getGates();
  return success();
}

void L2NormKernelAttr::describe(ContractWriter &w) const {
  int64_t columns = getWidth() * getGroups();
  w.rows(w.p0, getXStride(), columns);          // x
  w.rows(w.p0, getYStride(), columns).result(); // y
}

void DecayKernelAttr::describe(ContractWriter &w) const {
  w.rows(w.p0, getXStride(), getWidth());          // x
  w.words(getWidth());                             // rates
  w.words(getWidth());                             // biases
  w.rows(w.p0, getYStride(), getWidth()).result(); // y
}

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

/// Returns the largest divisor of n that is `most` or less.
static int64_t divisorUpTo(int64_t n, int64_t most) {
  int64_t divisor = std::min(n, most);
  while (n % divisor != 0)
    --divisor;
  return divisor;
}

/// Describes the buffers of runs: slots, positions, pending and keeps.
static void describeRuns(ContractWriter &w) {
  for (int i = 0; i < 4; ++i)
    w.words(w.p0);
}

void CausalConvKernelAttr::describe(ContractWriter &w) const {
  w.rows(w.p0, getXStride(), getWidth()); // x
  w.words(getWindow() * getWidth());      // weight
  w.words(Extent(w.limitOf("slots", getSlots())) * getStateRows() * getWidth())
      .update(); // state
  describeRuns(w);
  w.rows(w.p0, getYStride(), getWidth()).result(); // y
}

int64_t CausalConvKernelAttr::getTaskColumns() const {
  return divisorUpTo(getWidth(), 256);
}

TaskShape CausalConvKernelAttr::getTasks() const {
  return {1, getWidth() / getTaskColumns()};
}

LogicalResult CausalConvKernelAttr::verifyRules(KernelErrorFn emitError) const {
  if (getWindow() < 2)
    return emitError() << "expected window to be at least 2, got "
                       << getWindow();
  return success();
}

void DeltaRuleKernelAttr::describe(ContractWriter &w) const {
  int64_t heads = getHeads(), keyWidth = getKeyHeads() * getDk();
  w.rows(w.p0, getQStride(), keyWidth);        // q
  w.rows(w.p0, getKStride(), keyWidth);        // k
  w.rows(w.p0, getVStride(), heads * getDv()); // v
  w.words(w.p0 * (heads * getDecays()));       // decays
  w.words(w.p0 * heads);                       // betas
  Extent slots(w.limitOf("slots", getSlots()));
  w.words(slots * heads * getDk() * getDv()).update();  // memory
  w.words(slots * getKept() * getKeptWidth()).update(); // kept rows
  describeRuns(w);
  w.rows(w.p0, getYStride(), heads * getDv()).result(); // y
}

TaskShape DeltaRuleKernelAttr::getTasks() const { return {1, getHeads()}; }

/// The shared memory that a GPU's block has without opting in to more.
static constexpr int64_t kTileBytes = 48 << 10;

int64_t DeltaRuleKernelAttr::getTileColumns() const {
  return divisorUpTo(getDv(), kTileBytes / (4 * getDk()));
}

LogicalResult DeltaRuleKernelAttr::verifyRules(KernelErrorFn emitError) const {
  if (getHeads() % getKeyHeads() != 0)
    return emitError() << "expected heads to be a multiple of key_heads "
                       << getKeyHeads() << ", got " << getHeads();
  if (getDecays() != 1 && getDecays() != getDk())
    return emitError() << "expected decays to be 1 or dk " << getDk()
                       << ", got " << getDecays();
  if (getDk() > kTileBytes / 4)
    return emitError() << "expected dk to be at most " << kTileBytes / 4
                       << ", got " << getDk();
  return success();
}
