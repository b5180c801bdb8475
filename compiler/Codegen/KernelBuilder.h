//===- KernelBuilder.h - Idioms for writing kernels -------------*- C++ -*-===//
//
// The operations that emitters use on every target: arithmetic, pointers with
// explicit strides, loops, and *lanes*. A value is either uniform or has one
// number per lane. A uniform value is equal everywhere in a task. Lanes are the
// elements of a vector register on a CPU and the threads of a block on a GPU.
// Loads and stores of lanes access neighbouring elements. A loop over a width
// has a masked end. A reduction joins the lanes of a task in one fixed order.
//
// A kernel that needs only this builder is written once, in
// compiler/Codegen/Rows. Each target has its own builder for products and
// attention (CpuBuilder, GpuBuilder).
//
// Rules that all kernels share:
//
//  - no scalar loop over floats: a ragged end is a mask;
//  - nothing outside a buffer is read or written;
//  - a reduction's order depends on the width alone (row invariance);
//  - a lane reads what another lane stored only after `sync`.
//
// Integers are i64 unless stated otherwise; pointers are untyped.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_CODEGEN_KERNELBUILDER_H
#define MTP_COMPILER_CODEGEN_KERNELBUILDER_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "runtime/schema/WeightFormat.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

namespace mtp::codegen {

using mlir::Value;
using mlir::ValueRange;
using Values = llvm::SmallVector<Value, 8>;

/// Element type of a table, a weight matrix or a cache. I8 is for caches only:
/// integers with scales (CacheLayout.h).
enum class DType { F32, BF16, I8 };

inline int64_t byteWidth(DType dtype) {
  return dtype == DType::F32 ? 4 : dtype == DType::BF16 ? 2 : 1;
}

/// Returns the element type of a weight that is not quantised.
inline DType dtypeOf(const WeightFormat &format) {
  return format.isBF16() ? DType::BF16 : DType::F32;
}

enum class Cmp { EQ, NE, LT, LE, GT, GE };

/// Two neighbouring elements, lane by lane.
struct Pair {
  Value first, second;
};

class KernelBuilder {
public:
  KernelBuilder(mlir::OpBuilder &builder, mlir::Location loc)
      : builder(builder), loc(loc) {}
  virtual ~KernelBuilder() = default;

  //===--- The kernel -----------------------------------------------------===//

  virtual Value buffer(int64_t index) = 0;
  virtual Value param(int64_t index) = 0;
  /// Returns the memory of the task, of the size in the kernel's table.
  virtual Value scratch() = 0;
  /// Runs `body` for every task of the caller's range.
  virtual void forTasks(llvm::function_ref<void(Value)> body) = 0;

  //===--- Types and constants --------------------------------------------===//

  mlir::Type i8Type() { return builder.getI8Type(); }
  mlir::Type i16Type() { return builder.getI16Type(); }
  mlir::Type i32Type() { return builder.getI32Type(); }
  mlir::Type i64Type() { return builder.getI64Type(); }
  mlir::Type f32Type() { return builder.getF32Type(); }
  mlir::Type bf16Type() { return builder.getBF16Type(); }
  mlir::VectorType vectorType(mlir::Type element, int64_t count);

  Value integer(int64_t value);
  Value boolean(bool value);
  /// Returns `value` in the shape of `type`: i32, i64, f32 or a vector of one
  /// of them.
  Value constant(mlir::Type type, double value);
  Value f32(double value) { return constant(f32Type(), value); }

  //===--- Arithmetic: uniform values, lanes and vectors ------------------===//

