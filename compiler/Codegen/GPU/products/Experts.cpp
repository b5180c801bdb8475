//===- Experts.cpp - Products of experts ----------------------------------===//
//
// A pair is (row, j), the j-th expert of a row, and has the number row * top_k
// + j. A block has a panel of an expert and goes over the expert's pairs, tile
// after tile. So it reads the expert's weights once, and not at all if the
// expert has no pair. The number of blocks covers the largest possible number
// of experts with pairs. Each block finds its expert among the experts that
// have pairs.
//
//===----------------------------------------------------------------------===//

#include "compiler/Codegen/GPU/products/Linear.h"

using namespace mtp::codegen;

template <typename KernelT>
static GpuLaunch expertLaunch(KernelT kernel) {
  ProductParams params = expertMatrix(kernel);
  int64_t blocks = matrixBlocks(params, /*isWide=*/false);
  return {kernel.getTopK() * blocks, /*rowsPerGroup=*/1, productThreads(params),
          blocksPerProcessor(params),
          /*mostBlocks=*/kernel.getExperts() * blocks};
}

namespace {

/// Expert of the block, and the range of sorted pairs that belong to it.
class ActiveExpert {
public:
  /// Finds the expert number `which` (i32) among the experts that have pairs,
  /// of which there are `pairs` in all. If there is no such expert, its range
  /// is empty. All threads of the block must call this.
  ActiveExpert(GpuBuilder &kb, int64_t experts, Value starts, Value pairs,
               Value which);

  Value expert, start, end;

private:
  Value startAt(Value index);
  /// Returns the number of threads before this one with `isActive`, and the
  /// number in all.
  std::pair<Value, Value> countActive(Value isActive);
  Value number(int64_t value) {
    return kb.constant(kb.i32Type(), double(value));
  }

  GpuBuilder &kb;
  Value starts, pairs, warpCounts;
};

} // namespace

Value ActiveExpert::startAt(Value index) {
  return startOfExpert(kb, starts, pairs, index);
}

std::pair<Value, Value> ActiveExpert::countActive(Value isActive) {
  Value votes = kb.ballot(isActive);
  Value lane = kb.truncate(kb.laneOfWarp(), kb.i32Type());
  Value below = kb.sub(kb.shiftLeft(number(1), lane), number(1));
  // Another warp may still read the previous counts.
  kb.sync();
  kb.storeOwn(kb.countOnes(votes), kb.at(warpCounts, kb.warp(), 4),
              kb.cmp(Cmp::EQ, kb.laneOfWarp(), 0));
  kb.sync();
  Value before = kb.countOnes(kb.bitAnd(votes, below)), all = number(0);
  for (int64_t warp = 0; warp < kb.warps(); ++warp) {
    Value count = kb.loadOwn(kb.i32Type(), kb.at(warpCounts, warp * 4));
    before = kb.select(kb.cmp(Cmp::GT, kb.warp(), warp), kb.add(before, count),
                       before);
    all = kb.add(all, count);
  }
  return {before, all};
}

ActiveExpert::ActiveExpert(GpuBuilder &kb, int64_t experts, Value starts,
                           Value pairs, Value which)
    : kb(kb), starts(starts), pairs(pairs),
      warpCounts(kb.shared(kb.warps() * 4)) {
  Value found = kb.shared(int64_t(3) * 4);
  Value isFirst = kb.cmp(Cmp::EQ, kb.thread(), 0);
  for (int64_t i = 0; i < 3; ++i)
    kb.storeOwn(number(0), kb.at(found, i * 4), isFirst);
  Value last = kb.integer(experts - 1);
  kb.forRange(kb.integer(0), kb.integer(experts), kb.threads(), {number(0)},
              [&](Value first, ValueRange in) {
                Value own = kb.add(first, kb.thread());
                Value index = kb.min(own, last);
                Value from = startAt(index), to = startAt(kb.add(index, 1));
                Value isActive = kb.bitAnd(kb.cmp(Cmp::LE, own, last),
                                           kb.cmp(Cmp::LT, from, to));
                auto [before, all] = countActive(isActive);
                Value isOurs = kb.bitAnd(
                    isActive, kb.cmp(Cmp::EQ, kb.add(in[0], before), which));
                for (auto [i, value] : llvm::enumerate(Values{index, from, to}))
                  kb.storeOwn(kb.truncate(value, kb.i32Type()),
                              kb.at(found, int64_t(i) * 4), isOurs);
                return Values{kb.add(in[0], all)};
              });
  kb.sync();
  auto foundAt = [&](int64_t i) {
    return kb.extend(kb.loadOwn(kb.i32Type(), kb.at(found, i * 4)),
                     kb.i64Type());
  };
  expert = foundAt(0);
  start = foundAt(1);
  end = foundAt(2);
}

