//===- ExecVocabularyKernels.cpp - Kinds over rows of logits --------------===//

#include "dialects/Exec/IR/KernelFamily.h"
#include "runtime/schema/SamplingLayout.h"

using namespace mlir;
using namespace mlir::exec;

template <typename KernelT>
static void describeRowNumber(ContractWriter &w, KernelT kernel) {
  w.rows(w.p0, kernel.getXStride(), kernel.getWidth()); // x
  w.words(w.p0).result();                               // y
}

void LogSumExpKernelAttr::describe(ContractWriter &w) const {
  describeRowNumber(w, *this);
}

void EntropyKernelAttr::describe(ContractWriter &w) const {
  describeRowNumber(w, *this);
}

void LogSoftmaxKernelAttr::describe(ContractWriter &w) const {
  w.rows(w.p0, getXStride(), getWidth()); // x
  w.words(w.p0 * getWidth()).result();    // y
}

void SampleKeysKernelAttr::describe(ContractWriter &w) const {
  w.words(w.p0 * getWidth()); // x
  w.words(w.p0 * getWidth()); // p
  if (getMapped())
    w.words(getWidth()); // tokens
  w.words(w.p0);         // slots
  w.words(w.p0);         // positions
  if (getNumbered())
    w.words(w.p0); // numbers
  w.words(Extent(w.limitOf("slots", getSlots())) *
          ::mtp::kSamplingWords);      // sampling
  w.words(w.p0 * getWidth()).result(); // keys
  w.words(w.p0).result();              // sums
}

void GatherColumnsKernelAttr::describe(ContractWriter &w) const {
  w.limit(1, 1, kMostParam);
  w.rows(getPacked() ? w.p1 : w.p0, getXStride(), getWidth()); // x
  if (getPacked())
    w.words(w.p0);                     // places
  w.words(w.p0 * getCount());          // columns
  w.words(w.p0 * getCount()).result(); // y
}

void TopKKernelAttr::describe(ContractWriter &w) const {
  w.rows(w.p0, getXStride(), getWidth()); // x
  if (getSummed())
    w.words(w.p0);                 // sums
  w.words(w.p0 * getK()).result(); // columns
  w.words(w.p0 * getK()).result(); // logs
}

void ProbabilitiesKernelAttr::describe(ContractWriter &w) const {
  w.limit(1, 1, kMostParam);
  w.words(w.p0 * getWidth()); // x
  w.words(w.p1);              // slots
  w.words(Extent(w.limitOf("slots", getSlots())) *
          ::mtp::kSamplingWords);      // sampling
  w.words(w.p0 * getWidth()).result(); // y
}

void MaskColumnsKernelAttr::describe(ContractWriter &w) const {
  int64_t words = llvm::divideCeil(uint64_t(getWidth()), 32);
  w.rows(w.p0, getXStride(), getWidth()); // x
  w.words(w.p0);                          // slots
  if (getChosen())
    w.words(w.p0);                                                     // at
  w.words(Extent(w.limitOf("slots", getSlots())) * getRows() * words); // state
  w.words(w.p0 * getWidth()).result();                                 // y
}

void SampleResidualKernelAttr::describe(ContractWriter &w) const {
  w.limit(1, 1, kMostParam);
  w.limit(2, 1, kMostParam);
  w.words(w.p1 * getWidth()); // p
  if (getPacked())
    w.words(w.p0 * getPacked()); // places
  if (getLess())
    w.words(w.p2 * getWidth()); // q
  if (getChosen())
    w.words(w.p0);        // at
  w.words(w.p0);          // uniforms
  w.words(w.p0).result(); // picks
}
