//===- Vocabulary.cpp - Sums, masks and top k of rows of logits -----------===//
//===----------------------------------------------------------------------===//

#include "compiler/Codegen/KernelCatalogue.h"
#include "compiler/Codegen/Rows/Argmax.h"
#include "compiler/Codegen/Rows/MaskedColumns.h"
#include "compiler/Codegen/Rows/MathApprox.h"
#include "compiler/Codegen/Rows/RowSums.h"
#include <limits>

using namespace mtp::codegen;

static constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Emits log_sum_exp. Buffers: x, y. Params: M.
static void emitLogSums(KernelBuilder &kb, exec::LogSumExpKernelAttr kernel) {
  int64_t width = kernel.getWidth();
  int64_t stride = strideOr(kernel.getXStride(), width);
  kb.forTasks([&](Value row) {
    Value x = kb.at(kb.buffer(0), row, stride * 4);
    kb.storeOne(emitLogSumExp(kb, x, width), kb.at(kb.buffer(1), row, 4));
  });
}

/// Emits log_softmax. Buffers: x, y. Params: M.
static void emitLogSoftmax(KernelBuilder &kb,
                           exec::LogSoftmaxKernelAttr kernel) {
  int64_t width = kernel.getWidth();
  int64_t stride = strideOr(kernel.getXStride(), width);
  kb.forTasks([&](Value row) {
    Value x = kb.at(kb.buffer(0), row, stride * 4);
    Value y = kb.at(kb.buffer(1), row, width * 4);
    Value sum = kb.splat(emitLogSumExp(kb, x, width));
    kb.mapChunks(
        width,
        [&](Value first, Value mask) {
          return Values{kb.loadLanes(kb.f32Type(), kb.at(x, first, 4), mask)};
        },
        [&](Value first, Value mask, ValueRange loaded) {
          kb.storeLanes(emitLogShare(kb, loaded[0], sum), kb.at(y, first, 4),
                        mask);
        });
  });
}

/// Emits entropy. Buffers: x, y. Params: M.
static void emitEntropy(KernelBuilder &kb, exec::EntropyKernelAttr kernel) {
  int64_t width = kernel.getWidth();
  int64_t stride = strideOr(kernel.getXStride(), width);
  kb.forTasks([&](Value row) {
    RowSums sums = sumRow(kb, kb.at(kb.buffer(0), row, stride * 4), width);
    // log p = y - log(sum); the entropy is the negative mean of log p.
    Value entropy =
        kb.sub(emitLog(kb, sums.powers), kb.div(sums.moments, sums.powers));
    entropy = kb.max(entropy, kb.f32(0));
    kb.storeOne(kb.select(sums.isFinite, entropy, kb.f32(0)),
                kb.at(kb.buffer(1), row, 4));
  });
}

/// Emits gather_columns. Buffers: x, [places], columns, y. Params: M, rows of
/// x.
static void emitGatherColumns(KernelBuilder &kb,
                              exec::GatherColumnsKernelAttr kernel) {
  int64_t width = kernel.getWidth(), count = kernel.getCount();
  int64_t stride = strideOr(kernel.getXStride(), width);
  Value columns = kb.buffer(1 + kernel.getPacked());
  Value y = kb.buffer(2 + kernel.getPacked());
  auto forNumbers = [&](Value row, llvm::function_ref<Value(Value)> element) {
    kb.forRange(kb.integer(0), kb.integer(count), 1, [&](Value i) {
      Value place = kb.add(kb.mul(row, count), i);
      Value column = kb.clampIndex(kb.loadI32(columns, place), width);
      kb.storeOne(element(column), kb.at(y, place, 4));
    });
  };
  auto gather = [&](Value row, Value from) {
    Value x = kb.at(kb.buffer(0), from, stride * 4);
    forNumbers(row, [&](Value column) {
      return kb.loadOne(kb.f32Type(), kb.at(x, column, 4));
    });
  };
  kb.forTasks([&](Value row) {
    if (!kernel.getPacked())
      return gather(row, row);
    Value place = kb.loadI32(kb.buffer(1), row);
    // The packed row of a padding row may never have been written.
    kb.ifElse(
        kb.cmp(Cmp::GE, place, 0),
        [&] { gather(row, kb.clampIndex(place, kb.param(1))); },
        [&] { forNumbers(row, [&](Value) { return kb.f32(0); }); });
  });
}

/// Copies columns from `first` on. Columns whose bits in `word`, from bit `bit`
/// on, are 0 become -infinity.
static void maskLanes(KernelBuilder &kb, Value word, Value bit, Value x,
                      Value y, Value mask) {
  Value number =
      kb.add(kb.laneNumbers(), kb.splat(kb.truncate(bit, kb.i32Type())));
  // Lanes past the last column have no bit.
  number = kb.bitAnd(number, kb.constant(kb.i32Lanes(), 31));
  Value own = kb.bitAnd(kb.shiftRight(kb.splat(word), number),
                        kb.constant(kb.i32Lanes(), 1));
  Value value = kb.loadLanes(kb.f32Type(), x, mask);
  Value none = kb.constant(kb.f32Lanes(), -kInfinity);
  kb.storeLanes(kb.select(kb.cmp(Cmp::NE, own, kb.constant(kb.i32Lanes(), 0)),
                          value, none),
                y, mask);
}

