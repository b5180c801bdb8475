//===- FragmentProduct.cpp - Products on tensor cores ---------------------===//

#include "compiler/Codegen/GPU/products/FragmentProduct.h"

#include "compiler/Codegen/GPU/products/PreparedInputs.h"
#include "compiler/Codegen/Rows/MathApprox.h"

using namespace mtp::codegen;
using Order = mtp::FragmentOrder;

/// Semantic: row tiles of the passes over 8, 16 and 32 rows.
static constexpr int64_t kRowTiles[] = {1, 2, 4};
/// Bytes of the sums of a tile of outputs and a tile of rows, of a lane and of
/// a warp.
static constexpr int64_t kLaneSums = 16, kWarpSums = kWarp * kLaneSums;

int64_t mtp::codegen::fragmentBlocks(int64_t n, bool gated, bool isWide) {
  return llvm::divideCeil(gated ? n / 2 : n,
                          isWide ? Order::kOutputs : Order::kTileOutputs);
}

FragmentProduct::FragmentProduct(GpuBuilder &kb, const PanelProductSpec &spec,
                                 bool isWide)
    : kb(kb), spec(spec), isWide(isWide), shape{spec.format, spec.k},
      weights(kb, shape), places(RowPlaces::get(kb, spec)) {
  bool keepsTotals = false;
  for (int64_t rowTiles : kRowTiles) {
    FragmentPass pass = passOf(rowTiles);
    int64_t rowBytes = spec.prepared ? 0 : FragmentRows::bytes(shape, pass);
    areaBytes =
        std::max({areaBytes, rowBytes, pass.height * rowTiles * kWarpSums});
    keepsTotals |= pass.height < height();
  }
  areaBytes = llvm::alignTo(areaBytes, 16);
  // The number of active rows takes a register while tiles are multiplied,
  // which values computed from params do not. With a norm, no register is left.
  if (readsActive() && spec.normWeight) {
    places.countAt = areaBytes;
    areaBytes += 16;
  }
  areas = kb.shared(kb.warps() * areaBytes);
  ownArea = kb.at(areas, kb.warp(), areaBytes);
  if (keepsTotals)
    totals = kb.shared(height() * kFragmentRows * Order::kTileOutputs * 4);
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

/// Loads a chunk of the pass's tiles, from `tile` on.
Values FragmentProduct::loadChunk(const FragmentPass &pass, Value tile,
                                  Value chunk) {
  int64_t panelBytes = shape.panelBytes();
  Values held;
  for (int64_t i = 0; i < pass.height; ++i) {
    Value which = kb.add(tile, i);
    if (isWide) {
      Value panel = kb.at(spec.weights, spec.panel, panelBytes);
      held.append(weights.load(panel, which, chunk));
      continue;
    }
    Value panel = kb.at(spec.weights, kb.div(spec.panel, 2),
                        (spec.gated ? 2 : 1) * panelBytes);
    if (spec.gated)
      panel = kb.at(panel, which, panelBytes);
    held.append(weights.load(panel, kb.rem(spec.panel, kb.integer(2)), chunk));
  }
  return held;
}

/// Loads the chunks of all stages.
Values FragmentProduct::loadFirst(const FragmentPass &pass, Value tile) {
  Values held;
  for (int64_t stage = 0; stage < pass.stages; ++stage) {
    Value chunk = kb.add(kb.warp(), stage * kb.warps());
    auto load = [&] { return loadChunk(pass, tile, chunk); };
    if ((stage + 1) * kb.warps() <= shape.chunks())
      held.append(load());
    else
      held.append(kb.choose(kb.cmp(Cmp::LT, chunk, shape.chunks()), load, [&] {
        Values none;
        for (int64_t i = 0; i < pass.height; ++i)
          none.append(weights.none());
        return none;
      }));
  }
  return held;
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

/// Adds the chunk whose rows are in `place` to the sums, [tile][row tile][4].
Values FragmentProduct::addChunk(const FragmentPass &pass, RowSource &rows,
                                 Value chunk, int64_t place, ValueRange held,
                                 ValueRange sums) {
  Values result(sums.begin(), sums.end());
  for (int64_t rowTile = 0; rowTile < pass.rowTiles; ++rowTile) {
    llvm::SmallVector<Values> operands = rows.operands(chunk, place, rowTile);
    Values scales;
    if (shape.isInteger())
      scales = rows.scales(chunk, place, rowTile);
    for (int64_t tile = 0; tile < pass.height; ++tile) {
      int64_t at = 4 * (tile * pass.rowTiles + rowTile);
      Values next =
          weights.multiply(held.slice(tile * weights.count(), weights.count()),
                           operands, scales, sums.slice(at, 4));
      llvm::copy(next, result.begin() + at);
    }
  }
  return result;
}

/// Returns the warp's sums of the tiles from `tile` on.
Values FragmentProduct::sumChunks(const FragmentPass &pass, Value tile,
                                  RowSource &rows, Values state) {
  int64_t warps = kb.warps(), perStage = pass.height * weights.count();
  int64_t heldCount = perStage * pass.stages;
  state.append(4 * pass.height * pass.rowTiles, kb.f32(0));
  auto round = [&](Value first, ValueRange in) {
    Values next(in.begin(), in.end());
    for (int64_t stage = 0; stage < pass.stages; ++stage) {
      Value chunk = kb.add(first, stage * warps);
      int64_t place = stage % pass.prepared;
      if (place == 0)
        rows.prepare(chunk);
      Values fragments(next.begin() + stage * perStage,
                       next.begin() + (stage + 1) * perStage);
      Values sums(next.begin() + heldCount, next.end());
      auto add = [&] {
        return addChunk(pass, rows, chunk, place, fragments, sums);
      };
      if (stage == 0 || isEven(pass))
        sums = add();
      else
        sums = kb.choose(kb.cmp(Cmp::LT, chunk, shape.chunks()), add,
                         [&] { return sums; });
      Value following = kb.add(chunk, warps * pass.stages);
      Values loaded = kb.choose(
          kb.cmp(Cmp::LT, following, shape.chunks()),
          [&] { return loadChunk(pass, tile, following); },
          [&] { return fragments; });
      llvm::copy(loaded, next.begin() + stage * perStage);
      llvm::copy(sums, next.begin() + heldCount);
    }
    return next;
  };
  state = kb.forRange(kb.warp(), kb.integer(shape.chunks()),
                      warps * pass.stages, state, round);
  return Values(state.begin() + heldCount, state.end());
}

//===----------------------------------------------------------------------===//
// Joining
//===----------------------------------------------------------------------===//

/// Stores a warp's sums over its rows, which are no longer needed.
void FragmentProduct::storeSums(const FragmentPass &pass, ValueRange sums) {
  kb.syncWarp();
  Value to = kb.at(ownArea, kb.laneOfWarp(), kLaneSums);
  for (int64_t i = 0; i < pass.height * pass.rowTiles; ++i)
    kb.storeOwn(kb.vectorOf(sums.slice(4 * i, 4)), kb.at(to, i * kWarpSums));
}

/// Returns the sum over all warps, in order, of an output. `tile` counts from
/// the first tile whose sums are stored.
Value FragmentProduct::total(const FragmentPass &pass, Value tile, Value row,
                             Value output) {
  Value ofTile = kb.rem(row, kb.integer(kRowTile));
  Value holder =
      kb.add(kb.mul(kb.rem(output, kb.integer(8)), 4), kb.div(ofTile, 2));
  Value element =
      kb.add(kb.rem(ofTile, kb.integer(2)), kb.mul(kb.div(output, 8), 2));
  Value from =
      kb.at(kb.at(areas, kb.div(row, kRowTile), kWarpSums), holder, kLaneSums);
  from = kb.at(kb.at(from, element, 4), tile, pass.rowTiles * kWarpSums);
  Value sum;
  for (int64_t warp = 0; warp < std::min(kb.warps(), shape.chunks()); ++warp) {
    Value part = kb.loadOwn(kb.f32Type(), kb.at(from, warp * areaBytes));
    sum = sum ? kb.add(sum, part) : part;
  }
  return sum;
}

Value FragmentProduct::keptPlace(Value tile, Value row, Value output) {
  Value from = kb.at(totals, tile, kFragmentRows * Order::kTileOutputs * 4);
  return kb.at(kb.at(from, row, Order::kTileOutputs * 4), output, 4);
}

/// Keeps the totals of a tile while the next one is multiplied.
void FragmentProduct::keepTotals(const FragmentPass &pass, Value tile) {
  int64_t all = pass.rowTiles * kRowTile * Order::kTileOutputs;
  kb.forRange(kb.thread(), kb.integer(all), kb.threads(), [&](Value place) {
    Value row = kb.div(place, Order::kTileOutputs);
    Value output = kb.rem(place, kb.integer(Order::kTileOutputs));
    kb.storeOwn(total(pass, kb.integer(0), row, output),
                keptPlace(tile, row, output));
  });
}

/// Stores outputs. Half a warp has the outputs of one tile for one row, or a
/// whole warp has the outputs of both tiles.
void FragmentProduct::storeOutputs(const FragmentPass &pass, Value firstRow,
                                   Value all) {
  int64_t rows = pass.rowTiles * kRowTile;
  int64_t atOnce = isWide ? kb.warps() : 2 * kb.warps();
  bool isKept = pass.height < height();
  Value lane = kb.laneOfWarp();
  Value output = kb.rem(lane, kb.integer(Order::kTileOutputs));
  Value half = kb.div(lane, Order::kTileOutputs);
  auto tileOf = [&](Value tile, Value row) {
    return isKept ? kb.loadOwn(kb.f32Type(), keptPlace(tile, row, output))
                  : total(pass, tile, row, output);
  };
  auto resultOf = [&](Value row) {
    if (isWide)
      return tileOf(half, row);
    Value result = tileOf(kb.integer(0), row);
    if (!spec.gated)
      return result;
    return emitGated(kb, spec.activation, result, tileOf(kb.integer(1), row));
  };
  Value column = isWide
                     ? kb.add(kb.mul(spec.panel, Order::kOutputs), lane)
                     : kb.add(kb.mul(spec.panel, Order::kTileOutputs), output);
  Value isColumn = kb.cmp(Cmp::LT, column, spec.gated ? spec.n / 2 : spec.n);
  auto storeFrom = [&](Value first) {
    Value row =
        kb.add(first, isWide ? kb.warp() : kb.add(kb.mul(kb.warp(), 2), half));
    Value which = kb.add(firstRow, row);
    Value has =
        kb.bitAnd(kb.cmp(Cmp::LT, row, rows), kb.cmp(Cmp::LT, which, all));
    kb.ifThen(has,
              [&] { spec.store({which, column, resultOf(row), isColumn}); });
  };
  if (rows <= atOnce)
    return storeFrom(kb.integer(0));
  kb.forRange(kb.integer(0), kb.integer(rows), atOnce, storeFrom);
}

//===----------------------------------------------------------------------===//
// The block
//===----------------------------------------------------------------------===//

/// Computes the sums of all tiles, or their totals if the tiles are multiplied
/// one after another.
void FragmentProduct::sumTiles(const FragmentPass &pass, RowSource &rows,
                               const Values &held) {
  auto sumTile = [&](Value tile, const Values &first) {
    storeSums(pass, sumChunks(pass, tile, rows, first));
    kb.sync();
  };
  if (pass.height == height())
    return sumTile(kb.integer(0), held);
  kb.forRange(kb.integer(0), kb.integer(height()), 1, held,
              [&](Value tile, ValueRange in) {
                sumTile(tile, Values(in));
                Value last = kb.integer(height() - 1);
                Values next = loadFirst(pass, kb.min(kb.add(tile, 1), last));
                keepTotals(pass, tile);
                kb.sync();
                return next;
              });
}

std::unique_ptr<RowSource> FragmentProduct::rowsOf(const FragmentPass &pass) {
  if (spec.prepared)
    return std::make_unique<PreparedInputs>(kb, spec, pass);
  return std::make_unique<FragmentRows>(kb, spec, shape, pass, places, ownArea);
}

void FragmentProduct::emitPass(const FragmentPass &pass, Value firstRow,
                               Wait wait) {
  Values held = loadFirst(pass, kb.integer(0));
  wait([&](Value all) {
    std::unique_ptr<RowSource> rows = rowsOf(pass);
    Value count =
        kb.min(kb.sub(all, firstRow), kb.integer(pass.rowTiles * kRowTile));
    if (readsActive())
      count = kb.extendUnsigned(kb.truncate(count, kb.i32Type()), kb.i64Type());
    rows->find(firstRow, count);
    sumTiles(pass, *rows, held);
    // The number of active rows is read again, so that it takes no register
    // meanwhile.
    storeOutputs(pass, firstRow, readsActive() ? kb.loadRows() : all);
  });
}

void FragmentProduct::emitTile(Value firstRow, Wait wait) {
  Value count = kb.sub(spec.rows, firstRow);
  auto emit = [&](int64_t rowTiles) {
    emitPass(passOf(rowTiles), firstRow, wait);
  };
  kb.ifElse(
      kb.cmp(Cmp::LE, count, kRowTile), [&] { emit(1); },
      [&] {
        kb.ifElse(
            kb.cmp(Cmp::LE, count, 2 * kRowTile), [&] { emit(2); },
            [&] { emit(4); });
      });
}
