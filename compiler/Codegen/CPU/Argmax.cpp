//===- Argmax.cpp - The index of a row's largest value --------------------===//

#include "compiler/Codegen/CPU/Argmax.h"

#include "compiler/Codegen/CPU/KernelTable.h"
#include <limits>

using namespace mtp::codegen;

static constexpr int64_t none = std::numeric_limits<int32_t>::max();

/// Whether (value, index) beats (best, bestIndex), lane by lane.
static Value beats(KernelBuilder &kb, Value value, Value index, Value best,
                   Value bestIndex) {
  Value tie = kb.bitAnd(kb.cmp(Cmp::EQ, value, best),
                        kb.cmp(Cmp::LT, index, bestIndex));
  return kb.bitOr(kb.cmp(Cmp::GT, value, best), tie);
}

namespace {
/// The best value and its index, lane by lane.
struct Best {
  Value value, index;
};
} // namespace

static Best better(KernelBuilder &kb, Best a, Best b) {
  Value wins = beats(kb, a.value, a.index, b.value, b.index);
  return {kb.select(wins, a.value, b.value), kb.select(wins, a.index, b.index)};
}

Value mtp::codegen::emitArgmax(KernelBuilder &kb, Value x, int64_t width) {
  // Chains of comparisons side by side: one would wait for itself.
  constexpr int64_t chains = 4;
  int64_t lanes = kb.lanes(), step = chains * lanes;
  Value lane = kb.iota(lanes);
  auto indexOf = [&](Value first) {
    return kb.add(lane, kb.splat(kb.truncate(first, kb.i32Type())));
  };
  // A lane that saw nothing but NaN keeps index `none`.
  Values state;
  for (int64_t chain = 0; chain < chains; ++chain) {
    state.push_back(kb.constant(kb.f32Vector(),
                                -std::numeric_limits<double>::infinity()));
    state.push_back(kb.constant(kb.i32Vector(), none));
  }
  int64_t whole = width / step * step;
  state = kb.forRange(
      kb.integer(0), kb.integer(whole), step, state,
      [&](Value first, ValueRange in) {
        Values out;
        for (int64_t chain = 0; chain < chains; ++chain) {
          Value at = kb.add(first, chain * lanes);
          Best best = better(kb,
                             {kb.load(kb.f32Vector(), kb.at(x, at, 4)),
                              indexOf(at)},
                             {in[2 * chain], in[2 * chain + 1]});
          out.append({best.value, best.index});
        }
        return out;
      });
  Best total{state[0], state[1]};
  for (int64_t chain = 1; chain < chains; ++chain)
    total = better(kb, {state[2 * chain], state[2 * chain + 1]}, total);
  state = kb.forChunks(
      width - whole, {total.value, total.index},
      [&](Value offset, Value mask, ValueRange in) {
        Value first = kb.add(offset, whole);
        Value value = kb.load(kb.f32Vector(), kb.at(x, first, 4), mask);
        Value index = indexOf(first);
        Value wins = beats(kb, value, index, in[0], in[1]);
        if (mask)
          wins = kb.bitAnd(wins, mask);
        return Values{kb.select(wins, value, in[0]),
                      kb.select(wins, index, in[1])};
      });
  Value best = state[0], index = state[1];
  for (int64_t half = kb.lanes() / 2; half > 0; half /= 2) {
    Value otherBest = kb.slice(best, half, half);
    Value otherIndex = kb.slice(index, half, half);
    best = kb.slice(best, 0, half);
    index = kb.slice(index, 0, half);
    Best folded = better(kb, {otherBest, otherIndex}, {best, index});
    best = folded.value;
    index = folded.index;
  }
  Value found = kb.extend(kb.extractLane(index, 0), kb.i64Type());
  return kb.select(kb.cmp(Cmp::EQ, found, none), kb.integer(0), found);
}

/// buffers: x, out. params: M.
static void emitArgmaxKernel(KernelBuilder &kb, const KernelConfig &config) {
  int64_t width = config.integer("width");
  int64_t stride = config.integer("x_stride", width);
  kb.forTasks([&](Value row) {
    Value x = kb.at(kb.buffer(0), row, stride * 4);
    kb.storeI32(emitArgmax(kb, x, width), kb.buffer(1), row);
  });
}

static constexpr ConfigKey argmaxKeys[] = {{"width", ConfigKey::Int, true},
                                           {"x_stride", ConfigKey::Int, false}};

static const KernelKind kinds[] = {
    {"argmax", argmaxKeys, emitArgmaxKernel, taskPerRow}};

llvm::ArrayRef<KernelKind> mtp::codegen::argmaxKernels() { return kinds; }
