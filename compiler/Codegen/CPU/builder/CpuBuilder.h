//===- CpuBuilder.h - Idioms for writing CPU kernels ------------*- C++ -*-===//
//
// Implements the operations that KernelBuilder leaves to targets, in vectors of
// the target's width. Adds operations of CPU kernels only: vectors of any
// length, shuffles, dot products and tiles.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_CODEGEN_CPU_BUILDER_CPUBUILDER_H
#define MTP_COMPILER_CODEGEN_CPU_BUILDER_CPUBUILDER_H

#include "compiler/Codegen/CPU/target/TargetDesc.h"
#include "compiler/Codegen/KernelBuilder.h"

namespace mtp::codegen {

class CpuBuilder : public KernelBuilder {
public:
  /// Creates a builder. `arguments` are the arguments of the kernel ABI:
  /// buffers, params, taskBegin, taskEnd, scratch. The insertion point of
  /// `builder` must be in the entry block.
  CpuBuilder(mlir::OpBuilder &builder, mlir::Location loc,
             const TargetDesc &target, ValueRange arguments);

  const TargetDesc &getTarget() const { return target; }
  /// Returns the f32 lanes of one vector register.
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
  /// Returns the i32 vector 0, 1, 2, ...
  Value iota(int64_t count);
  Value laneNumbers() override { return iota(lanes()); }
  Value splat(Value scalar, int64_t count);
  Value splat(Value scalar) override { return splat(scalar, lanes()); }
  /// Returns the mask of the first `count` lanes of a vector of `width` lanes.
  Value prefixMask(int64_t count, int64_t width);
  Value prefixMask(Value count, int64_t width);
  Value firstLanes(int64_t count) override {
    return prefixMask(count, lanes());
  }
  /// Adds to `acc` the dot product of each pair of adjacent bf16 values, in
  /// f32.
  Value dotBF16(Value acc, Value a, Value b);

  //===--- Dot products of integers, on vectors of one register -----------===//

  /// Adds to `acc` (i32) the dot product of each four adjacent bytes, unsigned
  /// in `a` and signed in `b`. Precondition: the target has byteDot.
  Value dotBytes(Value acc, Value a, Value b);
  /// Returns the dot product (i16) of each two adjacent bytes, unsigned in `a`
  /// and signed in `b`. The sum saturates.
  Value dotBytePairs(Value a, Value b);
  /// Returns byte `numbers[i]` of a table of 16 bytes for each i. Numbers are
  /// below 16.
  Value lookUpBytes(llvm::ArrayRef<uint8_t> table, Value numbers);
  /// Returns the dot product (i32) of each two adjacent signed i16.
  Value dotWordPairs(Value a, Value b);
  /// Adds products of integers to `acc`, in this order. LLVM would add up the
  /// products first, for speed, and they would take the registers of the sums.
  Value addInOrder(Value acc, Value products);

  //===--- Tiles, on targets that have them -------------------------------===//
  // There are eight numbered tile registers, each of up to 16 rows of 64 bytes.
  // A product multiplies 16 rows of `a` with 16 columns of `b` and adds to a
  // tile of 16 x 16 sums. Four bytes of a row of `a` hold two bf16 or four
  // bytes. A row of `b` holds, for every column, the elements that these four
  // bytes are multiplied with. A row of sums depends on its row of `a` alone.
  // LLVM does not track tiles: a kernel must configure, use and release them
  // itself.

  /// Semantic: the shape of a tile register.
  static constexpr int64_t tileRows = 16, tileRowBytes = 64;
  /// Configures all tiles as 16 rows of 64 bytes; `scratch` is 64 aligned
  /// bytes.
  void configureTiles(Value scratch);
  void releaseTiles();
  void zeroTile(int64_t tile);
  void loadTile(int64_t tile, Value pointer, int64_t strideBytes);
  void storeTile(int64_t tile, Value pointer, int64_t strideBytes);
  /// Adds products of bf16 to sums of f32. Denormal numbers count as 0.
  void dotTilesBF16(int64_t sums, int64_t a, int64_t b);
  /// Adds products of signed bytes of `a` and unsigned bytes of `b` to sums of
  /// i32.
  void dotTilesBytes(int64_t sums, int64_t a, int64_t b);

  //===--- Lanes ----------------------------------------------------------===//

  Value shuffle(Value a, Value b, llvm::ArrayRef<int64_t> lanes);
  Value extractLane(Value vector, int64_t lane);
  /// Returns the lanes of `parts`, in order, as one vector. The number of parts
  /// is a power of two.
  Value concat(ValueRange parts);
  /// Returns lanes [begin, begin + count).
  Value slice(Value vector, int64_t begin, int64_t count);
  /// Combines the upper half with the lower half until one lane is left.
  Value reduce(Value vector, llvm::function_ref<Value(Value, Value)> combine);
  Values reduceLanes(
      ValueRange values,
      llvm::function_ref<Values(ValueRange, ValueRange)> combine) override;
  /// Reduces several vectors at once; their number is a power of two. The
  /// result has one segment for each vector, in order and of equal length.
  /// Every lane of a segment holds the result of `reduce` for its vector.
  Value reduceEach(ValueRange vectors,
                   llvm::function_ref<Value(Value, Value)> combine);
  /// Transposes n vectors of n lanes of 32 bits.
  Values transpose(ValueRange rows);

  //===--- Memory ---------------------------------------------------------===//

  /// Loads lanes. A load or store assumes the alignment of one element only.
  /// `mask` may be null. Masked-off lanes are zero and their memory is not
  /// touched.
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
  Value gatherLanes(Value base, Value indices, Value mask = {}) override;
  Value loadPacked(Value pointer, int64_t bits, int64_t count,
                   int64_t stride = 4) override;
  /// Loads a vector of f16 as f32.
  Value loadHalves(Value pointer);
  void mapNeighbours(Value from, Value to, int64_t pairs, DType toType,
                     ValueRange tables,
                     llvm::function_ref<Pair(Pair, ValueRange)> body) override;
  /// Does nothing: one thread has all lanes of a task.
  void sync() override {}
  void alone(llvm::function_ref<void()> body) override { body(); }
  /// Rounds as `roundToBF16` by the target's instruction, and returns bf16
  /// values. Like `dotBF16`, with which it is used, the instruction takes
  /// denormal numbers as 0.
  Value truncateToBF16(Value vector);
  /// Prefetches the cache lines of `bytes` from `pointer` on into the caches
  /// from `level` outwards. The memory may lie outside any buffer.
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

#endif // MTP_COMPILER_CODEGEN_CPU_BUILDER_CPUBUILDER_H
