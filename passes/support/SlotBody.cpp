//===- SlotBody.cpp - Writes the body of an mtp.per_slot ------------------===//

#include "passes/support/SlotBody.h"
#include "dialects/MTP/IR/SlotTypes.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::mtp;

/// Returns the type of all slots' values together, if one slot's value has
/// `type`.
static Type rowsType(Type type, Value slots) {
  return typeOfRows(cast<RankedTensorType>(slots.getType()).getDimSize(0),
                    type);
}

StringAttr mlir::mtp::bodyName(PerSlotOp op) {
  auto named = dyn_cast<NameLoc>(op.getLoc());
  return named ? named.getName() : StringAttr();
}

Location mlir::mtp::renamed(Location loc, StringAttr name) {
  if (auto named = dyn_cast<NameLoc>(loc))
    loc = named.getChildLoc();
  return name ? NameLoc::get(name, loc) : loc;
}

SlotBody::SlotBody(OpBuilder &outer, Location loc, llvm::StringRef name,
                   Value slots, ValueRange inputs)
    : outer(outer), builder(loc, outer.getContext()) {
  op = PerSlotOp::create(outer, renamed(loc, outer.getStringAttr(name)),
                         TypeRange(), slots, inputs);
  Block &body = op.getBodyRegion().emplaceBlock();
  body.addArgument(outer.getIndexType(), loc);
  body.addArgument(outer.getI32Type(), loc);
  for (Value input : inputs)
    body.addArgument(typeOfRow(input.getType()), loc);
  builder.setInsertionPointToStart(&body);
}

ValueRange SlotBody::yield(ValueRange values) {
  YieldOp::create(builder, values);
  // The types of the results are known only now.
  SmallVector<Type> types;
  for (Value value : values)
    types.push_back(rowsType(value.getType(), op.getSlots()));
  auto whole = PerSlotOp::create(outer, op.getLoc(), types, op.getSlots(),
                                 op.getInputs());
  whole.getBodyRegion().takeBody(op.getBodyRegion());
  op.erase();
  op = whole;
  return op.getResults();
}

Value SlotBody::toInteger(Value index) {
  return arith::IndexCastOp::create(builder, builder.getI32Type(), index);
}

SmallVector<Value> SlotBody::toIndices(ValueRange values) {
  return llvm::map_to_vector(values, [&](Value value) -> Value {
    return arith::IndexCastOp::create(builder, builder.getIndexType(), value);
  });
}

Value SlotBody::index() { return toInteger(op.getIndexArgument()); }

Value SlotBody::constant(int64_t value) {
  return arith::ConstantIntOp::create(builder, value, 32);
}

Value SlotBody::wideConstant(int64_t value) {
  return arith::ConstantIntOp::create(builder, value, 64);
}

Value SlotBody::add(Value a, Value b) {
  return arith::AddIOp::create(builder, a, b);
}

Value SlotBody::sub(Value a, Value b) {
  return arith::SubIOp::create(builder, a, b);
}

Value SlotBody::mul(Value a, Value b) {
  return arith::MulIOp::create(builder, a, b);
}

Value SlotBody::quotient(Value a, int64_t b) {
  return arith::DivUIOp::create(builder, a, constant(b));
}

Value SlotBody::rem(Value a, int64_t b) {
  return arith::RemUIOp::create(builder, a, constant(b));
}

Value SlotBody::min(Value a, Value b) {
  return arith::MinSIOp::create(builder, a, b);
}

Value SlotBody::max(Value a, Value b) {
  return arith::MaxSIOp::create(builder, a, b);
}

Value SlotBody::both(Value a, Value b) {
  return arith::AndIOp::create(builder, a, b);
}

Value SlotBody::either(Value a, Value b) {
  return arith::OrIOp::create(builder, a, b);
}

Value SlotBody::compare(Predicate predicate, Value a, Value b) {
  return arith::CmpIOp::create(builder, predicate, a, b);
}

