//===- SampleResidual.cpp - Picks from the residual of two distributions --===//

#include "compiler/Codegen/KernelCatalogue.h"
#include "compiler/Codegen/Rows/TokenWeight.h"
#include "llvm/Support/MathExtras.h"

using namespace mtp;
using namespace mtp::codegen;

namespace {
/// The positive part of p - q, in units of 2^-38. The sum of a distribution in
/// these units, times 2^24, has less than 64 bits.
class Residual {
public:
  Residual(KernelBuilder &kb, int64_t width, Value p, Value q)
      : kb(kb), width(width), p(p), q(q) {}

  /// Returns the column (i64) at which sums exceed a share; -1 if all are 0.
  Value pick(Value uniform, Value hasLess);

private:
  /// Returns the sum (i64, uniform) of columns [begin, end).
  Value sum(Value begin, Value end, Value hasLess);

  KernelBuilder &kb;
  const int64_t width;
  /// `q` is null if the kernel has none.
  const Value p, q;
};
} // namespace

Value Residual::sum(Value begin, Value end, Value hasLess) {
  mlir::Type wide = kb.laneType(kb.i64Type());
  Value zero = kb.constant(kb.f32Lanes(), 0);
  Value isLess = q ? kb.splat(hasLess) : Value();
  Value last = kb.splat(kb.truncate(end, kb.i32Type()));
  Values sums = kb.forRange(
      begin, end, kb.lanes(), {kb.constant(wide, 0)},
      [&](Value first, ValueRange in) {
        Value column = kb.add(kb.laneNumbers(),
                              kb.splat(kb.truncate(first, kb.i32Type())));
        Value mask = kb.cmp(Cmp::LT, column, last);
        Value more = kb.loadLanes(kb.f32Type(), kb.at(p, first, 4), mask);
        if (q) {
          Value less = kb.loadLanes(kb.f32Type(), kb.at(q, first, 4), mask);
          more = kb.sub(more, kb.select(isLess, less, zero));
        }
        more = kb.min(kb.max(more, zero), kb.constant(kb.f32Lanes(), 1));
        Value units = kb.toInteger(
            kb.mul(more, kb.constant(kb.f32Lanes(), 0x1p38)), kb.i64Type());
        return Values{kb.add(in[0], units)};
      });
  return emitSumOfUnits(kb, sums[0]);
}

Value Residual::pick(Value uniform, Value hasLess) {
  constexpr int64_t kBits = 24; // of a uniform number
  Value all = kb.integer(width);
  Value total = sum(kb.integer(0), all, hasLess);
  if (q) {
    Value isEmpty = kb.bitAnd(hasLess, kb.cmp(Cmp::EQ, total, 0));
    Values from = kb.choose(
        isEmpty,
        [&] {
          Value none = kb.boolean(false);
          return Values{sum(kb.integer(0), all, none), none};
        },
        [&] { return Values{total, hasLess}; });
    total = from[0];
    hasLess = from[1];
  }
  Value share = kb.toInteger(
      kb.mul(kb.max(kb.min(uniform, kb.f32(1 - 0x1p-24)), kb.f32(0)),
             kb.f32(0x1p24)),
      kb.i64Type());
  // total * share / 2^24, rounded down.
  Value bits = kb.integer(kBits), mask = kb.integer((int64_t(1) << kBits) - 1);
  Value low = kb.shiftRight(kb.mul(kb.bitAnd(total, mask), share), bits);
  Value goal = kb.add(kb.mul(kb.shiftRight(total, bits), share), low);
  // Binary search: each step sums the first half of the remaining columns.
  int64_t steps = llvm::Log2_64_Ceil(width);
  Value column = kb.forRange(
      kb.integer(0), kb.integer(steps), 1, {kb.integer(0), goal},
      [&](Value step, ValueRange in) {
        Value half = kb.shiftRight(kb.integer((int64_t(1) << steps) / 2), step);
        Value middle = kb.add(in[0], half);
        Value before = sum(in[0], kb.min(middle, all), hasLess);
        Value isBehind = kb.cmp(Cmp::GE, in[1], before);
        return Values{kb.select(isBehind, middle, in[0]),
                      kb.select(isBehind, kb.sub(in[1], before), in[1])};
      })[0];
  // Without this clamp, sums of numbers that are no distribution may lead past
  // the end.
  return kb.select(kb.cmp(Cmp::EQ, total, 0), kb.integer(-1),
                   kb.clampIndex(column, all));
}

