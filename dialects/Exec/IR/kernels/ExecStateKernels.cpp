//===- ExecStateKernels.cpp - Kinds of slots' rows -----------------------===//

#include "dialects/Exec/IR/KernelFamily.h"

using namespace mlir;
using namespace mlir::exec;

/// Describes the state rows of all slots.
template <typename KernelT>
static BufferContract &describeState(ContractWriter &w, KernelT kernel) {
  w.limit(1, 1, kernel.getRows());
  return w.words(Extent(w.limitOf("slots", kernel.getSlots())) *
                 kernel.getRows() * kernel.getWidth()); // state
}

void ReadStateKernelAttr::describe(ContractWriter &w) const {
  w.words(w.p0); // slots
  describeState(w, *this);
  w.words(w.p0 * w.p1 * getWidth()).result(); // rows
}

void WriteStateKernelAttr::describe(ContractWriter &w) const {
  w.words(w.p0 * w.p1 * getWidth()); // x
  w.words(w.p0);                     // slots
  describeState(w, *this).update();
}

void WriteStateAtKernelAttr::describe(ContractWriter &w) const {
  w.words(w.p2 * getWidth()); // x
  w.words(w.p0 * w.p1);       // index
  w.words(w.p0);              // slots
  describeState(w, *this).update();
  w.limit(2, 1, kMostParam);
}

void ConcatRowsKernelAttr::describe(ContractWriter &w) const {
  w.limit(1, 1, kMostParam);
  w.limit(2, 1, kMostParam);
  w.words(w.p0 * w.p1 * getWidth());                   // heads
  w.words(w.p0 * w.p2 * getWidth());                   // tails
  w.words(w.p0 * (w.p1 + w.p2) * getWidth()).result(); // y
}
