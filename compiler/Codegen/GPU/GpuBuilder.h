//===- GpuBuilder.h - Idioms for writing GPU kernels ------------*- C++ -*-===//
//
// Lanes are the threads of a block, and a block has one task. So a uniform
// value is one that every thread computes for itself, `storeOne` is one
// thread's, and `sync` is the block's barrier. Beside the builder of all
// targets: warps, shared memory, tensor cores and programmatic launch.
//
// Kernels take buffers as pointers to global memory, then params as i64. They
// must call `begin` or `waitForPredecessor` before they read what another
// kernel wrote, and before they write: edges between them may be programmatic.
//
// A kernel of which not all rows need to live has one pointer more, behind
// those of its buffers: to how many do (i32), or null where all do. An earlier
// kernel wrote the number, so it is read behind the wait. The grid is that of
// all rows, and blocks without a row that lives end there.
//
//===----------------------------------------------------------------------===//

#ifndef COMPILER_CODEGEN_GPU_GPUBUILDER_H
#define COMPILER_CODEGEN_GPU_GPUBUILDER_H

#include "compiler/Codegen/KernelBuilder.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace mtp::codegen {

inline constexpr int64_t kWarp = 32;

/// How a kernel is launched: `blocks` for every `rowsPerGroup` rows (params[0],
/// a last smaller group counts, too), or in all where that is 0.
struct GpuLaunch {
  int64_t blocks = 1;
  int64_t rowsPerGroup = 1;
  int64_t threads = 128;
  /// Blocks that shall fit on a processor at least; 0 lets ptxas choose, which
  /// may spill registers where it holds more blocks to be better.
  int64_t blocksPerProcessor = 0;
  /// There are no more blocks than this in all; 0 for any number.
  int64_t mostBlocks = 0;
};

class GpuBuilder : public KernelBuilder {
public:
  /// The insertion point of `builder` is in the entry block of `kernel`, whose
  /// first `buffers` arguments are pointers, and the next one where it
  /// `takesLive`; the threads of `launch` are a multiple of a warp.
  GpuBuilder(mlir::OpBuilder &builder, mlir::Location loc,
             mlir::gpu::GPUFuncOp kernel, int64_t buffers,
             const GpuLaunch &launch, bool takesLive = false,
             int64_t scratchBytes = 0);

  /// A task has so many blocks, for items that are a warp's, or a block's each
  /// where they `areJoined`. Before anything is emitted.
  void setTaskBlocks(int64_t blocks, bool areJoined);

  Value buffer(int64_t index) override;
  /// Of params[0], the rows: those that the grid is for ahead of the wait, and
  /// those that live behind it.
  Value param(int64_t index) override;
  Value scratch() override;
  void forTasks(llvm::function_ref<void(Value)> body) override;

  //===--- Threads --------------------------------------------------------===//

  int64_t threads() const { return launch.threads; }
  int64_t warps() const { return launch.threads / kWarp; }
  /// As i64: the block's number in the grid; the thread's in the block; the
  /// warp's in the block; the thread's in its warp.
  Value block();
  Value thread();
  Value warp();
  Value laneOfWarp();
  /// Lets the next kernel of the stream become resident, and waits until what
  /// the previous ones wrote is there.
  void letSuccessorIn();
  void waitForPredecessor();
  /// Both, for kernels whose blocks go row by row: one that has no row that
  /// lives ends there. Not within a condition or a loop.
  void begin();
  /// Whether some rows may be dead.
  bool takesLive() const { return hasLive; }
  /// How many rows live, of all; behind the wait.
  Value loadRows();
  /// `value` (i32 or f32) of the thread whose number in the warp differs in the
  /// bits of `distance`.
  Value shuffleXor(Value value, int64_t distance);
  /// `value` of the thread of that number (i32) in the warp.
  Value shuffleFrom(Value value, Value lane);
  /// What any thread of the warp stored before, each of them sees after.
  void syncWarp();
  /// A bit (i32) for each of the warp's threads where `condition` holds.
  Value ballot(Value condition);
  /// How many bits of `value` are set.
  Value countOnes(Value value);
  /// The largest `value` (i32) of the warp's threads.
  Value warpMax(Value value);

  //===--- Shared memory --------------------------------------------------===//

  /// Bytes of the block's own, aligned to 16.
  Value shared(int64_t bytes);

  //===--- Lanes ----------------------------------------------------------===//

