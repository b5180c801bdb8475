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

Value mtp::codegen::emitArgmax(KernelBuilder &kb, Value x, int64_t width) {
  // A lane that saw nothing but NaN keeps index `none`.
  double lowest = -std::numeric_limits<double>::infinity();
  Value initBest = kb.constant(kb.f32Vector(), lowest);
  Value initIndex = kb.constant(kb.i32Vector(), none);
  Value lane = kb.iota(kb.lanes());
  Values state = kb.forChunks(
      width, {initBest, initIndex},
      [&](Value first, Value mask, ValueRange in) {
        Value value = kb.load(kb.f32Vector(), kb.at(x, first, 4), mask);
        Value index = kb.add(lane, kb.splat(kb.truncate(first, kb.i32Type())));
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
    Value wins = beats(kb, otherBest, otherIndex, best, index);
    best = kb.select(wins, otherBest, best);
    index = kb.select(wins, otherIndex, index);
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
