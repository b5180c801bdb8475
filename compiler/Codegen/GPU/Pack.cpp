//===- Pack.cpp - Rows that live, side by side, by one block --------------===//
//
// Threads have rows of a stretch; a row's place is how many live before the
// stretch, in warps before its own and in its warp. What the kernel leaves is
// that of compiler/Codegen/Rows/Pack.cpp, where one thread goes row by row.
//
//===----------------------------------------------------------------------===//

#include "compiler/Codegen/GPU/Kernels.h"

using namespace mtp;
using namespace mtp::codegen;
using namespace mlir;

static constexpr int64_t kPackThreads = 256;

namespace {
class RowPacker {
public:
  RowPacker(GpuBuilder &kb, exec::PackRowsKernelAttr kernel)
      : kb(kb), firstMask(1 + kernel.getNumbers()),
        count(firstMask + kernel.getMasks()), rows(kb.param(0)),
        warpCounts(kb.shared(kb.warps() * 4)) {}

  void emit();

private:
  bool isMask(int64_t number) const { return number >= firstMask; }
  Type typeOf(int64_t number) {
    return isMask(number) ? kb.i64Type() : kb.i32Type();
  }
  Value at(int64_t buffer, int64_t number, Value row) {
    return kb.at(kb.buffer(buffer), row, isMask(number) ? 8 : 4);
  }
  Value packStretch(Value first, Value before);

  GpuBuilder &kb;
  /// Numbers of a row, its position the first; those from one on are masks.
  const int64_t firstMask, count;
  Value rows, warpCounts;
};
} // namespace

/// Packs the rows of a stretch behind `before` (i32) others; returns how many
/// there are then.
Value RowPacker::packStretch(Value first, Value before) {
  Type i32 = kb.i32Type();
  Value none = kb.constant(i32, -1), zero = kb.constant(i32, 0);
  Value row = kb.add(first, kb.thread());
  Value isRow = kb.cmp(Cmp::LT, row, rows);
  Value position = kb.choose(
      isRow, [&] { return Values{kb.loadOwn(i32, at(0, 0, row))}; },
      [&] { return Values{none}; })[0];
  Value lives = kb.cmp(Cmp::GE, position, zero);
  Value ballot = kb.ballot(lives);
  Value lane = kb.truncate(kb.laneOfWarp(), i32);
  Value below =
      kb.sub(kb.shiftLeft(kb.constant(i32, 1), lane), kb.constant(i32, 1));
  // The counts may still be read for the stretch before.
  kb.sync();
  kb.storeOwn(kb.countOnes(ballot), kb.at(warpCounts, kb.warp(), 4),
              kb.cmp(Cmp::EQ, kb.laneOfWarp(), 0));
  kb.sync();
  Value place = kb.add(before, kb.countOnes(kb.bitAnd(ballot, below)));
  Value after = before;
  for (int64_t warp = 0; warp < kb.warps(); ++warp) {
    Value all = kb.loadOwn(i32, kb.at(warpCounts, warp * 4));
    after = kb.add(after, all);
    place =
        kb.select(kb.cmp(Cmp::GT, kb.warp(), warp), kb.add(place, all), place);
  }
  kb.storeOwn(kb.select(lives, place, none), at(2 * count, 0, row), isRow);
  kb.ifThen(lives, [&] {
    Value to = kb.extend(place, kb.i64Type());
    for (int64_t i = 0; i < count; ++i)
      kb.storeOwn(kb.loadOwn(typeOf(i), at(i, i, row)), at(count + i, i, to));
  });
  return after;
}

void RowPacker::emit() {
  Value live = kb.forRange(kb.integer(0), rows, kb.threads(),
                           {kb.constant(kb.i32Type(), 0)},
                           [&](Value first, ValueRange before) {
                             return Values{packStretch(first, before[0])};
                           })[0];
  kb.storeOne(live, kb.buffer(2 * count + 1));
  Value end = kb.extend(live, kb.i64Type());
  kb.forRange(kb.add(end, kb.thread()), rows, kb.threads(), [&](Value row) {
    for (int64_t i = 0; i < count; ++i)
      kb.storeOwn(kb.constant(typeOf(i), isMask(i) ? 0 : -1),
                  at(count + i, i, row));
  });
}

static GpuLaunch packLaunch(exec::PackRowsKernelAttr) {
  return {/*blocks=*/1, /*rowsPerGroup=*/0, kPackThreads};
}

/// buffers: positions, numbers and masks, all of these packed, places, live.
/// params: M.
static void emitPack(GpuBuilder &kb, exec::PackRowsKernelAttr kernel) {
  kb.begin();
  RowPacker(kb, kernel).emit();
}

static const GpuEmitter kinds[] = {gpuEmitter(packLaunch, emitPack)};

llvm::ArrayRef<GpuEmitter> codegen::gpuPackKernels() { return kinds; }