  Value add(Value a, Value b);
  Value sub(Value a, Value b);
  Value mul(Value a, Value b);
  /// Divides; signed and rounding towards zero on integers.
  Value div(Value a, Value b);
  Value rem(Value a, Value b);
  Value add(Value a, int64_t b) { return add(a, integer(b)); }
  Value sub(Value a, int64_t b) { return sub(a, integer(b)); }
  Value mul(Value a, int64_t b) { return mul(a, integer(b)); }
  Value div(Value a, int64_t b) { return div(a, integer(b)); }
  Value rem(Value a, int64_t b) { return rem(a, integer(b)); }
  /// Returns a * b + c, rounded once.
  Value fma(Value a, Value b, Value c);
  Value neg(Value a);
  Value sqrt(Value a);
  /// Returns the larger (`max`) or smaller (`min`) value; `b` if they do not
  /// compare (NaN).
  Value max(Value a, Value b);
  Value min(Value a, Value b);
  /// Compares: ordered on floats (false for NaN), signed on integers.
  Value cmp(Cmp predicate, Value a, Value b);
  Value cmp(Cmp predicate, Value a, int64_t b) {
    return cmp(predicate, a, integer(b));
  }
  /// Returns the value of [0, count) that is nearest to `index`. A kernel may
  /// read any number from memory, and no number may lead outside a buffer.
  Value clampIndex(Value index, Value count) {
    return max(min(index, sub(count, 1)), integer(0));
  }
  /// Clamps `index` to [0, count). Returns `index` unchanged if `count` is 0.
  Value clampIndex(Value index, int64_t count) {
    return count > 0 ? clampIndex(index, integer(count)) : index;
  }
  Value select(Value condition, Value a, Value b);
  Value bitAnd(Value a, Value b);
  Value bitOr(Value a, Value b);
  Value bitXor(Value a, Value b);
  Value shiftLeft(Value a, Value b);
  Value shiftRight(Value a, Value b); // Fills with zeros.
  Value shiftRightSigned(Value a, Value b);
  Value countTrailingZeros(Value a);
  Value bitcast(Value a, mlir::Type type);
  Value truncate(Value a, mlir::Type type);
  Value extend(Value a, mlir::Type type); // For signed integers.
  Value extendUnsigned(Value a, mlir::Type type);
  /// Converts i32 or i64 to f32.
  Value toFloat(Value a);
  /// Rounds f32 towards zero. The result must fit in `element`.
  Value toInteger(Value a, mlir::Type element);
  /// Returns the bits (i16) of f32 values rounded to bf16: nearest, ties to
  /// even.
  Value roundToBF16(Value value);

  //===--- Lanes ----------------------------------------------------------===//

  virtual int64_t lanes() const = 0;
  /// Returns the type of a value with one `element` per lane.
  virtual mlir::Type laneType(mlir::Type element) = 0;
  mlir::Type f32Lanes() { return laneType(f32Type()); }
  mlir::Type i32Lanes() { return laneType(i32Type()); }
  /// Returns a uniform value in every lane.
  virtual Value splat(Value uniform) = 0;
  /// Returns the number of each lane, 0, 1, 2, ..., as i32.
  virtual Value laneNumbers() = 0;
  /// Returns the mask of the first `count` lanes.
  virtual Value firstLanes(int64_t count) = 0;
  /// Joins the lanes of all `values` at once, in one fixed order. `combine`
  /// takes the values of two sets of lanes, the lower one first. The result is
  /// uniform.
  virtual Values
  reduceLanes(ValueRange values,
              llvm::function_ref<Values(ValueRange, ValueRange)> combine) = 0;
  Value reduceAdd(Value value);

  //===--- Memory ---------------------------------------------------------===//

