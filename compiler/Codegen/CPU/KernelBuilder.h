//===- KernelBuilder.h - Idioms for writing CPU kernels ---------*- C++ -*-===//
//
// What the emitters are written in: pointers with explicit strides, vectors of
// the target's width, loops over a static width with a masked tail, and
// reductions in one fixed order. It keeps the dialect headers out of the
// emitters, and keeps the rules that all kernels share in one place:
//
//  - no scalar loop over floats: a ragged end is a masked vector;
//  - nothing outside a buffer is read or written;
//  - a reduction's order depends on the width alone (row invariance).
//
// Integers are i64 unless said otherwise; pointers are untyped.
//
//===----------------------------------------------------------------------===//

#ifndef COMPILER_CODEGEN_CPU_KERNELBUILDER_H
#define COMPILER_CODEGEN_CPU_KERNELBUILDER_H

#include "compiler/Codegen/CPU/KernelConfig.h"
#include "compiler/Codegen/CPU/TargetDesc.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

namespace mtp::codegen {

using mlir::Value;
using mlir::ValueRange;
using Values = llvm::SmallVector<Value, 8>;

enum class Cmp { EQ, NE, LT, LE, GT, GE };

class KernelBuilder {
public:
  /// `arguments` are those of the kernel ABI: buffers, params, taskBegin,
  /// taskEnd, scratch. The insertion point of `builder` is in the entry block.
  KernelBuilder(mlir::OpBuilder &builder, mlir::Location loc,
                const TargetDesc &target, ValueRange arguments);

  const TargetDesc &getTarget() const { return target; }
  /// f32 lanes of one vector register.
  int64_t lanes() const { return target.lanes; }

  //===--- Arguments ------------------------------------------------------===//
  // Buffers and params are loaded once, in the entry block.

  Value buffer(int64_t index);
  Value param(int64_t index);
  Value taskBegin() const { return arguments[2]; }
  Value taskEnd() const { return arguments[3]; }
  Value scratch() const { return arguments[4]; }

  //===--- Types and constants --------------------------------------------===//

  mlir::Type i8Type() { return builder.getI8Type(); }
  mlir::Type i16Type() { return builder.getI16Type(); }
  mlir::Type i32Type() { return builder.getI32Type(); }
  mlir::Type i64Type() { return builder.getI64Type(); }
  mlir::Type f32Type() { return builder.getF32Type(); }
  mlir::Type bf16Type() { return builder.getBF16Type(); }
  mlir::VectorType vectorType(mlir::Type element, int64_t count);
  mlir::VectorType f32Vector() { return vectorType(f32Type(), lanes()); }
  mlir::VectorType i32Vector() { return vectorType(i32Type(), lanes()); }

  Value integer(int64_t value);
  Value boolean(bool value);
  /// `value` in the shape of `type`: i32, i64, f32 or a vector of one.
  Value constant(mlir::Type type, double value);
  Value f32(double value) { return constant(f32Type(), value); }
  /// The i32 vector 0, 1, 2, ...
  Value iota(int64_t count);
  Value splat(Value scalar, int64_t count);
  Value splat(Value scalar) { return splat(scalar, lanes()); }
  /// The mask of the first `count` lanes of a vector of `width` lanes.
  Value prefixMask(int64_t count, int64_t width);
  Value prefixMask(Value count, int64_t width);

  //===--- Arithmetic: scalars and vectors, integers and floats -----------===//