  int64_t lanes() const override { return laneCount; }
  mlir::Type laneType(mlir::Type element) override { return element; }
  Value splat(Value uniform) override { return uniform; }
  Value laneNumbers() override;
  Value firstLanes(int64_t count) override;
  /// `combine` has to be commutative.
  Values reduceLanes(
      ValueRange values,
      llvm::function_ref<Values(ValueRange, ValueRange)> combine) override;
  /// The same within each warp.
  Values reduceWarp(ValueRange values,
                    llvm::function_ref<Values(ValueRange, ValueRange)> combine);

  //===--- Vectors of a thread --------------------------------------------===//

  Value element(Value vector, int64_t index);
  Value vectorOf(ValueRange elements);
  /// Two f32 values rounded to bf16, `low` in the lower half.
  Value packBF16(Value low, Value high);
  /// A 16x8 tile of sums in f32 (four of each thread) plus a 16x16 tile `a`
  /// (four i32) times a 16x8 tile `b` (two) of bf16: a warp's fragments as PTX
  /// has them for mma.sync m16n8k16.
  Values multiplyTiles(ValueRange a, ValueRange b, ValueRange sums);
  /// The same of bytes: a 16x32 tile times a 32x8 tile, sums in i32.
  Values multiplyByteTiles(ValueRange a, ValueRange b, ValueRange sums);
  /// The low bytes of four i32, the first one lowest.
  Value packBytes(ValueRange four);
  /// sum + the dot product of four signed bytes with four others (i32).
  Value dotBytes(Value a, Value b, Value sum);

  /// Two f32 as bf16, nearest, ties to even: the first in the low half (i32).
  Value pairOfBF16(Value low, Value high);

  //===--- Memory ---------------------------------------------------------===//

  /// A thread's own load or store of a scalar or a vector of up to 16 bytes,
  /// aligned to its size. `mask` may be null; masked off, a load is zero.
  Value loadOwn(mlir::Type type, Value pointer, Value mask = {});
  void storeOwn(Value value, Value pointer, Value mask = {});
  /// A thread's own load of what nobody reads again: it stays out of the L1
  /// cache.
  Value loadOnce(mlir::Type type, Value pointer);
  /// A pointer to global memory as i64, and back.
  Value addressOf(Value pointer);
  Value pointerTo(Value address);
  /// One, two or four i32 that a thread loads at once.
  Values loadWords(Value pointer, int64_t count, Value mask = {});
  void storeOne(Value uniform, Value pointer) override;
  Value loadLanes(mlir::Type element, Value pointer, Value mask = {}) override;
  void storeLanes(Value value, Value pointer, Value mask = {}) override;
  Value loadPacked(Value pointer, int64_t bits, int64_t count) override;
  void mapNeighbours(Value from, Value to, int64_t pairs, DType toType,
                     ValueRange tables,
                     llvm::function_ref<Pair(Pair, ValueRange)> body) override;
  void sync() override;
  void alone(llvm::function_ref<void()> body) override;
  void forItems(int64_t count, llvm::function_ref<void(Value)> body) override;

  mlir::OpBuilder &mlirBuilder() { return builder; }
  mlir::Location location() const { return loc; }

private:
  /// Loads that a thread has on the way, two or four of a chunk, hide all but
  /// one round to memory.
  int64_t chunksAtOnce() const override { return 8; }
  /// Fails where lanes of other blocks would have to be waited for.
  void expectJoined() const;
  /// mma.sync of bytes or of bf16.
  Values multiply(bool ofBytes, ValueRange a, ValueRange b, ValueRange sums);
  /// Whether the block has a row that lives.
  Value blockLives();

  mlir::gpu::GPUFuncOp kernel;
  const GpuLaunch launch;
  const bool hasLive;
  int64_t bufferCount, scratchBytes;
  /// Behind the wait of a kernel that takes their number: rows that live.
  Value liveRows;
  /// Of a task; whether an item is a block's; how many items forItems had.
  int64_t taskBlocks = 1, itemsBefore = 0;
  bool itemsAreJoined = true;
  /// Threads that are lanes at present, and the thread's number among them.
  int64_t laneCount;
  Value laneId;
  /// The block's task, and its number among those of the task.
  Value taskId, blockOfTask;
  /// Made once, in the entry block.
  Value blockId, threadId, scratchBase;
  /// Places in shared memory for reductions, one for each of the values.
  Values reductions;
  int sharedCount = 0;
  bool isAlone = false;
};

} // namespace mtp::codegen

#endif // COMPILER_CODEGEN_GPU_GPUBUILDER_H
