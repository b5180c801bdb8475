//===- Pack.cpp - Packing of active rows by one block ---------------------===//
//
// Each thread has one row of a stretch. The place of an active row is the
// number of active rows before the stretch, in earlier warps, and earlier in
// its warp. The results equal those of compiler/Codegen/Rows/Pack.cpp, which
// goes row by row in one thread.
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
  /// `to` is the first buffer of the packed rows.
  RowPacker(GpuBuilder &kb, int64_t numbers, int64_t masks, int64_t to)
      : kb(kb), firstMask(1 + numbers), count(firstMask + masks), to(to),
        warpCounts(kb.shared(kb.warps() * 4)) {}

  Value pack(int64_t from, Value rows, int64_t places, Value before,
             Value stop);
  void storePadding(Value live, Value rows);

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
  /// Number of the first mask of a row, count of all its numbers (position
  /// first, then numbers, then masks), and the first destination buffer.
  const int64_t firstMask, count, to;
  /// First source buffer, and the buffer of places, of the current rows.
  int64_t from = 0, places = 0;
  /// Number of the current rows, the place (i32) at which they must end, and
  /// the number of active rows in each warp (shared memory).
  Value rows, stop, warpCounts;
};
} // namespace

/// Packs the active rows of a stretch after `before` (i32) other rows. Returns
/// the number of active rows so far.
Value RowPacker::packStretch(Value first, Value before) {
  Type i32 = kb.i32Type();
  Value none = kb.constant(i32, -1), zero = kb.constant(i32, 0);
  Value row = kb.add(first, kb.thread());
  Value isRow = kb.cmp(Cmp::LT, row, rows);
  Value position = kb.choose(
      isRow, [&] { return Values{kb.loadOwn(i32, at(from, 0, row))}; },
      [&] { return Values{none}; })[0];
  Value lives = kb.cmp(Cmp::GE, position, zero);
  Value ballot = kb.ballot(lives);
  Value lane = kb.truncate(kb.laneOfWarp(), i32);
  Value below =
      kb.sub(kb.shiftLeft(kb.constant(i32, 1), lane), kb.constant(i32, 1));
  // Another warp may still read the counts of the previous stretch.
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
  // Places ascend with rows: if a row has no room, no later row has.
  Value isPacked = kb.bitAnd(lives, kb.cmp(Cmp::LT, place, stop));
  kb.storeOwn(kb.select(isPacked, place, none), at(places, 0, row), isRow);
  kb.ifThen(isPacked, [&] {
    Value own = kb.extend(place, kb.i64Type());
    for (int64_t i = 0; i < count; ++i)
      kb.storeOwn(kb.loadOwn(typeOf(i), at(from + i, i, row)),
                  at(to + i, i, own));
  });
  return after;
}

/// Packs the active rows of the buffers from `first` on after `before` (i32)
/// other rows, up to the place `toStop`. Returns the number of packed rows so
/// far.
Value RowPacker::pack(int64_t first, Value ofRows, int64_t toPlaces,
                      Value before, Value toStop) {
  from = first;
  rows = ofRows;
  places = toPlaces;
  stop = kb.truncate(toStop, kb.i32Type());
  Value end = kb.forRange(kb.integer(0), rows, kb.threads(), {before},
                          [&](Value first, ValueRange before) {
                            return Values{packStretch(first, before[0])};
                          })[0];
  return kb.min(end, stop);
}

/// Marks the places from `live` (i32) up to `all` as padding rows.
void RowPacker::storePadding(Value live, Value all) {
  Value end = kb.extend(live, kb.i64Type());
  kb.forRange(kb.add(end, kb.thread()), all, kb.threads(), [&](Value row) {
    for (int64_t i = 0; i < count; ++i)
      kb.storeOwn(kb.constant(typeOf(i), isMask(i) ? 0 : -1),
                  at(to + i, i, row));
  });
}

template <typename KernelT>
static GpuLaunch packLaunch(KernelT) {
  return {/*blocks=*/1, /*rowsPerGroup=*/0, kPackThreads};
}

/// Emits pack_rows. Buffers: positions, numbers and masks; all of them packed;
/// places; number of active rows. Params: M, room for packed rows.
static void emitPack(GpuBuilder &kb, exec::PackRowsKernelAttr kernel) {
  kb.begin();
  int64_t count = 1 + kernel.getNumbers() + kernel.getMasks();
  RowPacker packer(kb, kernel.getNumbers(), kernel.getMasks(), count);
  Value room = kb.param(1), none = kb.constant(kb.i32Type(), 0);
  Value live = packer.pack(0, kb.param(0), 2 * count, none, room);
  kb.storeOne(live, kb.buffer(2 * count + 1));
  packer.storePadding(live, room);
}

/// Emits the packing of rows with prompts. Buffers: positions, numbers and
/// masks of the round; positions, numbers and masks of prompts; all of them
/// packed; places of rows; places of prompt rows; number of active rows.
/// Params: M, number of prompt rows, room for the other rows.
static void emitPackPrompts(GpuBuilder &kb,
                            exec::PackPromptsKernelAttr kernel) {
  kb.begin();
  int64_t count = 1 + kernel.getNumbers() + kernel.getMasks();
  RowPacker packer(kb, kernel.getNumbers(), kernel.getMasks(), 2 * count);
  Value more = kb.param(1), room = kb.param(2), all = kb.add(room, more);
  Value none = kb.constant(kb.i32Type(), 0);
  Value next = packer.pack(0, kb.param(0), 3 * count, none, room);
  Value live = packer.pack(count, more, 3 * count + 1, next, all);
  kb.storeOne(live, kb.buffer(3 * count + 2));
  packer.storePadding(live, all);
}

static const GpuEmitter kinds[] = {
    gpuEmitter(packLaunch<exec::PackRowsKernelAttr>, emitPack),
    gpuEmitter(packLaunch<exec::PackPromptsKernelAttr>, emitPackPrompts)};

llvm::ArrayRef<GpuEmitter> codegen::gpuPackKernels() { return kinds; }
