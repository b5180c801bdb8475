//===- CpuBuilder.h - Idioms for writing CPU kernels ------------*- C++ -*-===//
//
// What the builder of all targets leaves open, in vectors of the target's
// width, and what only CPU kernels are written in: vectors of any length,
// shuffles, dot products and tiles.
//
//===----------------------------------------------------------------------===//

#ifndef COMPILER_CODEGEN_CPU_CPUBUILDER_H
#define COMPILER_CODEGEN_CPU_CPUBUILDER_H

#include "compiler/Codegen/CPU/TargetDesc.h"
#include "compiler/Codegen/KernelBuilder.h"

namespace mtp::codegen {

class CpuBuilder : public KernelBuilder {
public:
  /// `arguments` are those of the kernel ABI: buffers, params, taskBegin,
  /// taskEnd, scratch. The insertion point of `builder` is in the entry block.
  CpuBuilder(mlir::OpBuilder &builder, mlir::Location loc,
             const TargetDesc &target, ValueRange arguments);

  const TargetDesc &getTarget() const { return target; }
  /// f32 lanes of one vector register.
  int64_t lanes() const override { return target.lanes; }

  //===--- Arguments ------------------------------------------------------===//
  // Buffers and params are loaded once, in the entry block.

  Value buffer(int64_t index) override;
  Value param(int64_t index) override;
  Value taskBegin() const { return arguments[2]; }
  Value taskEnd() const { return arguments[3]; }
  Value scratch() override { return arguments[4]; }
  void forTasks(llvm::function_ref<void(Value)> body) override;

  //===--- Vectors --------------------------------------------------------===//

  mlir::VectorType f32Vector() { return vectorType(f32Type(), lanes()); }
  mlir::VectorType i32Vector() { return vectorType(i32Type(), lanes()); }
  mlir::Type laneType(mlir::Type element) override {
    return vectorType(element, lanes());
  }
  /// The i32 vector 0, 1, 2, ...
  Value iota(int64_t count);
  Value laneNumbers() override { return iota(lanes()); }
  Value splat(Value scalar, int64_t count);
  Value splat(Value scalar) override { return splat(scalar, lanes()); }
  /// The mask of the first `count` lanes of a vector of `width` lanes.
  Value prefixMask(int64_t count, int64_t width);
  Value prefixMask(Value count, int64_t width);
  Value firstLanes(int64_t count) override {
    return prefixMask(count, lanes());
  }
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
  Values reduceLanes(
      ValueRange values,
      llvm::function_ref<Values(ValueRange, ValueRange)> combine) override;
  /// Reduces a power of two of vectors at once. The result holds what `reduce`
  /// gives for each, in their order, in every lane of segments of equal length.
  Value reduceEach(ValueRange vectors,
                   llvm::function_ref<Value(Value, Value)> combine);
  /// Transposes n vectors of n lanes of 32 bits.
  Values transpose(ValueRange rows);

  //===--- Memory ---------------------------------------------------------===//

  /// A load or store assumes the alignment of one element only. `mask` may be
  /// null; masked-off lanes are zero and their memory is not touched.
  Value load(mlir::Type type, Value pointer, Value mask = {});
  void store(Value value, Value pointer, Value mask = {});
  void storeOne(Value uniform, Value pointer) override {
    store(uniform, pointer);
  }
  bool packsLanes() const override { return true; }
  Value packLanes(Value value, Value pointer, Value mask) override;
  Value loadLanes(mlir::Type element, Value pointer, Value mask = {}) override {
    return load(laneType(element), pointer, mask);
  }
  void storeLanes(Value value, Value pointer, Value mask = {}) override {
    store(value, pointer, mask);
  }
  Value loadPacked(Value pointer, int64_t bits, int64_t count) override;
  void mapNeighbours(Value from, Value to, int64_t pairs, DType toType,
                     ValueRange tables,
                     llvm::function_ref<Pair(Pair, ValueRange)> body) override;
  /// One thread has all lanes of a task.
  void sync() override {}
  void alone(llvm::function_ref<void()> body) override { body(); }
  /// The rounding of `roundToBF16` by the target's instruction, as bf16
  /// values: beside `dotBF16`, which like it takes what is too small for a
  /// normal number as 0.
  Value truncateToBF16(Value vector);
  /// Prefetches the cache lines of `bytes` from `pointer` on, which may lie
  /// outside any buffer, into the caches from `level` on.
  void prefetch(Value pointer, int64_t bytes, int level = 1);

private:
  Value intrinsic(llvm::StringRef name, mlir::Type type, ValueRange operands);
  void intrinsic(llvm::StringRef name, ValueRange operands);
  Value tileNumber(int64_t tile);
  Value argument(int64_t which, int64_t index, mlir::Type type);

  const TargetDesc &target;
  Values arguments;
  llvm::SmallVector<Values, 2> loaded;
};

} // namespace mtp::codegen

#endif // COMPILER_CODEGEN_CPU_CPUBUILDER_H