Value SlotBody::floatConstant(float value) {
  return arith::ConstantOp::create(builder, builder.getF32FloatAttr(value));
}

Value SlotBody::exp(Value a) { return math::ExpOp::create(builder, a); }

Value SlotBody::isAtLeast(Value a, Value b) {
  return arith::CmpFOp::create(builder, arith::CmpFPredicate::OGE, a, b);
}

Value SlotBody::select(Value condition, Value a, Value b) {
  return arith::SelectOp::create(builder, condition, a, b);
}

Value SlotBody::bit(Value index) {
  Value wide = arith::ExtUIOp::create(builder, builder.getI64Type(), index);
  return arith::ShLIOp::create(builder, wideConstant(1), wide);
}

Value SlotBody::halved(Value wide) {
  return arith::ShRUIOp::create(builder, wide, wideConstant(1));
}

Value SlotBody::bitsUpTo(Value index) {
  Value last = bit(index);
  Value before = arith::SubIOp::create(builder, last, wideConstant(1));
  return arith::OrIOp::create(builder, last, before);
}

Value SlotBody::load(StringRef state, ValueRange indices) {
  return LoadOp::create(builder, builder.getI32Type(), state,
                        toIndices(indices));
}

Value SlotBody::loadFloat(StringRef state) {
  return LoadOp::create(builder, builder.getF32Type(), state, ValueRange());
}

void SlotBody::store(Value value, StringRef state, ValueRange indices) {
  StoreOp::create(builder, value, state, toIndices(indices));
}

Value SlotBody::element(Value tensor, Value index) {
  return tensor::ExtractOp::create(builder, tensor, toIndices(index));
}

Value SlotBody::replace(Value tensor, Value element, Value index) {
  return tensor::InsertOp::create(builder, element, tensor, toIndices(index));
}

Value SlotBody::vector(int64_t count,
                       llvm::function_ref<Value(Value index)> element) {
  return generate(count, builder.getI32Type(), element);
}

Value SlotBody::wideVector(int64_t count,
                           llvm::function_ref<Value(Value index)> element) {
  return generate(count, builder.getI64Type(), element);
}

Value SlotBody::generate(int64_t count, Type type,
                         llvm::function_ref<Value(Value index)> element) {
  return tensor::GenerateOp::create(
      builder, RankedTensorType::get({count}, type), ValueRange(),
      [&](OpBuilder &inner, Location loc, ValueRange indices) {
        OpBuilder::InsertionGuard guard(builder);
        builder.setInsertionPoint(inner.getInsertionBlock(),
                                  inner.getInsertionPoint());
        tensor::YieldOp::create(builder, element(toInteger(indices.front())));
      });
}

Value SlotBody::vector(ValueRange elements) {
  return tensor::FromElementsOp::create(builder, elements);
}

SmallVector<Value> SlotBody::repeat(
    int64_t count, ValueRange values,
    llvm::function_ref<SmallVector<Value>(Value index, ValueRange)> body) {
  auto number = [&](int64_t value) {
    return arith::ConstantIndexOp::create(builder, value);
  };
  auto loop = scf::ForOp::create(
      builder, number(0), number(count), number(1), values,
      [&](OpBuilder &inner, Location loc, Value index, ValueRange carried) {
        OpBuilder::InsertionGuard guard(builder);
        builder.setInsertionPoint(inner.getInsertionBlock(),
                                  inner.getInsertionPoint());
        scf::YieldOp::create(builder, body(toInteger(index), carried));
      });
  return SmallVector<Value>(loop.getResults());
}

void SlotBody::when(Value condition, llvm::function_ref<void()> body) {
  scf::IfOp::create(builder, condition, [&](OpBuilder &inner, Location loc) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(inner.getInsertionBlock(),
                              inner.getInsertionPoint());
    body();
    scf::YieldOp::create(builder);
  });
}

Value SlotBody::empty(RankedTensorType type) {
  return tensor::EmptyOp::create(builder, type, ValueRange());
}
