//===- FragmentProduct.cpp - Products on tensor cores ---------------------===//

#include "compiler/Codegen/GPU/FragmentProduct.h"

#include "compiler/Codegen/Rows/MathApprox.h"
#include "compiler/Codegen/Rows/RowNorm.h"
#include "runtime/schema/FragmentOrder.h"

using namespace mtp::codegen;
using Order = mtp::FragmentOrder;

/// Values of a row that a lane has of a chunk: they lie together.
static constexpr int64_t kLaneInputs = 8;
/// Chains of a sum of squares, as `emitInverseRms` has them in a row kernel.
static constexpr int64_t kChains = kRowThreads / kWarp;

bool mtp::codegen::hasFragments(const KernelConfig &config) {
  return config.flag("fragments");
}

int64_t mtp::codegen::fragmentBlocks(int64_t n, bool gated, bool isWide) {
  return llvm::divideCeil(gated ? n / 2 : n,
                          isWide ? Order::kOutputs : Order::kTileOutputs);
}

int64_t mtp::codegen::fragmentThreads(int64_t k) {
  return (k >= 16 * Order::kInputs ? 16 : kProductWarps) * kWarp;
}

FragmentProduct::FragmentProduct(GpuBuilder &kb, const PanelProductSpec &spec,
                                 bool isWide)
    : kb(kb), spec(spec), isWide(isWide) {
  sumsPlace = kb.shared(kb.warps() * height() * Order::kFragmentBytes);
  if (spec.normWeight)
    squaresPlace = kb.shared(kTileRows * kChains * 4);
  kb.needBlocksPerProcessor(2);
}

int64_t FragmentProduct::chunks() const { return spec.k / Order::kInputs; }

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

Value FragmentProduct::tilePointer(int64_t which) {
  int64_t panelBytes = chunks() * Order::kBlockBytes;
  if (isWide)
    return kb.at(kb.at(spec.weights, spec.panel, panelBytes),
                 which * Order::kTileBytes);
  Value panel = kb.at(spec.weights, kb.div(spec.panel, 2),
                      (spec.gated ? 2 : 1) * panelBytes);
  return kb.at(kb.at(panel, which * panelBytes), kb.rem(spec.panel, 2),
               Order::kTileBytes);
}

/// The fragments of a chunk, two of each tile.
Values FragmentProduct::loadChunk(Value chunk) {
  Values fragments;
  auto type = kb.vectorType(kb.i32Type(), 4);
  for (int64_t tile = 0; tile < height(); ++tile) {
    Value from = kb.at(tilePointer(tile), chunk, Order::kBlockBytes);
    from = kb.at(from, kb.laneOfWarp(), Order::kLaneBytes);
    for (int64_t i = 0; i < 2; ++i)
      fragments.push_back(
          kb.loadOwn(type, kb.at(from, i * Order::kFragmentBytes)));
  }
  return fragments;
}

Values FragmentProduct::loadChunkIf(Value chunk,
                                    llvm::function_ref<Values()> otherwise) {
  return kb.choose(
      kb.cmp(Cmp::LT, chunk, chunks()), [&] { return loadChunk(chunk); },
      otherwise);
}

