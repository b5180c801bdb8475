//===- CausalConv.cpp - Convolution over the rows of a slot ---------------===//
//
// Columns do not depend on each other. A task walks a run's rows for its own
// columns and carries the window - 1 inputs before the row. A row is therefore
// one sum in one order, wherever the run began.
//
//===----------------------------------------------------------------------===//

#include "compiler/Codegen/KernelCatalogue.h"
#include "compiler/Codegen/Rows/MathApprox.h"
#include "compiler/Codegen/Rows/SlotRun.h"

using namespace mtp::codegen;

namespace {

enum Buffer : int64_t { kX, kWeight, kState, kSlots };
constexpr RunBuffers kRunBuffers = {kSlots, kSlots + 1, kSlots + 2, kSlots + 3};
constexpr int64_t kY = kSlots + 4;

class CausalConv {
public:
  CausalConv(KernelBuilder &kb, exec::CausalConvKernelAttr kernel)
      : kb(kb), kernel(kernel), width(kernel.getWidth()),
        before(kernel.getWindow() - 1) {}

  void emit() {
    int64_t columns = kernel.getTaskColumns();
    kb.forTasks([&](Value task) {
      // The tasks of one row are `rows` apart, so that several workers share
      // them.
      Value rows = kb.param(0), row = kb.rem(task, rows);
      Value begin = kb.mul(kb.div(task, rows), columns);
      forPaddingRowAt(kb, row, kRunBuffers, [&] {
        kb.forChunks(columns, [&](Value first, Value mask) {
          kb.storeLanes(
              kb.constant(kb.f32Lanes(), 0),
              rowAt(kY, kernel.getYStride(), row, kb.add(begin, first)), mask);
        });
      });
      forRunAt(kb, row, kRunBuffers, kernel.getKept(), kernel.getSlots(),
               [&](const SlotRun &run) {
                 kb.forChunks(columns, [&](Value first, Value mask) {
                   emitColumns(run, kb.add(begin, first), mask);
                 });
               });
    });
  }

private:
  /// Returns the address of a column of row `index` of the slot's state.
  Value stateAt(const SlotRun &run, Value index, Value column) {
    Value row = kb.add(kb.mul(run.slot, kernel.getStateRows()), index);
    return kb.at(kb.at(kb.buffer(kState), row, width * 4), column, 4);
  }

  Value rowAt(int64_t buffer, int64_t stride, Value row, Value column) {
    return kb.at(kb.at(kb.buffer(buffer), row, strideOr(stride, width) * 4),
                 column, 4);
  }

  Value load(Value pointer, Value mask) {
    return kb.loadLanes(kb.f32Type(), pointer, mask);
  }

  /// Loads the inputs before the run.
  Values loadPast(const SlotRun &run, Value column, Value mask) {
    return kb.choose(
        run.isFresh,
        [&] { return Values(before, kb.constant(kb.f32Lanes(), 0)); },
        [&] {
          Values past;
          for (int64_t i = 0; i < before; ++i)
            past.push_back(
                load(stateAt(run, kb.add(run.pending, i), column), mask));
          return past;
        });
  }

  void emitColumns(const SlotRun &run, Value column, Value mask) {
    Values weights;
    for (int64_t i = 0; i <= before; ++i)
      weights.push_back(load(
          kb.at(kb.at(kb.buffer(kWeight), i * width * 4), column, 4), mask));
    kb.forRange(
        kb.integer(0), run.count, 1, loadPast(run, column, mask),
        [&](Value i, ValueRange past) {
          Value row = kb.add(run.first, i);
          Value x = load(rowAt(kX, kernel.getXStride(), row, column), mask);
          Value sum = kb.mul(weights[before], x);
          for (int64_t j = before; j-- > 0;)
            sum = kb.fma(weights[j], past[j], sum);
          kb.storeLanes(emitSilu(kb, sum),
                        rowAt(kY, kernel.getYStride(), row, column), mask);
          keep(run, i, x, past, column, mask);
          ValueRange newer = past.drop_front();
          Values next(newer.begin(), newer.end());
          next.push_back(x);
          return next;
        });
  }

  /// Keeps row i of the run unless it is one of the first `lead` rows. With the
  /// first kept row, also stores the inputs before it. The run has already
  /// loaded all that it needs of the state.
  void keep(const SlotRun &run, Value i, Value x, ValueRange past, Value column,
            Value mask) {
    kb.ifThen(kb.cmp(Cmp::EQ, i, run.lead), [&] {
      for (int64_t j = 0; j < before; ++j)
        kb.storeLanes(past[j], stateAt(run, kb.integer(j), column), mask);
    });
    kb.ifThen(kb.cmp(Cmp::GE, i, run.lead), [&] {
      Value index = kb.add(kb.sub(i, run.lead), before);
      kb.storeLanes(x, stateAt(run, index, column), mask);
    });
  }

  KernelBuilder &kb;
  exec::CausalConvKernelAttr kernel;
  int64_t width, before;
};

} // namespace

/// Emits causal_conv. Buffers: x, weight, state, slots, positions, pending,
/// keeps, y. Params: M.
static void emitCausalConv(KernelBuilder &kb,
                           exec::CausalConvKernelAttr kernel) {
  CausalConv(kb, kernel).emit();
}

static const RowKernel kinds[] = {rowKernel(emitCausalConv)};

llvm::ArrayRef<RowKernel> mtp::codegen::causalConvKernels() { return kinds; }
