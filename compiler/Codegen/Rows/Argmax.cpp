//===- Argmax.cpp - The index of a row's largest value --------------------===//

#include "compiler/Codegen/Rows/Argmax.h"

#include "compiler/Codegen/KernelCatalogue.h"
#include <limits>

using namespace mtp::codegen;

/// Index of a start value that no value has beaten yet.
static constexpr int64_t none = std::numeric_limits<int32_t>::max();

Best mtp::codegen::noBest(KernelBuilder &kb, mlir::Type value,
                          mlir::Type index) {
  return {kb.constant(value, -std::numeric_limits<double>::infinity()),
          kb.constant(index, none)};
}

Best mtp::codegen::betterOf(KernelBuilder &kb, Best a, Best b, Value mask) {
  Value tie = kb.bitAnd(kb.cmp(Cmp::EQ, a.value, b.value),
                        kb.cmp(Cmp::LT, a.index, b.index));
  Value wins = kb.bitOr(kb.cmp(Cmp::GT, a.value, b.value), tie);
  if (mask)
    wins = kb.bitAnd(wins, mask);
  return {kb.select(wins, a.value, b.value), kb.select(wins, a.index, b.index)};
}

Best mtp::codegen::bestLane(KernelBuilder &kb, Best best) {
  Values winner = kb.reduceLanes(
      {best.value, best.index}, [&](ValueRange lower, ValueRange upper) {
        Best better = betterOf(kb, {upper[0], upper[1]}, {lower[0], lower[1]});
        return Values{better.value, better.index};
      });
  return {winner[0], winner[1]};
}

Value mtp::codegen::bestIndex(KernelBuilder &kb, Best best) {
  Value found = kb.extend(best.index, kb.i64Type());
  return kb.select(kb.cmp(Cmp::EQ, found, none), kb.integer(0), found);
}

Value mtp::codegen::emitArgmax(KernelBuilder &kb, Value x, int64_t width) {
  // Several chains of comparisons hide the latency of one chain.
  constexpr int64_t chains = 4;
  int64_t lanes = kb.lanes(), step = chains * lanes;
  Value lane = kb.laneNumbers();
  auto indexOf = [&](Value first) {
    return kb.add(lane, kb.splat(kb.truncate(first, kb.i32Type())));
  };
  // A lane that read only NaN keeps index `none`.
  Values state;
  for (int64_t chain = 0; chain < chains; ++chain) {
    Best start = noBest(kb, kb.f32Lanes(), kb.i32Lanes());
    state.append({start.value, start.index});
  }
  int64_t whole = width / step * step;
  state = kb.forRange(
      kb.integer(0), kb.integer(whole), step, state,
      [&](Value first, ValueRange in) {
        Values out;
        for (int64_t chain = 0; chain < chains; ++chain) {
          Value at = kb.add(first, chain * lanes);
          Best best = betterOf(
              kb, {kb.loadLanes(kb.f32Type(), kb.at(x, at, 4)), indexOf(at)},
              {in[2 * chain], in[2 * chain + 1]});
          out.append({best.value, best.index});
        }
        return out;
      });
  Best total{state[0], state[1]};
  for (int64_t chain = 1; chain < chains; ++chain)
    total = betterOf(kb, {state[2 * chain], state[2 * chain + 1]}, total);
  state = kb.forChunks(
      width - whole, {total.value, total.index},
      [&](Value offset, Value mask, ValueRange in) {
        Value first = kb.add(offset, whole);
        Value value = kb.loadLanes(kb.f32Type(), kb.at(x, first, 4), mask);
        Best best = betterOf(kb, {value, indexOf(first)}, {in[0], in[1]}, mask);
        return Values{best.value, best.index};
      });
  return bestIndex(kb, bestLane(kb, {state[0], state[1]}));
}

/// Emits argmax. Buffers: x, out. Params: M.
static void emitArgmaxKernel(KernelBuilder &kb, exec::ArgmaxKernelAttr kernel) {
  int64_t width = kernel.getWidth();
  int64_t stride = strideOr(kernel.getXStride(), width);
  kb.forTasks([&](Value row) {
    Value x = kb.at(kb.buffer(0), row, stride * 4);
    kb.storeI32(emitArgmax(kb, x, width), kb.buffer(1), row);
  });
}

/// Emits the choice of the winner among the winners of a row's parts. Buffers:
/// values, indices, out. Params: M.
static void emitArgmaxParts(KernelBuilder &kb,
                            exec::ArgmaxPartsKernelAttr kernel) {
  int64_t parts = kernel.getParts();
  kb.forTasks([&](Value row) {
    Value values = kb.at(kb.buffer(0), row, parts * 4);
    Value indices = kb.at(kb.buffer(1), row, parts * 4);
    Best start = noBest(kb, kb.f32Lanes(), kb.i32Lanes());
    Values state = kb.forChunks(
        parts, {start.value, start.index},
        [&](Value first, Value mask, ValueRange in) {
          Value value =
              kb.loadLanes(kb.f32Type(), kb.at(values, first, 4), mask);
          Value index =
              kb.loadLanes(kb.i32Type(), kb.at(indices, first, 4), mask);
          Best best = betterOf(kb, {value, index}, {in[0], in[1]}, mask);
          return Values{best.value, best.index};
        });
    Best best = bestLane(kb, {state[0], state[1]});
    kb.storeI32(bestIndex(kb, best), kb.buffer(2), row);
  });
}

/// Emits a copy of the logits with one token of each row set to -infinity.
/// Buffers: logits, tokens, out. Params: M.
static void emitMaskTokens(KernelBuilder &kb,
                           exec::MaskTokensKernelAttr kernel) {
  constexpr int64_t kMinusInfinity = 0xff800000; // as the bits of an f32
  int64_t width = kernel.getWidth();
  kb.forTasks([&](Value row) {
    Value out = kb.at(kb.buffer(2), row, width * 4);
    kb.copy(kb.at(kb.buffer(0), row, width * 4), out, width);
    Value token = kb.loadI32(kb.buffer(1), row);
    Value isThere =
        kb.bitAnd(kb.cmp(Cmp::GE, token, 0), kb.cmp(Cmp::LT, token, width));
    kb.sync();
    kb.ifThen(isThere,
              [&] { kb.storeI32(kb.integer(kMinusInfinity), out, token); });
  });
}

static const RowKernel kinds[] = {rowKernel(emitArgmaxKernel),
                                  rowKernel(emitArgmaxParts),
                                  rowKernel(emitMaskTokens)};

llvm::ArrayRef<RowKernel> mtp::codegen::argmaxKernels() { return kinds; }
