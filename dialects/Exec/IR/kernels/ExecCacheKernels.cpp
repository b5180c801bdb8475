//===- ExecCacheKernels.cpp - Kinds that rotate and append ---------------===//

#include "dialects/Exec/IR/KernelFamily.h"

using namespace mlir;
using namespace mlir::exec;

void RopeKernelAttr::describe(ContractWriter &w) const {
  int64_t all = getHeads() * getHead();
  int64_t width = (getHeads() - 1) * getHead() + getCopied();
  w.rows(w.p0, strideOr(getXStride(), all), width); // x
  w.angles(getRotation(), getPositions());
  w.rows(w.p0, strideOr(getYStride(), all), width).result(); // y
}

LogicalResult RopeKernelAttr::verifyRules(KernelErrorFn emitError) const {
  return verifyRotated(emitError, getRotation(), getCopied(), "copy_width");
}

//===----------------------------------------------------------------------===//
// Appends
//===----------------------------------------------------------------------===//

void KvAppendKernelAttr::describe(ContractWriter &w) const {
  w.rows(w.p0, getXStride(), getWidth()); // x
  w.cache(entriesOf(*this, getEntry()), getSlots()).update();
}

LogicalResult KvAppendKernelAttr::verifyRules(KernelErrorFn emitError) const {
  CacheEntries cache = entriesOf(*this, getEntry());
  if (failed(verifyEntries(emitError, cache)))
    return failure();
  return verifyInEntry(emitError, cache, getEntryOffset(), getWidth(),
                       "entry_offset", "width");
}

/// Describes the keys and values of an entry; the keys are rotated.
template <typename KernelT>
static void describeEntry(ContractWriter &w, KernelT kernel) {
  w.rows(w.p0, kernel.getKStride(), kernel.getKeyWidth()); // k
  w.rows(w.p0, kernel.getVStride(), kernel.getVWidth());   // v
  w.angles(kernel.getRotation(), kernel.getPositions());
  w.cache(entriesOf(kernel, kernel.getEntry()), kernel.getSlots()).update();
}

void RopeKvAppendKernelAttr::describe(ContractWriter &w) const {
  describeEntry(w, *this);
}

void RopeQkvAppendKernelAttr::describe(ContractWriter &w) const {
  int64_t queries = getQHeads() * getHead();
  w.rows(w.p0, getQStride(), queries); // q
  describeEntry(w, *this);
  w.rows(w.p0, getYStride(), queries).result(); // y
}

template <typename KernelT>
static LogicalResult verifyRotatedEntry(KernelT kernel,
                                        KernelErrorFn emitError) {
  CacheEntries cache = entriesOf(kernel, kernel.getEntry());
  if (failed(verifyRotated(emitError, kernel.getRotation(), kernel.getHead(),
                           "head_stride")) ||
      failed(verifyEntries(emitError, cache)) ||
      failed(
          verifyEntryHeads(emitError, cache, kernel.getKHeads(), "k_heads")) ||
      failed(verifyInEntry(emitError, cache, kernel.getKOffset(),
                           kernel.getKeyWidth(), "k_offset",
                           "k_heads * head_stride")))
    return failure();
  return verifyInEntry(emitError, cache, kernel.getVOffset(),
                       kernel.getVWidth(), "v_offset", "v_width");
}

LogicalResult
RopeKvAppendKernelAttr::verifyRules(KernelErrorFn emitError) const {
  return verifyRotatedEntry(*this, emitError);
}

LogicalResult
RopeQkvAppendKernelAttr::verifyRules(KernelErrorFn emitError) const {
  return verifyRotatedEntry(*this, emitError);
}

/// Lists source and target positions of entries, an equal number for each slot.
void KvMoveKernelAttr::describe(ContractWriter &w) const {
  w.words(w.p0);        // slots
  w.words(w.p0 * w.p2); // from
  w.words(w.p0 * w.p2); // to
  w.pageTable(getSlots());
  w.pages(entriesOf(*this, getEntryWidth())).update();
  w.limit(2, 1, kMostParam);
}

LogicalResult KvMoveKernelAttr::verifyRules(KernelErrorFn emitError) const {
  return verifyEntries(emitError, entriesOf(*this, getEntryWidth()));
}
