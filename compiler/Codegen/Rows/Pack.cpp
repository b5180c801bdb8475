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

/// buffers: positions, numbers and masks, all of these packed, places, live.
/// params: M.
static void emitPackRows(KernelBuilder &kb, exec::PackRowsKernelAttr kernel) {
  int64_t count = 1 + kernel.getNumbers() + kernel.getMasks();
  llvm::SmallVector<PackedNumber> numbers;
  for (int64_t i = 0; i < count; ++i) {
    bool isMask = i > kernel.getNumbers();
    numbers.push_back({isMask ? kb.i64Type() : kb.i32Type(), kb.buffer(i),
                       kb.buffer(count + i), isMask ? 8 : 4});
  }
  Value places = kb.buffer(2 * count), live = kb.buffer(2 * count + 1);
  auto emitRow = [&](Value row, Value next) -> Value {
    Value lives = kb.cmp(Cmp::GE, kb.loadI32(kb.buffer(0), row), 0);
    kb.storeI32(kb.select(lives, next, kb.integer(-1)), places, row);
    kb.ifThen(lives, [&] {
      for (const PackedNumber &of : numbers)
        kb.storeOne(kb.loadOne(of.type, kb.at(of.from, row, of.bytes)),
                    kb.at(of.to, next, of.bytes));
    });
    return kb.select(lives, kb.add(next, 1), next);
  };
  kb.forTasks([&](Value) {
    kb.alone([&] {
      Value zero = kb.integer(0), rows = kb.param(0);
      Value end = kb.forRange(zero, rows, 1, zero,
                              [&](Value row, mlir::ValueRange next) {
                                return Values{emitRow(row, next[0])};
                              })[0];
      kb.storeI32(end, live, zero);
      kb.forRange(end, rows, 1, [&](Value row) {
        for (const PackedNumber &of : numbers)
          kb.storeOne(kb.constant(of.type, of.bytes == 4 ? -1 : 0),
                      kb.at(of.to, row, of.bytes));
      });
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
                                  elementKernel(emitUnpackRows)};

llvm::ArrayRef<RowKernel> mtp::codegen::packKernels() { return kinds; }
