//===- ExecExpertKernels.cpp - Kinds of experts --------------------------===//

#include "dialects/Exec/IR/KernelFamily.h"

using namespace mlir;
using namespace mlir::exec;

//===----------------------------------------------------------------------===//
// Between router and products
//===----------------------------------------------------------------------===//

void MoeRouteKernelAttr::describe(ContractWriter &w) const {
  int64_t experts = getExperts(), topK = getTopK();
  w.rows(w.p0, getXStride(), experts); // logits
  if (getBias())
    w.words(experts);            // bias
  w.words(w.p0 * topK).result(); // experts
  w.words(w.p0 * topK).result(); // weights
}

LogicalResult MoeRouteKernelAttr::verifyRules(KernelErrorFn emitError) const {
  int64_t experts = getExperts(), groups = getNGroup(), best = getKeptGroups();
  if (getTopK() > experts)
    return emitError() << "expected top_k to be at most the " << experts
                       << " experts, got " << getTopK();
  if (experts % groups != 0)
    return emitError() << "expected n_group to divide the " << experts
                       << " experts, got " << groups;
  if (best > groups)
    return emitError() << "expected topk_group in [1, " << groups << "], got "
                       << best;
  if (getTopK() > experts / groups * best)
    return emitError() << "expected top_k to be at most the "
                       << experts / groups * best
                       << " experts of the kept groups, got " << getTopK();
  return success();
}

void MoePlanKernelAttr::describe(ContractWriter &w) const {
  w.words(w.p0);                      // positions
  w.words(w.p0 * getTopK());          // experts
  w.words(getExperts() + 1).result(); // where an expert's rows begin
  w.words(w.p0 * getTopK()).result(); // order
}

TaskShape MoePlanKernelAttr::getTasks() const { return {0, 1}; }

void MoeCombineKernelAttr::describe(ContractWriter &w) const {
  int64_t width = getWidth(), topK = getTopK();
  w.words(w.p0);                // positions
  w.words(w.p0 * topK);         // weights
  w.words(w.p0 * topK * width); // results of the experts
  for (bool isAdded : {getResidual(), getShared()})
    if (isAdded)
      w.words(w.p0 * width);
  w.words(w.p0 * width).result(); // y
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Describes the matrices of all experts, and the rows of each expert.
template <typename KernelT>
static void describeExperts(ContractWriter &w, KernelT kernel, int64_t n,
                            bool gated) {
  w.weight(kernel.getFormat(), kernel.getPanel(), kernel.getK(), n,
           kernel.getExperts(), gated);
  w.words(kernel.getExperts() + 1); // starts
  w.words(w.p0 * kernel.getTopK()); // order
}

void MoeGateUpKernelAttr::describe(ContractWriter &w) const {
  w.multiplied(w.p0, getXStride(), getK(), getFragments()); // x
  describeExperts(w, *this, 2 * getInter(), /*gated=*/true);
  w.words(w.p0 * getTopK() * getInter()).result(); // y
}

void MoeDownKernelAttr::describe(ContractWriter &w) const {
  w.multiplied(w.p0 * getTopK(), getK(), getK(), getFragments()); // x
  describeExperts(w, *this, getN(), /*gated=*/false);
  w.words(w.p0 * getTopK() * getN()).result(); // y
}

// Each task has one panel of all experts. The rows of an expert are not known
// beforehand, so dividing experts among workers would not balance.
TaskShape MoeGateUpKernelAttr::getTasks() const {
  return {0, panelCount(getInter(), getPanel())};
}

TaskShape MoeDownKernelAttr::getTasks() const {
  return {0, panelCount(getN(), getPanel())};
}

LogicalResult MoeGateUpKernelAttr::verifyRules(KernelErrorFn emitError) const {
  return verifyFragments(emitError, getFormat(), getK(), getFragments());
}

LogicalResult MoeDownKernelAttr::verifyRules(KernelErrorFn emitError) const {
  return verifyFragments(emitError, getFormat(), getK(), getFragments());
}
