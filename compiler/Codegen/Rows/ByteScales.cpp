//===- ByteScales.cpp - Scales that are stored as one byte ----------------===//

#include "compiler/Codegen/Rows/ByteScales.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mtp;
using namespace mtp::codegen;

Value mtp::codegen::emitByteScale(KernelBuilder &kb, WeightScales scales,
                                  Value bytes) {
  mlir::Type type = bytes.getType();
  mlir::Type floats = kb.f32Type();
  if (auto vector = mlir::dyn_cast<mlir::VectorType>(type))
    floats = mlir::VectorType::get(vector.getShape(), floats);
  auto all = [&](int64_t value) { return kb.constant(type, double(value)); };
  auto isBelow = [&](int64_t limit) {
    return kb.cmp(Cmp::LT, bytes, all(limit));
  };
  if (scales == WeightScales::E8M0) {
    // The two least powers are denormal.
    Value denormal = kb.shiftLeft(all(0x00200000), bytes);
    Value normal = kb.shiftLeft(kb.sub(bytes, all(1)), all(23));
    return kb.bitcast(kb.select(isBelow(2), denormal, normal), floats);
  }
  Value code = kb.bitAnd(bytes, all(0x7f));
  // Exponent and mantissa move to their places, and the bias of 7 becomes one
  // of 126: half of the value.
  Value normal = kb.bitcast(
      kb.add(kb.shiftLeft(code, all(20)), all((127 - 8) << 23)), floats);
  Value denormal = kb.mul(kb.toFloat(code), kb.constant(floats, 0x1p-10));
  Value isDenormal = kb.cmp(Cmp::LT, code, all(8));
  Value isNone = kb.cmp(Cmp::EQ, code, all(0x7f));
  return kb.select(isNone, kb.constant(floats, 0),
                   kb.select(isDenormal, denormal, normal));
}