namespace {
/// Buffers and params of `SampleResidualKernelAttr`.
class SampleResidual {
public:
  SampleResidual(KernelBuilder &kb, exec::SampleResidualKernelAttr kernel);

  Value pick(Value i);

private:
  /// Returns row `own` of the `rows` rows of pick `i`, or the nearest one.
  /// There are `count` rows in all.
  Value rowOf(Value base, Value i, Value own, Value rows, Value count);
  Value pickFrom(Value i, Value own, Value row);

  KernelBuilder &kb;
  const int64_t width, packed;
  Value p, places, q, at, uniforms;
  /// Rows of each pick.
  Value rowsOfP, rowsOfQ;
};
} // namespace

SampleResidual::SampleResidual(KernelBuilder &kb,
                               exec::SampleResidualKernelAttr kernel)
    : kb(kb), width(kernel.getWidth()), packed(kernel.getPacked()) {
  int64_t next = 0;
  auto bufferIf = [&](bool isThere) {
    return isThere ? kb.buffer(next++) : Value();
  };
  p = bufferIf(true);
  places = bufferIf(packed > 0);
  q = bufferIf(kernel.getLess());
  at = bufferIf(kernel.getChosen());
  uniforms = bufferIf(true);
  Value one = kb.integer(1), picks = kb.max(kb.param(0), one);
  rowsOfP = kb.max(kb.div(kb.param(1), picks), one);
  rowsOfQ = kb.max(kb.div(kb.param(2), picks), one);
}

Value SampleResidual::rowOf(Value base, Value i, Value own, Value rows,
                            Value count) {
  Value row = kb.add(kb.mul(i, rows), kb.clampIndex(own, rows));
  return kb.at(base, kb.clampIndex(row, count), width * 4);
}

Value SampleResidual::pickFrom(Value i, Value own, Value row) {
  Value hasLess =
      kb.bitAnd(kb.cmp(Cmp::GE, own, 0), kb.cmp(Cmp::LT, own, rowsOfQ));
  Value less = q ? rowOf(q, i, own, rowsOfQ, kb.param(2)) : Value();
  Value uniform = kb.loadOne(kb.f32Type(), kb.at(uniforms, i, 4));
  return Residual(kb, width, row, less).pick(uniform, hasLess);
}

Value SampleResidual::pick(Value i) {
  Value own = at ? kb.loadI32(at, i) : kb.integer(0);
  if (!packed)
    return pickFrom(i, own, rowOf(p, i, own, rowsOfP, kb.param(1)));
  Value each = kb.integer(packed);
  Value place =
      kb.loadI32(places, kb.add(kb.mul(i, each), kb.clampIndex(own, each)));
  // The packed row of a padding row may never have been written.
  return kb.choose(
      kb.cmp(Cmp::GE, place, 0),
      [&] {
        Value row = kb.at(p, kb.clampIndex(place, kb.param(1)), width * 4);
        return Values{pickFrom(i, own, row)};
      },
      [&] { return Values{kb.integer(-1)}; })[0];
}

/// Emits sample_residual. Buffers: p, [places], [q], [at], uniforms, picks.
/// Params: picks, rows of p, rows of q.
static void emitSampleResidual(KernelBuilder &kb,
                               exec::SampleResidualKernelAttr kernel) {
  SampleResidual residual(kb, kernel);
  Value out = kb.buffer(2 + (kernel.getPacked() > 0) + kernel.getLess() +
                        kernel.getChosen());
  kb.forTasks([&](Value i) { kb.storeI32(residual.pick(i), out, i); });
}

static const RowKernel kinds[] = {rowKernel(emitSampleResidual)};

llvm::ArrayRef<RowKernel> mtp::codegen::pickResidualKernels() { return kinds; }
