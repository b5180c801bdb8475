//===- GroupScales.cpp - Scales and offsets of groups of weights ----------===//

#include "compiler/Codegen/Rows/GroupScales.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mtp;
using namespace mtp::codegen;

int64_t ScaleField::bytes() const {
  switch (kind) {
  case F32:
  case Word:
    return 4;
  case F16:
    return 2;
  case Byte:
  case SignedByte:
    return 1;
  }
  llvm_unreachable("unknown kind of number");
}

llvm::SmallVector<ScaleField, 4>
mtp::codegen::scaleFields(const QuantizedPanel &panel, int64_t blockInputs) {
  if (panel.hasByteScales())
    return {{ScaleField::Byte, 0}};
  auto kind =
      panel.scales == WeightScales::F32 ? ScaleField::F32 : ScaleField::F16;
  llvm::SmallVector<ScaleField, 4> fields{{kind, 0}};
  if (panel.hasOffset)
    fields.push_back({kind, panel.offsetsAt()});
  if (panel.scales == WeightScales::F16x6) {
    fields.push_back({ScaleField::Word, panel.secondLevelAt()});
    fields.push_back({ScaleField::Byte, panel.lowBitsAt()});
  }
  if (panel.scales == WeightScales::F16x8) {
    fields.push_back({ScaleField::SignedByte, panel.secondLevelAt()});
    if (panel.hasOffset)
      fields.push_back(
          {ScaleField::SignedByte, panel.secondOffsetsAt(blockInputs)});
  }
  return fields;
}

Value mtp::codegen::placeOfField(KernelBuilder &kb, const ScaleField &field,
                                 Value header, Value inBlock, Value output) {
  Value from = kb.at(header, field.at);
  if (field.isOfGroup())
    from = kb.at(from, inBlock, QuantizedPanel::kOutputs * field.bytes());
  return kb.at(from, output, field.bytes());
}

/// Returns the scales of bytes, which are extended to i32. `scales` is E8M0 or
/// E4M3.
static Value emitByteScale(KernelBuilder &kb, WeightScales scales,
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

/// Returns the integers of a group's scale and offset. `words` has the high
/// bits of all groups of the block; `low` has the low bits of this group.
static std::pair<Value, Value> emitSixBits(KernelBuilder &kb, Value inBlock,
                                           Value words, Value low) {
  mlir::Type type = words.getType();
  auto all = [&](int64_t value) { return kb.constant(type, double(value)); };
  Value shift = kb.truncate(kb.mul(inBlock, 4), kb.i32Type());
  if (mlir::isa<mlir::VectorType>(type))
    shift = kb.splat(shift);
  Value high = kb.shiftRight(words, shift);
  return {kb.bitOr(kb.bitAnd(low, all(15)),
                   kb.bitAnd(kb.shiftLeft(high, all(4)), all(48))),
          kb.bitOr(kb.shiftRight(low, all(4)),
                   kb.bitAnd(kb.shiftLeft(high, all(2)), all(48)))};
}

GroupScales mtp::codegen::emitGroupScales(KernelBuilder &kb,
                                          const QuantizedPanel &panel,
                                          Value inBlock, ValueRange numbers) {
  if (panel.hasByteScales())
    return {emitByteScale(kb, panel.scales, numbers[0]), {}};
  Value scale = numbers[0], offset = panel.hasOffset ? numbers[1] : Value();
  ValueRange second = numbers.drop_front(panel.hasOffset ? 2 : 1);
  if (second.empty())
    return {scale, offset};
  Value ofScale = second[0], ofOffset = second.back();
  if (panel.scales == WeightScales::F16x6)
    std::tie(ofScale, ofOffset) =
        emitSixBits(kb, inBlock, second[0], second[1]);
  scale = kb.mul(scale, kb.toFloat(ofScale));
  if (offset) {
    Value zero = kb.constant(ofOffset.getType(), 0);
    offset = kb.mul(offset, kb.toFloat(kb.sub(zero, ofOffset)));
  }
  return {scale, offset};
}
