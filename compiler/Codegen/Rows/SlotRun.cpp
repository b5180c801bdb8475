//===- SlotRun.cpp - Consecutive rows of a slot ---------------------------===//

#include "compiler/Codegen/Rows/SlotRun.h"

using namespace mtp::codegen;

namespace {

/// Walks the rows of one slot.
class Walk {
public:
  Walk(KernelBuilder &kb, const RunBuffers &buffers, Value row)
      : kb(kb), buffers(buffers), rows(kb.param(0)),
        slot(number(buffers.slots, row)) {}

  Value number(int64_t buffer, Value row) {
    return kb.loadI32(kb.buffer(buffer), row);
  }

  Value ownSlot() const { return slot; }

  /// Returns whether `row` is the first of consecutive rows of the slot.
  Value begins(Value row) {
    Value before = number(buffers.slots, kb.max(kb.sub(row, 1), kb.integer(0)));
    return kb.bitOr(kb.cmp(Cmp::EQ, row, 0), kb.cmp(Cmp::NE, before, slot));
  }

  /// Returns the first row from `row` on that belongs to another slot, or that
  /// is active (if `untilActive`) or padding (if not).
  Value find(Value row, bool untilActive) {
    return kb.whileLoop(
        {row},
        [&](ValueRange at) {
          Value here = kb.min(at[0], kb.sub(rows, 1));
          Value isOwn =
              kb.bitAnd(kb.cmp(Cmp::LT, at[0], rows),
                        kb.cmp(Cmp::EQ, number(buffers.slots, here), slot));
          return kb.bitAnd(isOwn, kb.cmp(untilActive ? Cmp::LT : Cmp::GE,
                                         number(buffers.positions, here), 0));
        },
        [&](ValueRange at) { return Values{kb.add(at[0], 1)}; })[0];
  }

private:
  KernelBuilder &kb;
  const RunBuffers &buffers;
  Value rows, slot;
};

} // namespace

void mtp::codegen::forPaddingRowAt(KernelBuilder &kb, Value row,
                                   const RunBuffers &buffers,
                                   llvm::function_ref<void()> body) {
  Value position = kb.loadI32(kb.buffer(buffers.positions), row);
  kb.ifThen(kb.cmp(Cmp::LT, position, 0), body);
}

void mtp::codegen::forRunAt(KernelBuilder &kb, Value row,
                            const RunBuffers &buffers, int64_t kept,
                            int64_t slots,
                            llvm::function_ref<void(const SlotRun &)> body) {
  Walk walk(kb, buffers, row);
  kb.ifThen(walk.begins(row), [&] {
    Value first = walk.find(row, /*untilActive=*/true);
    Value count = kb.sub(walk.find(first, /*untilActive=*/false), first);
    kb.ifThen(kb.cmp(Cmp::GT, count, 0), [&] {
      auto upTo = [&](Value number, Value most) {
        return kb.max(kb.min(number, most), kb.integer(0));
      };
      SlotRun run;
      run.slot = kb.clampIndex(walk.ownSlot(), slots);
      run.first = first;
      run.count = count;
      run.isFresh = kb.cmp(Cmp::EQ, walk.number(buffers.positions, first), 0);
      Value most = kb.integer(kept);
      run.pending = kb.select(run.isFresh, kb.integer(0),
                              upTo(walk.number(buffers.pending, first), most));
      Value keeps = walk.number(buffers.keeps, first);
      run.lead = kb.sub(
          count, kb.max(upTo(keeps, kb.min(count, most)), kb.integer(1)));
      body(run);
    });
  });
}
