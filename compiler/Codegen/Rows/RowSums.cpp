//===- RowSums.cpp - Sums of e^x over a row of logits ---------------------===//

#include "compiler/Codegen/Rows/RowSums.h"
#include "compiler/Codegen/Rows/Argmax.h"
#include "compiler/Codegen/Rows/MathApprox.h"
#include <limits>

using namespace mtp::codegen;

static constexpr double kInfinity = std::numeric_limits<double>::infinity();

RowSums mtp::codegen::sumRow(KernelBuilder &kb, Value x, int64_t width) {
  RowSums sums;
  sums.best = kb.loadOne(kb.f32Type(), kb.at(x, emitArgmax(kb, x, width), 4));
  sums.isFinite = kb.bitAnd(kb.cmp(Cmp::GT, sums.best, kb.f32(-kInfinity)),
                            kb.cmp(Cmp::LT, sums.best, kb.f32(kInfinity)));
  Value zero = kb.constant(kb.f32Lanes(), 0);
  // e^x is 0 at this distance; a NaN also becomes this distance.
  Value least = kb.constant(kb.f32Lanes(), -104);
  Value best = kb.splat(sums.best);
  Values lanes = kb.forChunks(
      width, {zero, zero}, [&](Value first, Value mask, ValueRange in) {
        Value v = kb.loadLanes(kb.f32Type(), kb.at(x, first, 4), mask);
        Value y = kb.max(kb.sub(v, best), least);
        Value power = emitExp(kb, y);
        Values out{kb.add(in[0], power), kb.fma(power, y, in[1])};
        if (mask)
          out = {kb.select(mask, out[0], in[0]),
                 kb.select(mask, out[1], in[1])};
        return out;
      });
  sums.powers = kb.reduceAdd(lanes[0]);
  sums.moments = kb.reduceAdd(lanes[1]);
  return sums;
}

Value mtp::codegen::emitLogSum(KernelBuilder &kb, const RowSums &sums) {
  return kb.select(sums.isFinite, kb.add(sums.best, emitLog(kb, sums.powers)),
                   sums.best);
}

Value mtp::codegen::emitLogSumExp(KernelBuilder &kb, Value x, int64_t width) {
  RowSums sums = sumRow(kb, x, width);
  // If all elements are NaN, the best element is also NaN.
  Value isNumber = kb.cmp(Cmp::EQ, sums.best, sums.best);
  return kb.select(isNumber, emitLogSum(kb, sums), kb.f32(-kInfinity));
}

Value mtp::codegen::emitLogShare(KernelBuilder &kb, Value x, Value sum) {
  auto constant = [&](double value) { return kb.constant(x.getType(), value); };
  Value share = kb.select(kb.cmp(Cmp::EQ, x, sum), constant(0), kb.sub(x, sum));
  return kb.select(kb.cmp(Cmp::GT, x, constant(-kInfinity)), share,
                   constant(-kInfinity));
}