  Value add(Value a, Value b);
  Value sub(Value a, Value b);
  Value mul(Value a, Value b);
  /// Division; signed and rounding towards zero on integers.
  Value div(Value a, Value b);
  Value rem(Value a, Value b);
  Value add(Value a, int64_t b) { return add(a, integer(b)); }
  Value sub(Value a, int64_t b) { return sub(a, integer(b)); }
  Value mul(Value a, int64_t b) { return mul(a, integer(b)); }
  Value div(Value a, int64_t b) { return div(a, integer(b)); }
  Value rem(Value a, int64_t b) { return rem(a, integer(b)); }
  Value fma(Value a, Value b, Value c);
  Value neg(Value a);
  Value sqrt(Value a);
  /// The larger or smaller one; `b` when they do not compare (NaN).
  Value max(Value a, Value b);
  Value min(Value a, Value b);
  /// Ordered comparison on floats (false for NaN), signed on integers.
  Value cmp(Cmp predicate, Value a, Value b);
  Value cmp(Cmp predicate, Value a, int64_t b) {
    return cmp(predicate, a, integer(b));
  }
  /// The nearest of [0, count): numbers that a kernel reads may be anything,
  /// and must not lead out of a buffer.
  Value clampIndex(Value index, Value count) {
    return max(min(index, sub(count, 1)), integer(0));
  }
  /// The same where a config gives the count; without one, `index` as it is.
  Value clampIndex(Value index, int64_t count) {
    return count > 0 ? clampIndex(index, integer(count)) : index;
  }
  Value select(Value condition, Value a, Value b);
  Value bitAnd(Value a, Value b);
  Value bitOr(Value a, Value b);
  Value shiftLeft(Value a, Value b);
  Value shiftRight(Value a, Value b); // Fills with zeros.
  Value shiftRightSigned(Value a, Value b);
  Value countTrailingZeros(Value a);
  Value bitcast(Value a, mlir::Type type);
  Value truncate(Value a, mlir::Type type);
  Value extend(Value a, mlir::Type type); // Of a signed integer.
  Value extendUnsigned(Value a, mlir::Type type);
  /// A vector of i32 as f32.
  Value toFloat(Value a);
  /// `acc` plus the dot product of each pair of adjacent bf16 values, in f32.
  Value dotBF16(Value acc, Value a, Value b);

  //===--- Dot products of integers, on vectors of one register -----------===//

  /// `acc` (i32) plus the dot product of each four adjacent bytes, those of `a`
  /// unsigned and those of `b` signed. Only where the target has byteDot.
  Value dotBytes(Value acc, Value a, Value b);
  /// The dot product (i16) of each two adjacent bytes, those of `a` unsigned
  /// and those of `b` signed. It saturates.
  Value dotBytePairs(Value a, Value b);
  /// The dot product (i32) of each two adjacent signed i16.
  Value dotWordPairs(Value a, Value b);
  /// `acc` plus products of integers, in this order. Left to itself LLVM adds
  /// up products first, for speed; they then take the registers of the sums.
  Value addInOrder(Value acc, Value products);

  //===--- Tiles, only where the target has them --------------------------===//
  // Eight registers, numbered, each of up to 16 rows of 64 bytes. A product
  // adds to a tile of 16 x 16 sums what 16 rows of `a` and 16 columns of `b`
  // make; a row of `b` holds for every column the elements (two bf16, four
  // bytes) that four bytes of a row of `a` are multiplied with. A row of sums
  // depends on its row of `a` alone. Tiles are state that LLVM does not track:
  // set them up, use them and release them in one kernel.

  static constexpr int64_t tileRows = 16, tileRowBytes = 64;
  /// Sets all tiles up as 16 rows of 64 bytes; `scratch` is 64 bytes, aligned.
  void configureTiles(Value scratch);
  void releaseTiles();
  void zeroTile(int64_t tile);
  void loadTile(int64_t tile, Value pointer, int64_t strideBytes);
  void storeTile(int64_t tile, Value pointer, int64_t strideBytes);
  /// Sums of f32, products of bf16. What is too small for a normal number
  /// counts as 0.
  void dotTilesBF16(int64_t sums, int64_t a, int64_t b);
  /// Sums of i32, products of signed bytes of `a` and unsigned ones of `b`.
  void dotTilesBytes(int64_t sums, int64_t a, int64_t b);

  //===--- Lanes ----------------------------------------------------------===//

