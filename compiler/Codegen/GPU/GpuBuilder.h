//===- GpuBuilder.h - Idioms for writing GPU kernels ------------*- C++ -*-===//
//
// Lanes are the threads of a block, and a block runs one task. Every thread
// computes a uniform value for itself, one thread runs `storeOne`, and `sync`
// is the barrier of the block. In addition to the builder of all targets, this
// one has warps, shared memory, tensor cores and programmatic launch.
//
// A kernel takes its buffers as pointers to global memory, then its params as
// i64. It must call `begin` or `waitForPredecessor` before it reads what
// another kernel wrote, and before it writes: edges between kernels may be
// programmatic.
//
// A kernel that may have padding rows takes one more pointer after its buffers.
// It points to the number of active rows (i32), or is null if all rows are
// active. An earlier kernel wrote the number, so it is read after the wait. The
// grid covers all rows, and blocks without an active row end at that point.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_CODEGEN_GPU_GPUBUILDER_H
#define MTP_COMPILER_CODEGEN_GPU_GPUBUILDER_H

#include "compiler/Codegen/KernelBuilder.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include <array>

namespace mtp::codegen {

inline constexpr int64_t kWarp = 32;

/// Launch shape of a kernel. `blocks` is the number of blocks for each group of
/// `rowsPerGroup` rows (params[0]; a last smaller group counts, too), or for
/// the whole launch if `rowsPerGroup` is 0.
struct GpuLaunch {
  int64_t blocks = 1;
  int64_t rowsPerGroup = 1;
  int64_t threads = 128;
  /// Minimum number of blocks that must fit on a processor. If 0, ptxas
  /// chooses, and it may spill registers to fit more blocks.
  int64_t blocksPerProcessor = 0;
  /// Maximum number of blocks in all; 0 for any number.
  int64_t mostBlocks = 0;
};

class GpuBuilder : public KernelBuilder {
public:
  /// The insertion point of `builder` is in the entry block of `kernel`. The
  /// first `buffers` arguments of `kernel` are pointers. If the kernel
  /// `takesActive`, the next argument is a pointer, too. The number of threads
  /// in `launch` is a multiple of a warp.
  GpuBuilder(mlir::OpBuilder &builder, mlir::Location loc,
             mlir::gpu::GPUFuncOp kernel, int64_t buffers,
             const GpuLaunch &launch, bool takesActive = false,
             int64_t scratchBytes = 0);

  /// Gives each task `blocks` blocks. If the items are joined, a block computes
  /// an item; otherwise a warp does. Must be called before anything is emitted.
  void setTaskBlocks(int64_t blocks, bool areJoined);

  Value buffer(int64_t index) override;
  /// Returns a param. params[0] is the number of rows: all rows of the grid
  /// before the wait, active rows after it.
  Value param(int64_t index) override;
  Value scratch() override;
  void forTasks(llvm::function_ref<void(Value)> body) override;

  //===--- Threads --------------------------------------------------------===//

  int64_t threads() const { return launch.threads; }
  int64_t warps() const { return launch.threads / kWarp; }
  /// Returns an i64: the number of the block in the grid, of the thread in the
  /// block, of the warp in the block, and of the thread in its warp.
  Value block();
  Value thread();
  Value warp();
  Value laneOfWarp();
  /// Lets the next kernel of the stream become resident, or waits until the
  /// results of the previous kernels are there.
  void letSuccessorIn();
  void waitForPredecessor();
  /// Lets the successor in and waits, for kernels whose blocks go row by row. A
  /// block without an active row ends. Not allowed in a condition or a loop.
  void begin();
  /// Returns true if the kernel may have padding rows.
  bool takesActive() const { return hasActive; }
  /// Returns the number of active rows. Valid after the wait only.
  Value loadRows();
  /// Returns `value` (i32 or f32) of the thread whose number in the warp
  /// differs in the bits of `distance`.
  Value shuffleXor(Value value, int64_t distance);
  /// Returns `value` of the thread with the number `lane` (i32) in the warp.
  Value shuffleFrom(Value value, Value lane);
  /// Makes earlier stores of each thread of the warp visible to all its
  /// threads.
  void syncWarp();
  /// Returns a mask (i32) with a bit for each thread of the warp, set if
  /// `condition` holds.
  Value ballot(Value condition);
  /// Returns the number of set bits in `value`.
  Value countOnes(Value value);
  /// Returns the largest `value` (i32) of the threads of the warp, or the sum
  /// of all.
  Value warpMax(Value value);
  Value warpSum(Value value);

  //===--- Shared memory --------------------------------------------------===//

  /// Returns `bytes` of the block's shared memory, aligned to 16 bytes.
  Value shared(int64_t bytes);

  //===--- Lanes ----------------------------------------------------------===//

  int64_t lanes() const override { return laneCount; }
  mlir::Type laneType(mlir::Type element) override { return element; }
  Value splat(Value uniform) override { return uniform; }
  Value laneNumbers() override;
  Value firstLanes(int64_t count) override;
  /// Reduces values over all lanes. `combine` must be commutative.
  Values reduceLanes(
      ValueRange values,
      llvm::function_ref<Values(ValueRange, ValueRange)> combine) override;
  /// Reduces values within each warp.
  Values reduceWarp(ValueRange values,
                    llvm::function_ref<Values(ValueRange, ValueRange)> combine);

