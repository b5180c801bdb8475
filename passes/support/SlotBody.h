//===- SlotBody.h - Writes the body of an mtp.per_slot ----------*- C++ -*-===//
//
// The expansions of draft, verify, accept and commit write their integer code
// with this class: arithmetic on i32, elements of states, and small vectors
// given by a rule for each element.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_PASSES_SUPPORT_SLOTBODY_H
#define MTP_PASSES_SUPPORT_SLOTBODY_H

#include "dialects/MTP/IR/MTPOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::mtp {

/// Returns the name in an op's location, by which its kernel is known; null if
/// there is none.
StringAttr bodyName(PerSlotOp op);
/// Returns `loc` with its name replaced by `name`.
Location renamed(Location loc, StringAttr name);

class SlotBody {
public:
  using Predicate = arith::CmpIPredicate;

  /// Begins an op at the insertion point of `builder`. Its body gets the slot's
  /// row of each of `inputs`. `name` describes what the op does.
  SlotBody(OpBuilder &builder, Location loc, llvm::StringRef name, Value slots,
           ValueRange inputs = {});

  /// Ends the body with `values` and returns the results of the op.
  ValueRange yield(ValueRange values);

  /// Return the slot's index in the batch, and the slot number, as i32.
  Value index();
  Value slot() { return op.getSlotArgument(); }
  Value input(int64_t number) { return op.getInputArguments()[number]; }

  Value constant(int64_t value);
  /// Returns a constant of type i64.
  Value wideConstant(int64_t value);
  Value add(Value a, Value b);
  Value sub(Value a, Value b);
  Value mul(Value a, Value b);
  Value min(Value a, Value b);
  Value max(Value a, Value b);
  Value add(Value a, int64_t b) { return add(a, constant(b)); }
  Value sub(Value a, int64_t b) { return add(a, constant(-b)); }
  Value mul(Value a, int64_t b) { return mul(a, constant(b)); }
  /// Return the quotient and the remainder of a non-negative number.
  Value quotient(Value a, int64_t b);
  Value rem(Value a, int64_t b);
  Value both(Value a, Value b);
  Value either(Value a, Value b);
  Value compare(Predicate predicate, Value a, Value b);
  Value compare(Predicate predicate, Value a, int64_t b) {
    return compare(predicate, a, constant(b));
  }
  /// Return a constant of f32, the exponential of an f32, and whether an f32
  /// is at least another one.
  Value floatConstant(float value);
  Value exp(Value a);
  Value isAtLeast(Value a, Value b);
  Value select(Value condition, Value a, Value b);
  /// Returns an i64 with only bit `index` set.
  Value bit(Value index);
  /// Returns an i64 shifted right by one bit.
  Value halved(Value wide);
  /// Returns an i64 with the bits 0 to `index` set.
  Value bitsUpTo(Value index);

  /// Loads an element of a state of i32 or of f32, or of a tensor; indices are
  /// i32.
  Value load(StringRef state, ValueRange indices = {});
  Value loadFloat(StringRef state);
  void store(Value value, StringRef state, ValueRange indices = {});
  Value element(Value tensor, Value index);
  Value element(Value tensor, int64_t index) {
    return element(tensor, constant(index));
  }

  /// Returns the vector with the element at `index` replaced.
  Value replace(Value tensor, Value element, Value index);

  /// Returns a vector of `count` elements, each computed by `element`.
  Value vector(int64_t count, llvm::function_ref<Value(Value index)> element);
  /// Returns a vector of i64 like `vector`.
  Value wideVector(int64_t count,
                   llvm::function_ref<Value(Value index)> element);
  Value vector(ValueRange elements);
  /// Returns a tensor without elements.
  Value empty(RankedTensorType type);
  /// Runs `body` for 0 .. count - 1. `values` go from one iteration to the
  /// next.
  SmallVector<Value>
  repeat(int64_t count, ValueRange values,
         llvm::function_ref<SmallVector<Value>(Value index, ValueRange)> body);
  /// Runs `body` if `condition` holds.
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
