//===- RowQuantization.cpp - Quantization of rows -------------------------===//

#include "compiler/Codegen/Rows/RowQuantization.h"

using namespace mtp::codegen;

/// Largest integer of a row.
static constexpr double kRowLimit = 127;
/// A group of a row whose values are all smaller than this counts as zeros,
/// because its scale would have no reciprocal.
static constexpr double kLeastValue = 1e-36;
static constexpr double kRoundingBias = 12582912.0;

Value mtp::codegen::emitMagnitudeBits(KernelBuilder &kb, Value x) {
  return kb.bitAnd(kb.bitcast(x, kb.i32Lanes()),
                   kb.constant(kb.i32Lanes(), 0x7fffffff));
}

RowScale mtp::codegen::emitRowScale(KernelBuilder &kb, Value magnitudeBits) {
  Value most = kb.bitcast(magnitudeBits, kb.f32Type());
  Value limit = kb.f32(kRowLimit);
  Value perUnit = kb.select(kb.cmp(Cmp::GT, most, kb.f32(kLeastValue)),
                            kb.div(limit, most), kb.f32(0));
  return {kb.div(most, limit), perUnit};
}

Value mtp::codegen::emitRowInteger(KernelBuilder &kb, Value x,
                                   const RowScale &scale) {
  Value bias = kb.constant(kb.f32Lanes(), kRoundingBias);
  return kb.bitcast(kb.fma(x, kb.splat(scale.perUnit), bias), kb.i32Lanes());
}
