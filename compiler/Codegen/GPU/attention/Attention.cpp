//===- Attention.cpp - Kinds of attention on a GPU ------------------------===//
//
// A block has one row and a tile of query heads. If a kernel leaves the splits
// of the positions unjoined, a block also has one split. Every kernel that
// works in splits adds up each split from zero and joins the splits in order.
// So a row has the same bits whichever kernel joins them.
//
//===----------------------------------------------------------------------===//

#include "compiler/Codegen/GPU/Kernels.h"
#include "compiler/Codegen/GPU/attention/AttentionCombine.h"
#include "compiler/Codegen/GPU/attention/AttentionLanes.h"
#include "compiler/Codegen/GPU/attention/AttentionTensorKinds.h"

using namespace mtp;
using namespace mtp::codegen;
using namespace mlir;

static int64_t tilesOf(const AttentionShape &shape) {
  return shape.heads / LanesDivision(shape).tile;
}

template <typename KernelT>
static GpuLaunch launchAttention(KernelT kernel) {
  AttentionShape shape{AttentionParams(kernel)};
  if (TensorDivision::fits(shape))
    return launchTensor(shape);
  int64_t splits = shape.leavesSplits ? shape.splits : 1;
  return {tilesOf(shape) * splits, 1, LanesDivision::threads,
          /*blocksPerProcessor=*/1};
}

template <typename KernelT>
static LogicalResult verifyAttention(KernelT kernel, EmitError emitError) {
  AttentionShape shape{AttentionParams(kernel)};
  if (TensorDivision::fits(shape))
    return verifyLeft(shape, emitError);
  int64_t bytes = LanesDivision(shape).sharedBytes(shape);
  if (bytes > LanesDivision::sharedLimit)
    return emitError() << "expected heads that need at most "
                       << LanesDivision::sharedLimit
                       << " bytes of shared memory, got " << bytes;
  return verifyLeft(shape, emitError);
}

/// Adds up all splits of a row, one after another, and stores the results.
static void emitJoined(GpuBuilder &kb, const AttentionShape &shape,
                       AttentionLanes &lanes, const AttentionView &view,
                       Value y) {
  const LanesDivision &division = lanes.getDivision();
  Value split = kb.integer(shape.split);
  Value head = kb.min(kb.thread(), kb.integer(division.tile - 1));
  SplitFactors factors(kb, division.tile);
  // Results of the thread, then the maximum and the total of its head.
  int64_t results = division.resultsPerThread;
  Values inits(results + 2, kb.f32(0));
  Value first = kb.div(view.begin, split);
  Value end = kb.div(kb.add(view.end, shape.split - 1), split);
  Values sums =
      kb.forRange(first, end, 1, inits, [&](Value number, ValueRange in) {
        Value from = kb.mul(number, split);
        Values more = lanes.addUp(view, kb.max(view.begin, from),
                                  kb.min(view.end, kb.add(from, shape.split)));
        Value isFirst = kb.cmp(Cmp::EQ, number, first);
        SplitSums joined =
            joinSums(kb, {in[results], in[results + 1]},
                     {lanes.maximum(head), lanes.total(head)}, isFirst);
        factors.store(joined, head);
        Values next(in.begin(), in.end());
        next[results] = joined.most, next[results + 1] = joined.total;
        lanes.forEachResult([&](int64_t i, Value ofTile) {
          next[i] = kb.select(isFirst, more[i],
                              factors.join(next[i], more[i], ofTile));
        });
        return next;
      });
  lanes.setTotal(sums[results + 1], head);
  kb.sync();
  lanes.close(sums, y);
}