/// Emits the product of all rows of `spec`, tile after tile.
static void emitTiles(GpuBuilder &kb, const PanelProductSpec &spec,
                      int64_t tileRows,
                      llvm::function_ref<void(Value)> emitTile) {
  kb.forRange(kb.integer(0), spec.rows, tileRows, [&](Value firstRow) {
    emitTile(firstRow);
    // The next tile overwrites the sums of this one.
    kb.sync();
  });
}

/// Multiplies the pairs of the block's expert as rows. Buffers: x, W, expert
/// start, pairs, y. Params: M.
template <typename KernelT>
static void emitExperts(GpuBuilder &kb, KernelT kernel) {
  int64_t yStride = expertColumns(kernel);
  ProductParams params = expertMatrix(kernel);
  PanelProductSpec spec = productSpec(params);
  kb.begin();
  int64_t panels = matrixBlocks(params, /*isWide=*/false);
  Value pairs = kb.buffer(3), y = kb.buffer(4);
  Value count = kb.mul(kb.param(0), kernel.getTopK());
  // Block numbers fit in 32 bits, which a GPU divides faster.
  Value block = kb.truncate(kb.block(), kb.i32Type());
  Value perExpert = kb.constant(kb.i32Type(), double(panels));
  ActiveExpert active(kb, kernel.getExperts(), kb.buffer(2), count,
                      kb.div(block, perExpert));
  Value start = active.start;
  auto pairAt = [&](Value row) {
    return pairOfExpert(kb, pairs, count, start, row);
  };
  auto rowPointer = [&](Value row) {
    return rowOfPair(kb, kernel, pairAt(row));
  };
  auto store = [&](const ProductOutput &output) {
    Value to = kb.at(y, pairAt(output.row), yStride * 4);
    kb.storeOwn(output.value, kb.at(to, output.column, 4), output.mask);
  };
  spec.weights = kb.at(kb.buffer(1), active.expert, productMatrixBytes(spec));
  spec.panel = kb.extend(kb.rem(block, perExpert), kb.i64Type());
  spec.rows = kb.sub(active.end, start);
  spec.rowPointer = rowPointer;
  spec.store = store;
  if (params.fragments) {
    FragmentProduct product(kb, spec, /*isWide=*/false);
    return emitTiles(kb, spec, kFragmentRows, [&](Value firstRow) {
      product.emitTile(firstRow, [&](auto body) { body(spec.rows); });
    });
  }
  std::unique_ptr<PanelProduct> product = PanelProduct::create(kb, spec);
  emitTiles(kb, spec, kTileRows, [&](Value firstRow) {
    product->emitTile(firstRow, spec.rows, product->loadFirst());
  });
}

static const GpuEmitter kinds[] = {gpuEmitter<exec::MoeGateUpKernelAttr>(
                                       expertLaunch, emitExperts, verifyOnGpu),
                                   gpuEmitter<exec::MoeDownKernelAttr>(
                                       expertLaunch, emitExperts, verifyOnGpu)};

llvm::ArrayRef<GpuEmitter> mtp::codegen::gpuExpertKernels() { return kinds; }