  //===--- Vectors of a thread --------------------------------------------===//

  Value element(Value vector, int64_t index);
  Value vectorOf(ValueRange elements);
  /// Rounds two f32 values to bf16, with `low` in the lower half.
  Value packBF16(Value low, Value high);
  /// Returns `sums` (a 16x8 tile in f32, four values of each thread) plus the
  /// product of `a` (a 16x16 tile of bf16, four i32) and `b` (a 16x8 tile of
  /// bf16, two i32). The tiles are a warp's fragments as PTX defines them for
  /// mma.sync m16n8k16.
  Values multiplyTiles(ValueRange a, ValueRange b, ValueRange sums);
  /// Returns `sums` (in i32) plus the product of a 16x32 tile and a 32x8 tile
  /// of bytes.
  Values multiplyByteTiles(ValueRange a, ValueRange b, ValueRange sums);
  /// Packs the low bytes of four i32, the first one lowest.
  Value packBytes(ValueRange four);
  /// Returns `sum` (i32) plus the dot product of four bytes with four signed
  /// bytes.
  Value dotBytes(Value a, Value b, Value sum, bool isUnsigned = false);
  /// Returns the bytes of a table of 16 bytes for the eight halves of the bytes
  /// of `word`: of the four low halves, and of the four high halves.
  std::array<Value, 2> lookUpHalves(llvm::ArrayRef<int8_t> table, Value word);
  /// Returns the f16 in the low half of an i32 as f32.
  Value halfToFloat(Value bits);

  /// Rounds two f32 to bf16 (nearest, ties to even) and packs them into an i32,
  /// the first one in the low half.
  Value pairOfBF16(Value low, Value high);

  //===--- Memory ---------------------------------------------------------===//

  /// Loads or stores a scalar or a vector of up to 16 bytes for one thread,
  /// aligned to its size. `mask` may be null. A masked-off load returns zero.
  Value loadOwn(mlir::Type type, Value pointer, Value mask = {});
  void storeOwn(Value value, Value pointer, Value mask = {});
  /// Loads a value for one thread that no thread reads again. The load stays
  /// out of the L1 cache.
  Value loadOnce(mlir::Type type, Value pointer);
  /// Converts a pointer to global memory to i64, and back.
  Value addressOf(Value pointer);
  Value pointerTo(Value address);
  /// Loads one, two or four i32 of a thread in one load.
  Values loadWords(Value pointer, int64_t count, Value mask = {});
  void storeOne(Value uniform, Value pointer) override;
  Value loadLanes(mlir::Type element, Value pointer, Value mask = {}) override;
  Value gatherLanes(Value base, Value indices, Value mask = {}) override;
  void storeLanes(Value value, Value pointer, Value mask = {}) override;
  Value loadPacked(Value pointer, int64_t bits, int64_t count,
                   int64_t stride = 4) override;
  void mapNeighbours(Value from, Value to, int64_t pairs, DType toType,
                     ValueRange tables,
                     llvm::function_ref<Pair(Pair, ValueRange)> body) override;
  void sync() override;
  void alone(llvm::function_ref<void()> body) override;
  void forItems(int64_t count, llvm::function_ref<void(Value)> body) override;

  mlir::OpBuilder &mlirBuilder() { return builder; }
  mlir::Location location() const { return loc; }

private:
  /// Returns 8: a chunk is two or four loads of a thread, and the round trips
  /// to memory of eight chunks overlap.
  int64_t chunksAtOnce() const override { return 8; }
  /// Asserts that lanes belong to one block, so that a barrier reaches them
  /// all.
  void expectJoined() const;
  /// Emits mma.sync of bytes or of bf16.
  Values multiply(bool ofBytes, ValueRange a, ValueRange b, ValueRange sums);
  /// Returns true if the block has an active row.
  Value blockLives();

  mlir::gpu::GPUFuncOp kernel;
  const GpuLaunch launch;
  const bool hasActive;
  int64_t bufferCount, scratchBytes;
  /// Number of active rows. Set after the wait of a kernel that takes it.
  Value activeRows;
  /// Number of blocks of a task, number of items of earlier forItems calls, and
  /// whether a block (true) or a warp computes an item.
  int64_t taskBlocks = 1, itemsBefore = 0;
  bool itemsAreJoined = true;
  /// Number of threads that are lanes at present, and the number of the thread
  /// among them.
  int64_t laneCount;
  Value laneId;
  /// Task of the block, and the number of the block within its task.
  Value taskId, blockOfTask;
  /// Created once, in the entry block.
  Value blockId, threadId, scratchBase;
  /// Shared memory for reductions, one variable for each of the values.
  Values reductions;
  int sharedCount = 0;
  bool isAlone = false;
};

} // namespace mtp::codegen

#endif // MTP_COMPILER_CODEGEN_GPU_GPUBUILDER_H
