//===- ExecAttentionKernels.cpp - Kinds of attention ----------------------===//

#include "dialects/Exec/IR/KernelFamily.h"

using namespace mlir;
using namespace mlir::exec;

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

/// Describes the query heads and a layer. Returns the width of the results.
template <typename KernelT>
static int64_t describeQueries(ContractWriter &w, KernelT kernel) {
  int64_t heads = kernel.getQHeads();
  w.rows(w.p0, kernel.getQStride(), heads * kernel.getDk()); // q
  w.cache(entriesOf(kernel, kernel.getEntryWidth()), kernel.getSlots());
  return heads * kernel.getDv();
}

void AttentionKernelAttr::describe(ContractWriter &w) const {
  int64_t width = describeQueries(w, *this);
  w.rows(w.p0, getYStride(), width).result(); // y
}

/// Describes the buffers. The positions are the positions of the windows' first
/// rows.
void AttentionTreeKernelAttr::describe(ContractWriter &w) const {
  int64_t width = describeQueries(w, *this);
  w.bytes(w.p0 * 8).alignment = 8;            // masks
  w.rows(w.p0, getYStride(), width).result(); // y
}

void AttentionSplitKvKernelAttr::describe(ContractWriter &w) const {
  describeQueries(w, *this);
  w.words(w.p0 * getSplits() * getSplitStride()).result(); // partial results
}

void AttentionCombineKernelAttr::describe(ContractWriter &w) const {
  w.words(w.p0);                                              // positions
  w.words(w.p0 * getSplits() * getSplitStride());             // partial results
  w.rows(w.p0, getYStride(), getQHeads() * getDv()).result(); // y
}

//===----------------------------------------------------------------------===//
// Tasks
//===----------------------------------------------------------------------===//

/// Returns the number of tiles of query heads of one row. A tile has the
/// largest number of heads, at most four, that divides a group, so that a task
/// reads each key once for all its heads. A row of a single tile of four heads
/// is split into two tiles.
static int64_t attentionTiles(int64_t heads, int64_t keyHeads) {
  int64_t group = std::max<int64_t>(heads / keyHeads, 1);
  int64_t tile = std::min<int64_t>(group, 4);
  while (group % tile != 0)
    --tile;
  if (heads == 4 && tile == 4)
    tile = 2;
  return heads / tile;
}

/// Returns a task for each group of eight rows and each tile.
TaskShape AttentionKernelAttr::getTasks() const {
  return {8, attentionTiles(getQHeads(), getKvHeads())};
}

/// Returns the tasks of plain attention.
TaskShape AttentionTreeKernelAttr::getTasks() const {
  return {8, attentionTiles(getQHeads(), getKvHeads())};
}

/// Returns one task for each group, tile and split of positions.
TaskShape AttentionSplitKvKernelAttr::getTasks() const {
  return {8, attentionTiles(getQHeads(), getKvHeads()) * getTasksPerTile()};
}

TaskShape AttentionCombineKernelAttr::getTasks() const {
  return {1, attentionTiles(getQHeads(), getKvHeads())};
}

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

/// Checks that heads divide into groups, and that a part begins and ends with a
/// block, independent of the target's vectors.
template <typename KernelT>
static LogicalResult verifySplits(KernelT kernel, KernelErrorFn emitError) {
  if (kernel.getQHeads() % kernel.getKvHeads() != 0)
    return emitError() << "expected q_heads to be a multiple of kv_heads "
                       << kernel.getKvHeads() << ", got " << kernel.getQHeads();
  if (kernel.getSplit() % 64 != 0)
    return emitError() << "expected split to be a multiple of 64, got "
                       << kernel.getSplit();
  return success();
}

/// Checks that keys and values have a scale each. Values may be the first
/// columns of a single key head; the other columns of the key then have the
/// second scale. Keys in pairs of columns belong to one scale.
template <typename KernelT>
static LogicalResult verifyScales(KernelT kernel, KernelErrorFn emitError) {
  int64_t heads = kernel.getKvHeads(), keys = heads * kernel.getDk();
  int64_t values = heads * kernel.getDv();
  int64_t k = kernel.getKOffset(), v = kernel.getVOffset();
  bool areApart = (k == 0 && v >= keys) || (v == 0 && k >= values);
  bool isLatent =
      k == 0 && v == 0 &&
      (keys == values || (heads == 1 && values < keys && values % 2 == 0));
  if (!hasScales(kernel.getDtype()) || areApart || isLatent)
    return success();
  return emitError() << "expected keys and values of i8 to be apart, one of "
                        "them at 0, or values of an even number of columns of "
                        "one key, got keys of "
                     << keys << " at " << k << " and values of " << values
                     << " at " << v;
}

template <typename KernelT>
static LogicalResult verifyAttention(KernelT kernel, KernelErrorFn emitError) {
  int64_t kvHeads = kernel.getKvHeads();
  CacheEntries cache = entriesOf(kernel, kernel.getEntryWidth());
  if (failed(verifySplits(kernel, emitError)) ||
      failed(verifyEntries(emitError, cache)) ||
      failed(verifyEntryHeads(emitError, cache, kvHeads, "kv_heads")) ||
      failed(verifyInEntry(emitError, cache, kernel.getKOffset(),
                           kvHeads * kernel.getDk(), "k_offset",
                           "kv_heads * dk")) ||
      failed(verifyScales(kernel, emitError)))
    return failure();
  return verifyInEntry(emitError, cache, kernel.getVOffset(),
                       kvHeads * kernel.getDv(), "v_offset", "kv_heads * dv");
}

LogicalResult AttentionKernelAttr::verifyRules(KernelErrorFn emitError) const {
  return verifyAttention(*this, emitError);
}

LogicalResult
AttentionTreeKernelAttr::verifyRules(KernelErrorFn emitError) const {
  return verifyAttention(*this, emitError);
}

LogicalResult
AttentionSplitKvKernelAttr::verifyRules(KernelErrorFn emitError) const {
  return verifyAttention(*this, emitError);
}

LogicalResult
AttentionCombineKernelAttr::verifyRules(KernelErrorFn emitError) const {
  return verifySplits(*this, emitError);
}