/// Masks the columns of one word.
static void maskWord(KernelBuilder &kb, Value words, Value index, Value x,
                     Value y, int64_t count) {
  Value word = kb.loadOne(kb.i32Type(), kb.at(words, index, 4));
  constexpr int64_t wordBytes = 128; // 32 values of f32
  Value from = kb.at(x, index, wordBytes), to = kb.at(y, index, wordBytes);
  kb.forChunks(count, [&](Value first, Value mask) {
    maskLanes(kb, word, first, kb.at(from, first, 4), kb.at(to, first, 4),
              mask);
  });
}

void mtp::codegen::emitMaskedColumns(KernelBuilder &kb, Value words, Value x,
                                     Value y, int64_t width) {
  int64_t full = width / 32;
  kb.forItems(full, [&](Value word) { maskWord(kb, words, word, x, y, 32); });
  if (width % 32)
    maskWord(kb, words, kb.integer(full), x, y, width % 32);
}

/// Emits mask_columns. Buffers: x, slots, [at], state, y. Params: M.
static void emitMaskColumns(KernelBuilder &kb,
                            exec::MaskColumnsKernelAttr kernel) {
  int64_t width = kernel.getWidth(), rows = kernel.getRows();
  int64_t stride = strideOr(kernel.getXStride(), width);
  int64_t bytes = (width + 31) / 32 * 4;
  int64_t state = kernel.getChosen() ? 3 : 2;
  kb.forTasks([&](Value row) {
    Value slot =
        kb.clampIndex(kb.loadI32(kb.buffer(1), row), kernel.getSlots());
    Value words = kb.at(kb.buffer(state), slot, rows * bytes);
    if (kernel.getChosen())
      words = kb.at(words, kb.clampIndex(kb.loadI32(kb.buffer(2), row), rows),
                    bytes);
    Value x = kb.at(kb.buffer(0), row, stride * 4);
    Value y = kb.at(kb.buffer(state + 1), row, width * 4);
    emitMaskedColumns(kb, words, x, y, width);
  });
}

//===----------------------------------------------------------------------===//
// The best columns
//===----------------------------------------------------------------------===//

/// Returns the best element after `before` in the order of value and index.
static Best nextBest(KernelBuilder &kb, Value x, int64_t width, Best before) {
  Best start = noBest(kb, kb.f32Lanes(), kb.i32Lanes());
  Value most = kb.splat(before.value), last = kb.splat(before.index);
  Value none = kb.constant(kb.f32Lanes(), -kInfinity);
  Values state = kb.forChunks(
      width, {start.value, start.index},
      [&](Value first, Value mask, ValueRange in) {
        Value value = kb.loadLanes(kb.f32Type(), kb.at(x, first, 4), mask);
        Value index = kb.add(kb.laneNumbers(),
                             kb.splat(kb.truncate(first, kb.i32Type())));
        Value isTie = kb.bitAnd(kb.cmp(Cmp::EQ, value, most),
                                kb.cmp(Cmp::GT, index, last));
        Value isNext = kb.bitAnd(kb.bitOr(kb.cmp(Cmp::LT, value, most), isTie),
                                 kb.cmp(Cmp::GT, value, none));
        if (mask)
          isNext = kb.bitAnd(isNext, mask);
        Best best = betterOf(kb, {value, index}, {in[0], in[1]}, isNext);
        return Values{best.value, best.index};
      });
  return bestLane(kb, {state[0], state[1]});
}

/// Emits top_k. Buffers: x, [sums], columns, logs. Params: M.
static void emitTopK(KernelBuilder &kb, exec::TopKKernelAttr kernel) {
  int64_t width = kernel.getWidth(), k = kernel.getK();
  int64_t stride = strideOr(kernel.getXStride(), width);
  int64_t columns = kernel.getSummed() ? 2 : 1;
  kb.forTasks([&](Value row) {
    Value x = kb.at(kb.buffer(0), row, stride * 4);
    Value sum = kernel.getSummed()
                    ? kb.loadOne(kb.f32Type(), kb.at(kb.buffer(1), row, 4))
                    : emitLogSum(kb, sumRow(kb, x, width));
    Value none = kb.f32(-kInfinity);
    kb.forRange(kb.integer(0), kb.integer(k), 1,
                {kb.f32(kInfinity), kb.constant(kb.i32Type(), -1)},
                [&](Value i, ValueRange before) {
                  Best best = nextBest(kb, x, width, {before[0], before[1]});
                  Value isThere = kb.cmp(Cmp::GT, best.value, none);
                  Value place = kb.add(kb.mul(row, k), i);
                  kb.storeI32(kb.select(isThere,
                                        kb.extend(best.index, kb.i64Type()),
                                        kb.integer(-1)),
                              kb.buffer(columns), place);
                  kb.storeOne(emitLogShare(kb, best.value, sum),
                              kb.at(kb.buffer(columns + 1), place, 4));
                  return Values{best.value, best.index};
                });
  });
}

static const RowKernel kinds[] = {
    rowKernel(emitLogSums),     rowKernel(emitLogSoftmax),
    rowKernel(emitEntropy),     rowKernel(emitGatherColumns),
    rowKernel(emitMaskColumns), rowKernel(emitTopK)};

llvm::ArrayRef<RowKernel> mtp::codegen::vocabularyKernels() { return kinds; }
