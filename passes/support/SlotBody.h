//===- SlotBody.h - Writes the body of an mtp.per_slot ----------*- C++ -*-===//
//
// The expansions of draft, verify, accept and commit write their integer code
// with this: arithmetic on i32, elements of states, and small vectors by a rule
// for each element.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_PASSES_SUPPORT_SLOTBODY_H
#define MTP_PASSES_SUPPORT_SLOTBODY_H

#include "dialects/MTP/IR/MTPOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::mtp {

/// The name that an op's location has, by which its kernel is known; null
/// without one.
StringAttr bodyName(PerSlotOp op);
/// `loc` with a name, in place of the one that it has.
Location renamed(Location loc, StringAttr name);

class SlotBody {
public:
  using Predicate = arith::CmpIPredicate;

  /// Begins an op at the insertion point of `builder` that gives the body what
  /// `inputs` have for its slot. The name says what it does.
  SlotBody(OpBuilder &builder, Location loc, llvm::StringRef name, Value slots,
           ValueRange inputs = {});

  /// Ends the body with these values and returns the results of the op.
  ValueRange yield(ValueRange values);

  /// The slot's place among the slots, and the slot, as i32.
  Value index();
  Value slot() { return op.getSlotArgument(); }
  Value input(int64_t number) { return op.getInputArguments()[number]; }

  Value constant(int64_t value);
  /// One of i64.
  Value wideConstant(int64_t value);
  Value add(Value a, Value b);
  Value sub(Value a, Value b);
  Value mul(Value a, Value b);
  Value min(Value a, Value b);
  Value max(Value a, Value b);
  Value add(Value a, int64_t b) { return add(a, constant(b)); }
  Value sub(Value a, int64_t b) { return add(a, constant(-b)); }
  Value mul(Value a, int64_t b) { return mul(a, constant(b)); }
  /// What is left of a number that is not negative.
  Value rem(Value a, int64_t b);
  Value both(Value a, Value b);
  Value either(Value a, Value b);
  Value compare(Predicate predicate, Value a, Value b);
  Value compare(Predicate predicate, Value a, int64_t b) {
    return compare(predicate, a, constant(b));
  }
  /// Whether a row of one f32 is at least so much.
  Value isAtLeast(Value row, float least);
  Value select(Value condition, Value a, Value b);
  /// An i64 of which the bit `index` alone is set.
  Value bit(Value index);
  /// An i64 whose bits are one further down.
  Value halved(Value wide);
  /// One of which the bits from 0 to `index` are set.
  Value bitsUpTo(Value index);

  /// An element of a state of i32, or of a tensor; indices are i32.
  Value load(StringRef state, ValueRange indices = {});
  void store(Value value, StringRef state, ValueRange indices = {});
  Value element(Value tensor, Value index);
  Value element(Value tensor, int64_t index) {
    return element(tensor, constant(index));
  }

  /// The vector with another element at `index`.
  Value replace(Value tensor, Value element, Value index);

  /// The vector of `count` elements, each of which `element` gives.
  Value vector(int64_t count, llvm::function_ref<Value(Value index)> element);
  /// The same of i64.
  Value wideVector(int64_t count,
                   llvm::function_ref<Value(Value index)> element);
  Value vector(ValueRange elements);
  /// A tensor without elements.
  Value empty(RankedTensorType type);
  /// Runs `body` for 0 .. count - 1 with values that go from one to the next.
  SmallVector<Value>
  repeat(int64_t count, ValueRange values,
         llvm::function_ref<SmallVector<Value>(Value index, ValueRange)> body);
  /// Runs `body` where `condition` holds.
  void when(Value condition, llvm::function_ref<void()> body);

private:
  Value generate(int64_t count, Type type,
                 llvm::function_ref<Value(Value index)> element);
  SmallVector<Value> toIndices(ValueRange values);
  Value toInteger(Value index);

  OpBuilder &outer;
  PerSlotOp op;
  ImplicitLocOpBuilder builder;
};

} // namespace mlir::mtp

#endif // MTP_PASSES_SUPPORT_SLOTBODY_H