  /// Returns `base` plus `index` strides of `strideBytes`.
  Value at(Value base, Value index, int64_t strideBytes);
  Value at(Value base, int64_t bytes);
  /// Loads one element. A load or store assumes the alignment of one element
  /// only.
  Value loadOne(mlir::Type type, Value pointer);
  virtual void storeOne(Value uniform, Value pointer) = 0;
  /// Loads the i32 at `base[index]` as an i64.
  Value loadI32(Value base, Value index);
  void storeI32(Value value, Value base, Value index);
  /// Loads the i-th element from `pointer` on into lane i. `mask` may be null.
  /// Masked-off lanes are zero and their memory is not touched.
  virtual Value loadLanes(mlir::Type element, Value pointer,
                          Value mask = {}) = 0;
  virtual void storeLanes(Value value, Value pointer, Value mask = {}) = 0;
  /// Loads the i32 at `base[index]` of each lane. `indices` are i32 lanes, not
  /// negative. Masked-off lanes are zero and their memory is not touched.
  virtual Value gatherLanes(Value base, Value indices, Value mask = {}) = 0;
  /// Returns whether `packLanes` is available, which lets later work skip
  /// masked-off lanes.
  virtual bool packsLanes() const { return false; }
  /// Stores the elements of the lanes in `mask` side by side from `pointer` on.
  /// Returns their number (i64, uniform). Precondition: `packsLanes`.
  virtual Value packLanes(Value value, Value pointer, Value mask);
  /// Loads elements of `dtype` as f32. Here and below, `dtype` is F32 or BF16.
  Value loadFloats(Value pointer, DType dtype, Value mask = {});
  void storeFloats(Value value, Value pointer, DType dtype, Value mask = {});
  /// Loads the first `count` integers at `pointer` as i32, at most `lanes()` of
  /// them. They have `bits` bits: 8, or 4 with the low half of a group of four
  /// bytes first (see QuantizedPanel). Words of four bytes lie `stride` bytes
  /// apart. Other lanes are undefined.
  virtual Value loadPacked(Value pointer, int64_t bits, int64_t count,
                           int64_t stride = 4) = 0;
  /// Loads one f16 as f32.
  Value loadHalf(Value pointer);
  /// Computes to[2i], to[2i + 1] = body(from[2i], from[2i + 1]) for each i <
  /// pairs. `body` also gets element i of each of the f32 `tables`. `from` is
  /// f32.
  virtual void
  mapNeighbours(Value from, Value to, int64_t pairs, DType toType,
                ValueRange tables,
                llvm::function_ref<Pair(Pair, ValueRange)> body) = 0;
  /// Copies `width` 32-bit elements.
  void copy(Value from, Value to, int64_t width);
  /// Copies `width` f32 values to elements of `dtype`.
  void copyFloats(Value from, Value to, int64_t width, DType dtype);
  /// Makes the stores of all lanes of the task visible to every lane.
  virtual void sync() = 0;
  /// Runs `body` in one thread; nothing in `body` may be spread over lanes. The
  /// thread sees its own stores. Other threads see them after `sync`.
  virtual void alone(llvm::function_ref<void()> body) = 0;

  //===--- Control: conditions and bounds are uniform ---------------------===//

  void forRange(Value begin, Value end, int64_t step,
                llvm::function_ref<void(Value)> body);
  Values forRange(Value begin, Value end, int64_t step, ValueRange inits,
                  llvm::function_ref<Values(Value, ValueRange)> body);
  Values whileLoop(ValueRange inits,
                   llvm::function_ref<Value(ValueRange)> condition,
                   llvm::function_ref<Values(ValueRange)> body);
  void ifThen(Value condition, llvm::function_ref<void()> body);
  void ifElse(Value condition, llvm::function_ref<void()> thenBody,
              llvm::function_ref<void()> elseBody);
  /// Returns the values of the body that runs.
  Values choose(Value condition, llvm::function_ref<Values()> thenBody,
                llvm::function_ref<Values()> elseBody);

  /// Walks [0, width) in steps of `lanes()`. `body` gets the first index and
  /// the mask, which is null except at the ragged end.
  void forChunks(int64_t width, llvm::function_ref<void(Value, Value)> body);
  Values forChunks(int64_t width, ValueRange inits,
                   llvm::function_ref<Values(Value, Value, ValueRange)> body);

  /// Walks [0, width) as `forChunks` does, for elements that do not depend on
  /// each other. `load` returns the values that it reads of a chunk; `store`
  /// gets and writes them. A target may read several chunks before it writes
  /// the first one.
  void mapChunks(int64_t width, llvm::function_ref<Values(Value, Value)> load,
                 llvm::function_ref<void(Value, Value, ValueRange)> store);
  /// Runs `body` for each of [0, count), the independent items of a task. The
  /// lanes of an item may differ from the lanes of the task.
  virtual void forItems(int64_t count, llvm::function_ref<void(Value)> body);

protected:
  /// Returns the number of chunks that `mapChunks` reads before it writes.
  virtual int64_t chunksAtOnce() const { return 1; }

  /// Returns a type with elements of `element` in the shape of `value`.
  static mlir::Type likeWith(Value value, mlir::Type element);

  mlir::OpBuilder &builder;
  mlir::Location loc;
};

} // namespace mtp::codegen

#endif // MTP_COMPILER_CODEGEN_KERNELBUILDER_H
