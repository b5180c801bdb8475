//===- PanelProduct.cpp - Rows times a panel of weights, in a block -------===//

#include "compiler/Codegen/GPU/products/PanelProduct.h"

#include "compiler/Codegen/Rows/MathApprox.h"
#include "compiler/Codegen/Rows/RowNorm.h"

using namespace mtp::codegen;

PanelProductSpec mtp::codegen::productSpec(const ProductParams &params) {
  PanelProductSpec spec;
  spec.k = params.k;
  spec.n = params.n;
  spec.format = params.format;
  spec.gated = params.gated;
  spec.gathersRows = params.gathersRows;
  spec.activation = params.activation;
  spec.eps = params.eps;
  spec.normOffset = params.normOffset;
  return spec;
}

int64_t mtp::codegen::productPanels(int64_t n, bool gated) {
  return llvm::divideCeil(gated ? n / 2 : n, kWarp);
}

int64_t mtp::codegen::productPanelBytes(int64_t k, const WeightFormat &format) {
  return format.panelBytes(k, kWarp);
}

int64_t mtp::codegen::productMatrixBytes(const PanelProductSpec &spec) {
  return productPanels(spec.n, spec.gated) * (spec.gated ? 2 : 1) *
         productPanelBytes(spec.k, spec.format);
}

std::unique_ptr<PanelProduct>
PanelProduct::create(GpuBuilder &kb, const PanelProductSpec &spec) {
  return spec.format.isQuantized() ? createIntegerProduct(kb, spec)
                                   : createElementProduct(kb, spec);
}

PanelProduct::PanelProduct(GpuBuilder &kb, const PanelProductSpec &spec,
                           int64_t chunkInputs, int64_t stagedBytes,
                           int64_t stages, llvm::ArrayRef<int64_t> rowForms)
    : kb(kb), spec(spec), chunkInputs(chunkInputs),
      panelBytes(productPanelBytes(spec.k, spec.format)),
      stages(std::clamp<int64_t>(llvm::divideCeil(fullChunks(), kProductWarps),
                                 1, stages)),
      rowForms(rowForms) {
  assert(kb.warps() == kProductWarps && kTileRows == kProductWarps);
  staged =
      kb.at(kb.shared(kProductWarps * stagedBytes), kb.warp(), stagedBytes);
  sumsPlace = kb.shared(warpsAtWork() * panels() * kTileRows * kWarp * 4);
  if (spec.normWeight)
    inversePlace = kb.shared(kTileRows * 4);
  if (spec.gathersRows)
    addressPlace = kb.shared(kTileRows * 8);
}