Values FragmentProduct::loadFirst() {
  Values held;
  for (int64_t stage = 0; stage < stages(); ++stage) {
    Value chunk = kb.add(kb.warp(), stage * kb.warps());
    if ((stage + 1) * kb.warps() <= chunks())
      held.append(loadChunk(chunk));
    else
      held.append(loadChunkIf(chunk, [&] {
        Value none = kb.constant(kb.vectorType(kb.i32Type(), 4), 0);
        return Values(2 * height(), none);
      }));
  }
  return held;
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// Adds up the squares of the rows: a warp has a chain of a row. Behind it the
/// sums lie in `squaresPlace`, [row][chain].
void FragmentProduct::sumSquares(Value firstRow) {
  constexpr int64_t unroll = 8;
  int64_t rowsAtOnce = kb.warps() / kChains, terms = spec.k / kRowThreads;
  Value chain = kb.rem(kb.warp(), kb.integer(kChains));
  for (int64_t first = 0; first < kTileRows; first += rowsAtOnce) {
    Value place = kb.add(kb.div(kb.warp(), kChains), first);
    Value which = kb.add(firstRow, place);
    kb.ifThen(kb.cmp(Cmp::LT, which, spec.rows), [&] {
      Value from = kb.at(kb.at(spec.rowPointer(which), chain, kWarp * 4),
                         kb.laneOfWarp(), 4);
      auto add = [&](Value term, int64_t count, Value sum) {
        Values values;
        for (int64_t i = 0; i < count; ++i)
          values.push_back(
              kb.loadOwn(kb.f32Type(), kb.at(kb.at(from, term, kRowThreads * 4),
                                             i * kRowThreads * 4)));
        for (Value v : values)
          sum = kb.fma(v, v, sum);
        return sum;
      };
      int64_t whole = terms / unroll * unroll;
      Value sum = kb.forRange(kb.integer(0), kb.integer(whole), unroll,
                              {kb.f32(0)}, [&](Value term, ValueRange in) {
                                return Values{add(term, unroll, in[0])};
                              })[0];
      sum = add(kb.integer(whole), terms - whole, sum);
      if (int64_t rest = spec.k % kRowThreads / kWarp)
        sum = kb.choose(
            kb.cmp(Cmp::LT, chain, rest),
            [&] { return Values{add(kb.integer(terms), 1, sum)}; },
            [&] { return Values{sum}; })[0];
      sum = kb.reduceWarp({sum}, [&](ValueRange a, ValueRange b) {
        return Values{kb.add(a[0], b[0])};
      })[0];
      Value to = kb.at(kb.at(squaresPlace, place, kChains * 4), chain, 4);
      kb.storeOwn(sum, to, kb.cmp(Cmp::EQ, kb.laneOfWarp(), 0));
    });
  }
}

/// Finds the lane's row; behind the last one that one again, of which nothing
/// is stored.
void FragmentProduct::findRow(Value firstRow) {
  Value ofLane = kb.div(kb.laneOfWarp(), 4);
  Value last = kb.sub(spec.rows, 1);
  ofLane = kb.min(ofLane, kb.sub(last, firstRow));
  row = spec.rowPointer(kb.add(firstRow, ofLane));
  isAligned = kb.isAligned(row, 16);
  if (!spec.normWeight)
    return;
  sumSquares(firstRow);
  kb.sync();
  Value from = kb.at(squaresPlace, ofLane, kChains * 4);
  Value sum;
  for (int64_t i = 0; i < kChains; ++i) {
    Value part = kb.loadOwn(kb.f32Type(), kb.at(from, i * 4));
    sum = sum ? kb.add(sum, part) : part;
  }
  inverse = emitInverseOfSquares(kb, sum, spec.k, spec.eps);
}

/// Eight values that lie together; null `isAligned`: at a multiple of 16 bytes.
Values FragmentProduct::loadEight(Value from, Value isAligned) {
  auto inVectors = [&] {
    Values values;
    for (int64_t i = 0; i < kLaneInputs; i += 4) {
      Value four =
          kb.loadOwn(kb.vectorType(kb.f32Type(), 4), kb.at(from, i * 4));
      for (int64_t j = 0; j < 4; ++j)
        values.push_back(kb.element(four, j));
    }
    return values;
  };
  auto oneByOne = [&] {
    Values values;
    for (int64_t i = 0; i < kLaneInputs; ++i)
      values.push_back(kb.loadOwn(kb.f32Type(), kb.at(from, i * 4)));
    return values;
  };
  return isAligned ? kb.choose(isAligned, inVectors, oneByOne) : inVectors();
}

/// Where a lane's inputs of a chunk lie in a row.
static Value inputsOf(GpuBuilder &kb, Value row, Value chunk) {
  Value ofLane = kb.rem(kb.laneOfWarp(), kb.integer(4));
  return kb.at(kb.at(row, chunk, Order::kInputs * 4), ofLane, kLaneInputs * 4);
}

Values FragmentProduct::loadInputs(Value chunk) {
  return loadEight(inputsOf(kb, row, chunk), isAligned);
}

/// The words of a lane of a chunk's inputs, normed and rounded to bf16.
Values FragmentProduct::packInputs(Value chunk, ValueRange inputs) {
  Values values(inputs.begin(), inputs.end()), words;
  if (spec.normWeight)
    for (auto [value, weight] : llvm::zip(
             values, loadEight(inputsOf(kb, spec.normWeight, chunk), Value())))
      value = emitScaleByNorm(kb, value, inverse, weight, spec.normOffset);
  for (int64_t i = 0; i < kLaneInputs; i += 2)
    words.push_back(kb.packBF16(values[i], values[i + 1]));
  return words;
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

/// A warp's sums, [tile][4].
Values FragmentProduct::sumChunks(Values held) {
  int64_t perStage = 2 * height(), warps = kb.warps();
  Values state = held;
  state.append(loadInputs(kb.min(kb.warp(), kb.integer(chunks() - 1))));
  state.append(4 * height(), kb.f32(0));
  // Adds a chunk to `sums`, which follow its inputs in `in`.
  auto add = [&](Value chunk, ValueRange fragments, ValueRange in) {
    Values words = packInputs(chunk, in.take_front(kLaneInputs));
    Values out =
        loadInputs(kb.min(kb.add(chunk, warps), kb.integer(chunks() - 1)));
    for (int64_t tile = 0; tile < height(); ++tile) {
      Values sums(in.slice(kLaneInputs + 4 * tile, 4));
      for (int64_t i = 0; i < 2; ++i) {
        Values a;
        for (int64_t j = 0; j < 4; ++j)
          a.push_back(kb.element(fragments[2 * tile + i], j));
        sums = kb.multiplyTiles(a, ValueRange(words).slice(2 * i, 2), sums);
      }
      out.append(sums);
    }
    return out;
  };
  state = kb.forRange(
      kb.warp(), kb.integer(chunks()), warps * stages(), state,
      [&](Value first, ValueRange in) {
        Values next(in.begin(), in.end());
        int64_t heldCount = perStage * stages();
        for (int64_t stage = 0; stage < stages(); ++stage) {
          Value chunk = kb.add(first, stage * warps);
          Values fragments(next.begin() + stage * perStage,
                           next.begin() + (stage + 1) * perStage);
          Values rest(next.begin() + heldCount, next.end());
          rest = stage == 0 || isEven()
                     ? add(chunk, fragments, rest)
                     : kb.choose(
                           kb.cmp(Cmp::LT, chunk, chunks()),
                           [&] { return add(chunk, fragments, rest); },
                           [&] { return rest; });
          Values following = loadChunkIf(kb.add(chunk, warps * stages()),
                                         [&] { return fragments; });
          llvm::copy(following, next.begin() + stage * perStage);
          llvm::copy(rest, next.begin() + heldCount);
        }
        return next;
      });
  return Values(state.end() - 4 * height(), state.end());
}

/// Adds up the warps' sums in their order and stores the outputs.
void FragmentProduct::join(Value firstRow, ValueRange sums) {
  int64_t warpBytes = height() * Order::kFragmentBytes;
  Value to = kb.at(kb.at(sumsPlace, kb.warp(), warpBytes), kb.laneOfWarp(),
                   Order::kLaneBytes);
  for (int64_t tile = 0; tile < height(); ++tile)
    kb.storeOwn(kb.vectorOf(sums.slice(4 * tile, 4)),
                kb.at(to, tile * Order::kFragmentBytes));
  kb.sync();
  // Half a warp has the outputs of a tile, for one row.
  Value lane = kb.laneOfWarp(), output = kb.rem(lane, kb.integer(16));
  Value half = kb.div(lane, 16);
  Value ofTile = isWide ? kb.warp() : kb.add(kb.mul(kb.warp(), 2), half);
  Value holder =
      kb.add(kb.mul(kb.rem(output, kb.integer(8)), 4), kb.div(ofTile, 2));
  Value element =
      kb.add(kb.rem(ofTile, kb.integer(2)), kb.mul(kb.div(output, 8), 2));
  Value from = kb.at(kb.at(sumsPlace, holder, Order::kLaneBytes), element, 4);
  if (isWide)
    from = kb.at(from, half, Order::kFragmentBytes);
  int64_t lastWarp = isWide ? kTileRows : kTileRows / 2;
  auto total = [&](int64_t tile) {
    Value sum;
    for (int64_t warp = 0; warp < std::min(kb.warps(), chunks()); ++warp) {
      Value at = kb.at(from, warp * warpBytes + tile * Order::kFragmentBytes);
      Value part = kb.loadOwn(kb.f32Type(), at);
      sum = sum ? kb.add(sum, part) : part;
    }
    return sum;
  };
  Value which = kb.add(firstRow, ofTile);
  Value has = kb.bitAnd(kb.cmp(Cmp::LT, kb.warp(), lastWarp),
                        kb.cmp(Cmp::LT, which, spec.rows));
  kb.ifThen(has, [&] {
    Value result = total(0);
    if (spec.gated)
      result = kb.mul(emitSilu(kb, result), total(1));
    Value column =
        isWide ? kb.add(kb.mul(spec.panel, Order::kOutputs), lane)
               : kb.add(kb.mul(spec.panel, Order::kTileOutputs), output);
    int64_t outputs = spec.gated ? spec.n / 2 : spec.n;
    spec.store({which, column, result, kb.cmp(Cmp::LT, column, outputs)});
  });
}

void FragmentProduct::emitTile(Value firstRow, Values first) {
  findRow(firstRow);
  join(firstRow, sumChunks(first));
}
