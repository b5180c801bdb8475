//===- Pack.cpp - Packing of active rows ----------------------------------===//
//
// Packing is one task, because a row's place depends on all rows before it.
//
//===----------------------------------------------------------------------===//

#include "compiler/Codegen/KernelCatalogue.h"

using namespace mtp::codegen;

namespace {
/// A number of each row, unpacked and packed.
struct PackedNumber {
  mlir::Type type;
  Value from, to;
  int64_t bytes;
};
} // namespace

/// Returns the positions, numbers and masks of rows: unpacked from buffer
/// `from` on, and packed from buffer `to` on.
static llvm::SmallVector<PackedNumber> numbersOf(KernelBuilder &kb,
                                                 int64_t numbers, int64_t masks,
                                                 int64_t from, int64_t to) {
  llvm::SmallVector<PackedNumber> all;
  for (int64_t i = 0; i <= numbers + masks; ++i) {
    bool isMask = i > numbers;
    all.push_back({isMask ? kb.i64Type() : kb.i32Type(), kb.buffer(from + i),
                   kb.buffer(to + i), isMask ? 8 : 4});
  }
  return all;
}

/// Packs the active rows into places from `next` on, up to `stop`. Returns the
/// place after them.
static Value packAll(KernelBuilder &kb, llvm::ArrayRef<PackedNumber> numbers,
                     Value places, Value rows, Value next, Value stop) {
  auto emitRow = [&](Value row, Value next) -> Value {
    Value isRow = kb.cmp(Cmp::GE, kb.loadI32(numbers[0].from, row), 0);
    Value lives = kb.bitAnd(isRow, kb.cmp(Cmp::LT, next, stop));
    kb.storeI32(kb.select(lives, next, kb.integer(-1)), places, row);
    kb.ifThen(lives, [&] {
      for (const PackedNumber &of : numbers)
        kb.storeOne(kb.loadOne(of.type, kb.at(of.from, row, of.bytes)),
                    kb.at(of.to, next, of.bytes));
    });
    return kb.select(lives, kb.add(next, 1), next);
  };
  return kb.forRange(kb.integer(0), rows, 1, next,
                     [&](Value row, mlir::ValueRange next) {
                       return Values{emitRow(row, next[0])};
                     })[0];
}

/// Makes places [end, rows) padding rows.
static void storePadding(KernelBuilder &kb,
                         llvm::ArrayRef<PackedNumber> numbers, Value end,
                         Value rows) {
  kb.forRange(end, rows, 1, [&](Value row) {
    for (const PackedNumber &of : numbers)
      kb.storeOne(kb.constant(of.type, of.bytes == 4 ? -1 : 0),
                  kb.at(of.to, row, of.bytes));
  });
}

/// Emits packing. Buffers: positions, numbers and masks; the packed form of
/// each; places, number of active rows. Params: M, room for packed rows.
static void emitPackRows(KernelBuilder &kb, exec::PackRowsKernelAttr kernel) {
  int64_t count = 1 + kernel.getNumbers() + kernel.getMasks();
  auto numbers =
      numbersOf(kb, kernel.getNumbers(), kernel.getMasks(), 0, count);
  kb.forTasks([&](Value) {
    kb.alone([&] {
      Value zero = kb.integer(0), room = kb.param(1);
      Value end =
          packAll(kb, numbers, kb.buffer(2 * count), kb.param(0), zero, room);
      kb.storeI32(end, kb.buffer(2 * count + 1), zero);
      storePadding(kb, numbers, end, room);
    });
  });
}

/// Emits packing of rows and of prompts' rows. Params: M, rows of prompts, room
/// for the other rows. Buffers, in order:
/// - positions, numbers and masks of rows, then of prompts;
/// - the packed positions, numbers and masks of both;
/// - places of rows, places of prompts, number of active rows.
static void emitPackPrompts(KernelBuilder &kb,
                            exec::PackPromptsKernelAttr kernel) {
  int64_t count = 1 + kernel.getNumbers() + kernel.getMasks();
  auto numbersFrom = [&](int64_t from) {
    return numbersOf(kb, kernel.getNumbers(), kernel.getMasks(), from,
                     2 * count);
  };
  auto own = numbersFrom(0), theirs = numbersFrom(count);
  kb.forTasks([&](Value) {
    kb.alone([&] {
      Value zero = kb.integer(0), more = kb.param(1), room = kb.param(2);
      Value all = kb.add(room, more);
      Value next =
          packAll(kb, own, kb.buffer(3 * count), kb.param(0), zero, room);
      Value end =
          packAll(kb, theirs, kb.buffer(3 * count + 1), more, next, all);
      kb.storeI32(end, kb.buffer(3 * count + 2), zero);
      storePadding(kb, own, end, all);
    });
  });
}

/// Emits out[i] = x[places[i]], or an empty row. Buffers: x, places, out.
/// Params: M, rows of x.
static void emitUnpackRows(KernelBuilder &kb,
                           exec::UnpackRowsKernelAttr kernel) {
  int64_t width = kernel.getWidth();
  mlir::Type element = kernel.getIsNumbers() ? kb.i32Type() : kb.f32Type();
  Value none = kb.constant(element, kernel.getIsNumbers() ? -1 : 0);
  kb.forTasks([&](Value row) {
    Value place = kb.loadI32(kb.buffer(1), row);
    Value from =
        kb.at(kb.buffer(0), kb.clampIndex(place, kb.param(1)), width * 4);
    Value to = kb.at(kb.buffer(2), row, width * 4);
    // If no row is active, not even the first packed row was written.
    kb.ifElse(
        kb.cmp(Cmp::GE, place, 0), [&] { kb.copy(from, to, width); },
        [&] {
          kb.forChunks(width, [&](Value begin, Value mask) {
            kb.storeLanes(kb.splat(none), kb.at(to, begin, 4), mask);
          });
        });
  });
}

static const RowKernel kinds[] = {rowKernel(emitPackRows),
                                  rowKernel(emitPackPrompts),
                                  elementKernel(emitUnpackRows)};

llvm::ArrayRef<RowKernel> mtp::codegen::packKernels() { return kinds; }