int64_t PanelProduct::warpsAtWork() const {
  return std::min(fullChunks() + (restInputs() != 0), kProductWarps);
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

Value PanelProduct::panelPointer(int64_t which) {
  Value ofTask = kb.at(spec.weights, spec.panel, panels() * panelBytes);
  return kb.at(ofTask, which * panelBytes);
}

Values PanelProduct::loadAll(Value chunk, int64_t inputs) {
  Values words;
  for (int64_t panel = 0; panel < panels(); ++panel)
    words.append(load(panelPointer(panel), chunk, inputs));
  return words;
}

/// Loads chunk number `stage` of the warp, or zeros if the warp has no such
/// chunk.
Values PanelProduct::loadFirst(int64_t stage) {
  Value chunk = kb.add(kb.warp(), stage * kProductWarps);
  if (fullChunks() >= (stage + 1) * kProductWarps)
    return loadAll(chunk, chunkInputs);
  Values words;
  return kb.choose(
      kb.cmp(Cmp::LT, chunk, fullChunks()),
      [&] { return words = loadAll(chunk, chunkInputs); },
      [&] { return Values(words.size(), kb.constant(kb.i32Type(), 0)); });
}

Values PanelProduct::loadFirst() {
  Values words;
  for (int64_t stage = 0; stage < stages && fullChunks() > 0; ++stage)
    words.append(loadFirst(stage));
  return words;
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// Returns what `emitInverseRms` computes in a row kernel, bit for bit, in one
/// warp: the sums of its four warps are four chains here.
static Value inverseRmsInWarp(GpuBuilder &kb, Value x, int64_t width,
                              float eps) {
  constexpr int64_t chains = kRowThreads / kWarp;
  Values sums(chains, kb.f32(0));
  auto add = [&](Value first, ValueRange in, bool isWhole) {
    Values out;
    for (int64_t i = 0; i < chains; ++i) {
      Value index = kb.add(kb.add(first, i * kWarp), kb.laneOfWarp());
      Value mask = isWhole ? Value() : kb.cmp(Cmp::LT, index, width);
      Value v = kb.loadOwn(kb.f32Type(), kb.at(x, index, 4), mask);
      out.push_back(kb.fma(v, v, in[i]));
    }
    return out;
  };
  int64_t whole = width / kRowThreads * kRowThreads;
  sums = kb.forRange(
      kb.integer(0), kb.integer(whole), kRowThreads, sums,
      [&](Value first, ValueRange in) { return add(first, in, true); });
  if (whole < width)
    sums = add(kb.integer(whole), sums, false);
  auto both = [&](ValueRange a, ValueRange b) {
    Values result;
    for (auto [left, right] : llvm::zip(a, b))
      result.push_back(kb.add(left, right));
    return result;
  };
  sums = kb.reduceWarp(sums, both);
  Value total = sums[0];
  for (int64_t i = 1; i < chains; ++i)
    total = kb.add(total, sums[i]);
  return emitInverseOfSquares(kb, total, width, eps);
}

/// Finds the rows of the tile. Missing rows at the end are replaced by the last
/// row, and are not stored.
void PanelProduct::findRows(Value firstRow, Value rows) {
  Value last = kb.sub(rows, 1);
  auto pointerTo = [&](Value row) {
    return spec.rowPointer(kb.min(kb.add(firstRow, row), last));
  };
  rowPointers.clear();
  inverses.clear();
  for (int64_t row = 0; row < tileRows && !spec.gathersRows; ++row)
    rowPointers.push_back(pointerTo(kb.integer(row)));
  if (!spec.normWeight && !spec.gathersRows)
    return;
  Value own = pointerTo(kb.warp());
  Value isFirst = kb.cmp(Cmp::EQ, kb.laneOfWarp(), 0);
  if (spec.gathersRows)
    kb.storeOwn(kb.addressOf(own), kb.at(addressPlace, kb.warp(), 8), isFirst);
  if (spec.normWeight)
    kb.storeOwn(inverseRmsInWarp(kb, own, spec.k, spec.eps),
                kb.at(inversePlace, kb.warp(), 4), isFirst);
  kb.sync();
  if (spec.normWeight)
    inverses = loadOfRows(kb.f32Type(), inversePlace);
}

Value PanelProduct::loadNormWeight(Value index, Value mask) {
  if (!spec.normWeight)
    return Value();
  return kb.loadOwn(kb.f32Type(), kb.at(spec.normWeight, index, 4), mask);
}

Value PanelProduct::loadInput(int64_t row, Value index, Value normWeight,
                              Value mask) {
  Value from;
  if (spec.gathersRows)
    from = kb.pointerTo(kb.loadOwn(kb.i64Type(), kb.at(addressPlace, row * 8)));
  else
    from = rowPointers[row];
  Value x = kb.loadOwn(kb.f32Type(), kb.at(from, index, 4), mask);
  if (!spec.normWeight)
    return x;
  return emitScaleByNorm(kb, x, inverses[row], normWeight, spec.normOffset);
}

Values PanelProduct::loadOfRows(mlir::Type type, Value from) {
  if (tileRows == 1)
    return {kb.loadOwn(type, from)};
  Values values;
  auto four = kb.vectorType(type, 4);
  for (int64_t row = 0; row < tileRows; row += 4) {
    Value vector = kb.loadOwn(four, kb.at(from, row * 4));
    for (int64_t i = 0; i < 4; ++i)
      values.push_back(kb.element(vector, i));
  }
  return values;
}

void PanelProduct::storeOfRows(ValueRange values, Value to) {
  for (int64_t row = 0; row < kTileRows; row += 4)
    kb.storeOwn(kb.vectorOf(values.slice(row, 4)), kb.at(to, row * 4));
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

Values PanelProduct::addChunk(ValueRange words, ValueRange sums, Value chunk,
                              int64_t inputs) {
  // Other lanes may still read the previous chunk.
  kb.syncWarp();
  stage(chunk, inputs);
  kb.syncWarp();
  return multiply(words, sums, chunk, inputs);
}

/// Returns the sums of a warp, [panel][row].
Values PanelProduct::sumChunks(const Values &first) {
  Values state = first;
  state.append(panels() * tileRows, kb.f32(0));
  int64_t held = first.size(), ofChunk = held / stages;
  auto addNext = [&](Value chunk, ValueRange in) {
    Values sums = addChunk(in.take_front(ofChunk), in.drop_front(held), chunk,
                           chunkInputs);
    // The next chunks' weights are in flight while their rows are prepared.
    Value following = kb.add(chunk, stages * kProductWarps);
    Values last = kb.choose(
        kb.cmp(Cmp::LT, following, fullChunks()),
        [&] { return loadAll(following, chunkInputs); },
        [&] { return Values(in.take_front(ofChunk)); });
    Values next(in.slice(ofChunk, held - ofChunk));
    next.append(last);
    next.append(sums);
    return next;
  };
  if (fullChunks() > 0)
    state = kb.forRange(kb.warp(), kb.integer(fullChunks()), kProductWarps,
                        state, addNext);
  Values sums(state.begin() + held, state.end());
  if (restInputs() == 0)
    return sums;
  Value chunk = kb.integer(fullChunks());
  return kb.choose(
      kb.cmp(Cmp::EQ, kb.warp(), fullChunks() % kProductWarps),
      [&] {
        return addChunk(loadAll(chunk, restInputs()), sums, chunk,
                        restInputs());
      },
      [&] { return sums; });
}

/// Adds up the sums of the warps and stores the outputs. Each warp stores a
/// row.
void PanelProduct::join(Value firstRow, Value rows, ValueRange sums) {
  int64_t rowBytes = kWarp * 4, panelSums = kTileRows * rowBytes;
  int64_t warpSums = panels() * panelSums;
  auto storeSums = [&] {
    Value to = kb.at(kb.at(sumsPlace, kb.warp(), warpSums), kb.laneOfWarp(), 4);
    for (auto [i, sum] : llvm::enumerate(sums))
      kb.storeOwn(sum, kb.at(to, int64_t(i) / tileRows * panelSums +
                                     int64_t(i) % tileRows * rowBytes));
  };
  if (warpsAtWork() == kProductWarps)
    storeSums();
  else
    kb.ifThen(kb.cmp(Cmp::LT, kb.warp(), warpsAtWork()), storeSums);
  kb.sync();
  Value from = kb.at(kb.at(sumsPlace, kb.warp(), rowBytes), kb.laneOfWarp(), 4);
  auto total = [&](int64_t panel) {
    Value sum;
    for (int64_t warp = 0; warp < warpsAtWork(); ++warp) {
      Value at = kb.at(from, warp * warpSums + panel * panelSums);
      Value part = kb.loadOwn(kb.f32Type(), at);
      sum = sum ? kb.add(sum, part) : part;
    }
    return sum;
  };
  Value row = kb.add(firstRow, kb.warp());
  Value column = kb.add(kb.mul(spec.panel, kWarp), kb.laneOfWarp());
  int64_t outputs = spec.gated ? spec.n / 2 : spec.n;
  kb.ifThen(kb.cmp(Cmp::LT, row, rows), [&] {
    Value result = total(0);
    if (spec.gated)
      result = emitGated(kb, spec.activation, result, total(1));
    spec.store({row, column, result, kb.cmp(Cmp::LT, column, outputs)});
  });
}

/// Emits the first of `forms` that has all rows of the tile.
void PanelProduct::emitForms(llvm::ArrayRef<int64_t> forms, Value firstRow,
                             Value rows, const Values &first) {
  auto emit = [&] {
    tileRows = forms.front();
    findRows(firstRow, rows);
    join(firstRow, rows, sumChunks(first));
  };
  if (forms.size() == 1)
    return emit();
  Value count = kb.sub(rows, firstRow);
  kb.ifElse(kb.cmp(Cmp::LE, count, forms.front()), emit,
            [&] { emitForms(forms.drop_front(), firstRow, rows, first); });
}

void PanelProduct::emitTile(Value firstRow, Value rows, const Values &first) {
  emitForms(rowForms, firstRow, rows, first);
}