  Value shuffle(Value a, Value b, llvm::ArrayRef<int64_t> lanes);
  Value extractLane(Value vector, int64_t lane);
  /// The lanes of `parts` in their order as one vector (a power of two parts).
  Value concat(ValueRange parts);
  /// Lanes [begin, begin + count).
  Value slice(Value vector, int64_t begin, int64_t count);
  /// Combines the upper half with the lower half until one lane is left.
  Value reduce(Value vector, llvm::function_ref<Value(Value, Value)> combine);
  Value reduceAdd(Value vector);
  /// Reduces a power of two of vectors at once. The result holds what `reduce`
  /// gives for each, in their order, in every lane of segments of equal length.
  Value reduceEach(ValueRange vectors,
                   llvm::function_ref<Value(Value, Value)> combine);
  /// Transposes n vectors of n lanes of 32 bits.
  Values transpose(ValueRange rows);

  //===--- Memory ---------------------------------------------------------===//

  /// `base` plus `index` strides of `strideBytes`.
  Value at(Value base, Value index, int64_t strideBytes);
  Value at(Value base, int64_t bytes);
  /// A load or store assumes the alignment of one element only. `mask` may be
  /// null; masked-off lanes are zero and their memory is not touched.
  Value load(mlir::Type type, Value pointer, Value mask = {});
  void store(Value value, Value pointer, Value mask = {});
  /// The i32 at `base[index]` as an i64.
  Value loadI32(Value base, Value index);
  void storeI32(Value value, Value base, Value index);
  /// One vector of elements as f32.
  Value loadFloats(Value pointer, DType dtype, Value mask = {});
  void storeFloats(Value vector, Value pointer, DType dtype, Value mask = {});
  /// The bits (i16) of f32 values rounded to bf16: nearest, ties to even.
  Value roundToBF16(Value vector);
  /// The same rounding by the target's instruction, as bf16 values: beside
  /// `dotBF16`, which like it takes what is too small for a normal number as 0.
  Value truncateToBF16(Value vector);
  /// Prefetches the cache lines of `bytes` from `pointer` on, which may lie
  /// outside any buffer, into the caches from `level` on.
  void prefetch(Value pointer, int64_t bytes, int level = 1);

  //===--- Control --------------------------------------------------------===//

  void forRange(Value begin, Value end, int64_t step,
                llvm::function_ref<void(Value)> body);
  Values forRange(Value begin, Value end, int64_t step, ValueRange inits,
                  llvm::function_ref<Values(Value, ValueRange)> body);
  /// Runs `body` for every task of the range that the caller was given.
  void forTasks(llvm::function_ref<void(Value)> body);
  Values whileLoop(ValueRange inits,
                   llvm::function_ref<Value(ValueRange)> condition,
                   llvm::function_ref<Values(ValueRange)> body);
  void ifThen(Value condition, llvm::function_ref<void()> body);
  void ifElse(Value condition, llvm::function_ref<void()> thenBody,
              llvm::function_ref<void()> elseBody);
  /// The values of one of the bodies.
  Values choose(Value condition, llvm::function_ref<Values()> thenBody,
                llvm::function_ref<Values()> elseBody);

  /// Walks [0, width) in vectors of `lanes()`: `body` gets the first index and
  /// the mask, which is null unless it is the ragged end.
  void forChunks(int64_t width, llvm::function_ref<void(Value, Value)> body);
  Values forChunks(int64_t width, ValueRange inits,
                   llvm::function_ref<Values(Value, Value, ValueRange)> body);
  /// Copies `width` 32-bit elements.
  void copy(Value from, Value to, int64_t width);
  /// Copies `width` f32 values to elements of `dtype`.
  void copyFloats(Value from, Value to, int64_t width, DType dtype);

private:
  Value intrinsic(llvm::StringRef name, mlir::Type type, ValueRange operands);
  void intrinsic(llvm::StringRef name, ValueRange operands);
  Value tileNumber(int64_t tile);
  Value argument(int64_t which, int64_t index, mlir::Type type);

  mlir::OpBuilder &builder;
  mlir::Location loc;
  const TargetDesc &target;
  Values arguments;
  llvm::SmallVector<Values, 2> loaded;
};

} // namespace mtp::codegen

#endif // COMPILER_CODEGEN_CPU_KERNELBUILDER_H
