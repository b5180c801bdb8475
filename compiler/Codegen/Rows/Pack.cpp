//===- Pack.cpp - Rows that live, side by side ----------------------------===//
//
// Packing is one task, since where a row goes depends on all before it.
//
//===----------------------------------------------------------------------===//

#include "compiler/Codegen/KernelCatalogue.h"

using namespace mtp::codegen;

namespace {
/// What a row has beside its position, before and after.
struct PackedNumber {
  mlir::Type type;
  Value from, to;
  int64_t bytes;
};
} // namespace

/// What rows have, from the buffers `from` on, and packed from `to` on.
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

/// Packs rows, the first of which that lives gets the place `next`, up to the
/// place `stop`; returns the place behind them.
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

/// Of the places [end, rows) nobody lives at.
static void storeDead(KernelBuilder &kb, llvm::ArrayRef<PackedNumber> numbers,
                      Value end, Value rows) {
  kb.forRange(end, rows, 1, [&](Value row) {
    for (const PackedNumber &of : numbers)
      kb.storeOne(kb.constant(of.type, of.bytes == 4 ? -1 : 0),
                  kb.at(of.to, row, of.bytes));
  });
}

/// buffers: positions, numbers and masks, all of these packed, places, live.
/// params: M, room for packed rows.
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
      storeDead(kb, numbers, end, room);
    });
  });
}

/// buffers: positions, numbers and masks, the same of prompts, all of these
/// packed, places, places of prompts, live. params: M, rows of prompts, room
/// for the others.
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
      storeDead(kb, own, end, all);
    });
  });
}

/// out[i] = x[places[i]], or no row. buffers: x, places, out. params: M, rows
/// of x.
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
    // Where no row lives nobody has written even the first one.
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