/// Emits attention or attention_tree. Buffers of attention: q, slots,
/// positions, page table, base of the layer's pages, y. Params: M, maxPages.
/// Buffers of attention_tree: q, slots, roots, page table, base of the layer's
/// pages, masks, y. Params: M, maxPages.
template <typename KernelT>
static void emitAttention(GpuBuilder &kb, KernelT kernel) {
  AttentionShape shape{AttentionParams(kernel)};
  bool tree = shape.isTree;
  if (TensorDivision::fits(shape))
    return emitTensorAttention(kb, shape, shape.scale, tree);
  AttentionLanes lanes(kb, shape, shape.scale);
  int64_t tile = lanes.getDivision().tile, tiles = shape.heads / tile;
  kb.begin();
  Value row = kb.div(kb.block(), tiles);
  Value head = kb.mul(kb.rem(kb.block(), kb.integer(tiles)), tile);
  AttentionView view(kb, shape, row, tree);
  Value q = kb.at(kb.buffer(0), row, shape.qStride * 4);
  lanes.open(kb.at(q, head, shape.dk * 4), head);
  Value y = kb.at(kb.buffer(tree ? 6 : 5), row, shape.yStride * 4);
  y = kb.at(y, head, shape.dv * 4);
  if (shape.split)
    return emitJoined(kb, shape, lanes, view, y);
  lanes.close(lanes.addUp(view, view.begin, view.end), y);
}

/// attention_split_kv: buffers and params of attention, with the sums of splits
/// in place of y.
static void emitSplits(GpuBuilder &kb,
                       exec::AttentionSplitKvKernelAttr kernel) {
  AttentionShape shape{AttentionParams(kernel)};
  if (TensorDivision::fits(shape))
    return emitTensorSplits(kb, shape, shape.scale);
  AttentionLanes lanes(kb, shape, shape.scale);
  int64_t tile = lanes.getDivision().tile, tiles = shape.heads / tile;
  kb.begin();
  Value row = kb.div(kb.block(), tiles * shape.splits);
  Value split = kb.rem(kb.div(kb.block(), tiles), kb.integer(shape.splits));
  Value head = kb.mul(kb.rem(kb.block(), kb.integer(tiles)), tile);
  AttentionView view(kb, shape, row, /*tree=*/false);
  Value from = kb.mul(split, shape.split);
  Value begin = kb.max(view.begin, from);
  Value end = kb.min(view.end, kb.add(from, shape.split));
  kb.ifThen(kb.cmp(Cmp::LT, begin, end), [&] {
    Value q = kb.at(kb.buffer(0), row, shape.qStride * 4);
    lanes.open(kb.at(q, head, shape.dk * 4), head);
    Values values = lanes.addUp(view, begin, end);
    Value splits =
        kb.at(kb.buffer(5), row, shape.splits * shape.splitStride * 4);
    Value left = kb.at(splits, split, shape.splitStride * 4);
    Value sums = kb.at(kb.at(left, shape.sumsAt() * 4), head, shape.dv * 4);
    lanes.forResults([&](int64_t i, Value ofTile, Value column) {
      Value to = kb.at(kb.at(sums, ofTile, shape.dv * 4), column, 4);
      kb.storeOwn(values[i], to);
    });
    kb.ifThen(kb.cmp(Cmp::LT, kb.thread(), tile), [&] {
      Value to = kb.at(left, kb.add(head, kb.thread()), 4);
      kb.storeOwn(lanes.maximum(kb.thread()), kb.at(to, shape.maximaAt() * 4));
      kb.storeOwn(lanes.total(kb.thread()), kb.at(to, shape.totalsAt() * 4));
    });
  });
}

/// Returns the entry of a kind that attends to all positions of a row.
template <typename KernelT>
static GpuEmitter attentionEmitter() {
  return gpuEmitter<KernelT>(launchAttention, emitAttention, verifyAttention);
}

static const GpuEmitter kinds[] = {
    attentionEmitter<exec::AttentionKernelAttr>(),
    attentionEmitter<exec::AttentionTreeKernelAttr>(),
    gpuEmitter<exec::AttentionSplitKvKernelAttr>(launchAttention, emitSplits,
                                                 verifyAttention),
    gpuEmitter(launchJoin, emitJoin, verifyJoin)};

llvm::ArrayRef<GpuEmitter> codegen::gpuAttentionKernels() { return kinds; }
