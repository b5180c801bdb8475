//===- StateRows.cpp - Rows between states and activations ----------------===//
//
// Task i copies the rows of the i-th slot. A state has `rows` rows of `width`
// floats for each of `slots` slots.
//
//===----------------------------------------------------------------------===//

#include "compiler/Codegen/KernelCatalogue.h"

using namespace mtp::codegen;

/// Returns the state's first row for the i-th slot of buffer `slots`.
template <typename KernelT>
static Value stateOf(KernelBuilder &kb, KernelT kernel, Value i, int64_t slots,
                     int64_t state) {
  Value slot =
      kb.clampIndex(kb.loadI32(kb.buffer(slots), i), kernel.getSlots());
  return kb.at(kb.buffer(state), slot,
               kernel.getRows() * kernel.getWidth() * 4);
}

/// Copies `count` consecutive rows.
static void copyRows(KernelBuilder &kb, Value from, Value to, Value count,
                     int64_t width) {
  kb.forRange(kb.integer(0), count, 1, [&](Value row) {
    kb.copy(kb.at(from, row, width * 4), kb.at(to, row, width * 4), width);
  });
}

/// Emits read_state. Buffers: slots, state, out. Params: b, n.
static void emitReadState(KernelBuilder &kb, exec::ReadStateKernelAttr kernel) {
  int64_t width = kernel.getWidth();
  Value count = kb.param(1);
  kb.forTasks([&](Value i) {
    Value out = kb.at(kb.buffer(2), kb.mul(i, count), width * 4);
    copyRows(kb, stateOf(kb, kernel, i, /*slots=*/0, /*state=*/1), out, count,
             width);
  });
}

/// Emits write_state. Buffers: x, slots, state. Params: b, n.
static void emitWriteState(KernelBuilder &kb,
                           exec::WriteStateKernelAttr kernel) {
  int64_t width = kernel.getWidth();
  Value count = kb.param(1);
  kb.forTasks([&](Value i) {
    Value x = kb.at(kb.buffer(0), kb.mul(i, count), width * 4);
    copyRows(kb, x, stateOf(kb, kernel, i, /*slots=*/1, /*state=*/2), count,
             width);
  });
}

/// Emits writes of selected rows. A negative index leaves its row of the state
/// unchanged.
/// Buffers: x, index, slots, state. Params: b, n, rows of x.
static void emitWriteStateAt(KernelBuilder &kb,
                             exec::WriteStateAtKernelAttr kernel) {
  int64_t width = kernel.getWidth();
  Value count = kb.param(1);
  kb.forTasks([&](Value i) {
    Value state = stateOf(kb, kernel, i, /*slots=*/2, /*state=*/3);
    Value first = kb.mul(i, count);
    kb.forRange(kb.integer(0), count, 1, [&](Value row) {
      Value index = kb.loadI32(kb.buffer(1), kb.add(first, row));
      kb.ifThen(kb.cmp(Cmp::GE, index, 0), [&] {
        Value x = kb.clampIndex(index, kb.param(2));
        kb.copy(kb.at(kb.buffer(0), x, width * 4), kb.at(state, row, width * 4),
                width);
      });
    });
  });
}

/// Emits concat_rows. Buffers: heads, tails, out. Params: b, rows of heads,
/// rows of tails.
static void emitConcatRows(KernelBuilder &kb,
                           exec::ConcatRowsKernelAttr kernel) {
  int64_t width = kernel.getWidth();
  Value heads = kb.param(1), tails = kb.param(2);
  kb.forTasks([&](Value i) {
    Value out = kb.at(kb.buffer(2), kb.mul(i, kb.add(heads, tails)), width * 4);
    copyRows(kb, kb.at(kb.buffer(0), kb.mul(i, heads), width * 4), out, heads,
             width);
    copyRows(kb, kb.at(kb.buffer(1), kb.mul(i, tails), width * 4),
             kb.at(out, heads, width * 4), tails, width);
  });
}

static const RowKernel kinds[] = {
    rowKernel(emitReadState), rowKernel(emitWriteState),
    rowKernel(emitWriteStateAt), rowKernel(emitConcatRows)};

llvm::ArrayRef<RowKernel> mtp::codegen::stateRowsKernels() { return kinds; }
