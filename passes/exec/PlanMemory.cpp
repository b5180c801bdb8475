//===- PlanMemory.cpp - Place all buffers in one arena --------------------===//
//
// Offline placement: the buffers of a program are placed from the largest to
// the smallest, each at the lowest address that is free during its lifetime.
// (Greedy by size, Pisarchyk and Lee, "Efficient Memory Management for Deep
// Neural Net Inference", 2020.) Programs never run together, so each starts at
// address 0, and the arena is as large as the largest.
//
// A program is for many n. Buffers that grow with n get a whole number of
// aligned units per slot (or row of a chunk), and their offsets are counted in
// such units. Two buffers that do not overlap for one slot do not overlap at
// any n, since all distances grow n times. Buffers that do not grow are placed
// among themselves, in front of the growing ones.
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/IR/ExecOps.h"
#include "passes/Passes.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::mtp {
#define GEN_PASS_DEF_PLANMEMORYPASS
#include "passes/Passes.h.inc"
} // namespace mlir::mtp

using namespace mlir;
using namespace mlir::exec;

namespace {

/// A buffer with the range of stages during which it holds a value.
struct Interval {
  AllocOp alloc;
  /// Size of the buffer; bytes per n if the buffer grows.
  int64_t bytes;
  bool grows;
  int64_t first;
  int64_t last;
  /// Offset of the buffer; bytes per n if the buffer grows.
  int64_t offset = 0;
};

struct PlanMemoryPass
    : public mlir::mtp::impl::PlanMemoryPassBase<PlanMemoryPass> {
  using Base::Base;

  void runOnOperation() override;

private:
  FailureOr<int64_t> placeProgram(ProgramOp program);
  FailureOr<int64_t> placeStates();
};

} // namespace

/// Returns `bytes` rounded up to `alignment`, and adds `count` times the result
/// to `total`, which bounds every address. Returns nothing on overflow.
static std::optional<int64_t> alignedBytes(std::optional<int64_t> bytes,
                                           int64_t alignment, int64_t count,
                                           int64_t &total) {
  if (!bytes || *bytes > INT64_MAX - alignment)
    return std::nullopt;
  int64_t aligned = llvm::alignTo(*bytes, alignment), all;
  if (__builtin_mul_overflow(aligned, count, &all) ||
      __builtin_add_overflow(total, all, &total))
    return std::nullopt;
  return aligned;
}

/// Returns the stage number of every op. Threads of one stage run different
/// calls, so no lifetime ends within a stage. A barrier counts only if it
/// exists at every n.
static llvm::DenseMap<Operation *, int64_t> numberStages(ProgramOp program) {
  llvm::DenseMap<Operation *, int64_t> stages;
  auto schedules = llvm::to_vector(program.getBody().getOps<ScheduleOp>());
  int64_t stage = 0;
  size_t call = 0;
  for (Operation &op : program.getBody().front()) {
    if (isa<DispatchOp>(op)) {
      stage += llvm::none_of(schedules, [&](ScheduleOp schedule) {
        return schedule.isJoined(call);
      });
      ++call;
    }
    stages[&op] = stage;
  }
  return stages;
}

/// Collects the intervals of a program. Its end comes after all stages.
static LogicalResult collectIntervals(ProgramOp program, int64_t alignment,
                                      SmallVectorImpl<Interval> &intervals) {
  llvm::DenseMap<Operation *, int64_t> stages = numberStages(program);
  int64_t most = std::max<int64_t>(program.getMost(), 1), total = 0;
  int64_t end = 1;
  for (auto [op, stage] : stages)
    end = std::max(end, stage + 1);
  for (AllocOp alloc : program.getBody().front().getOps<AllocOp>()) {
    // n is at least 1, so base + step bytes per n are enough.
    std::optional<Count> size = bufferBytes(alloc.getResult());
    bool grows = size && !size->isFixed();
    std::optional<int64_t> bytes;
    if (size)
      bytes = std::max<int64_t>(size->base, 0) + size->step;
    bytes = alignedBytes(bytes, alignment, grows ? most : 1, total);
    if (!bytes) {
      return alloc.emitOpError("expected the bytes of all buffers to fit 63 "
                               "bits, got more at ")
             << alloc.getType();
    }
    Interval interval{alloc, *bytes, grows, end, -1};
    for (Operation *user : alloc->getUsers()) {
      interval.first = std::min(interval.first, stages[user]);
      interval.last =
          std::max(interval.last, isa<OutputOp>(user) ? end : stages[user]);
    }
    if (alloc.getInput()) {
      // The host writes all inputs before the first op, whether used or not.
      interval.first = 0;
      interval.last = std::max<int64_t>(interval.last, 0);
    }
    intervals.push_back(interval);
  }
  return success();
}

/// Gives each interval an offset, the largest first. Returns the total bytes.
static int64_t placeIntervals(ArrayRef<Interval *> intervals) {
  SmallVector<Interval *> ordered(intervals);
  llvm::stable_sort(ordered, [](const Interval *a, const Interval *b) {
    return a->bytes > b->bytes;
  });
  int64_t end = 0;
  SmallVector<Interval *> placed; // in order of their offsets
  for (Interval *interval : ordered) {
    int64_t offset = 0;
    for (Interval *other : placed) {
      bool together =
          interval->first <= other->last && other->first <= interval->last;
      if (!together)
        continue;
      if (offset + interval->bytes <= other->offset)
        break;
      offset = std::max(offset, other->offset + other->bytes);
    }
    interval->offset = offset;
    end = std::max(end, offset + interval->bytes);
    placed.insert(llvm::upper_bound(placed, interval,
                                    [](const Interval *a, const Interval *b) {
                                      return a->offset < b->offset;
                                    }),
                  interval);
  }
  return end;
}

FailureOr<int64_t> PlanMemoryPass::placeProgram(ProgramOp program) {
  SmallVector<Interval> intervals;
  if (failed(collectIntervals(program, alignment, intervals)))
    return failure();
  SmallVector<Interval *> fixed, growing;
  for (Interval &interval : intervals)
    (interval.grows ? growing : fixed).push_back(&interval);
  int64_t front = placeIntervals(fixed), perN = placeIntervals(growing);
  for (Interval &interval : intervals) {
    Count offset =
        interval.grows ? Count(front, interval.offset) : Count(interval.offset);
    interval.alloc.setOffsetAttr(CountAttr::get(&getContext(), offset));
  }
  return Count(front, perN).at(program.getMost());
}

FailureOr<int64_t> PlanMemoryPass::placeStates() {
  int64_t end = 0;
  for (exec::StateOp state : getOperation().getOps<exec::StateOp>()) {
    state.setOffset(end);
    if (!alignedBytes(bufferBytes(cast<MemRefType>(state.getType())), alignment,
                      /*count=*/1, end)) {
      return state.emitOpError("expected the bytes of all states to fit 63 "
                               "bits, got more at ")
             << state.getType();
    }
  }
  return end;
}

void PlanMemoryPass::runOnOperation() {
  ModuleOp module = getOperation();
  if (alignment <= 0 || !llvm::isPowerOf2_64(alignment)) {
    module.emitError("expected a power of two for the option alignment, got ")
        << static_cast<int64_t>(alignment);
    return signalPassFailure();
  }
  int64_t arena = 0;
  for (ProgramOp program : module.getOps<ProgramOp>()) {
    FailureOr<int64_t> bytes = placeProgram(program);
    if (failed(bytes))
      return signalPassFailure();
    arena = std::max(arena, *bytes);
  }
  FailureOr<int64_t> state = placeStates();
  if (failed(state))
    return signalPassFailure();
  Builder builder(&getContext());
  module->setAttr(
      exec::kPlanAttr,
      builder.getDictionaryAttr(
          {builder.getNamedAttr(exec::kArenaBytes,
                                builder.getI64IntegerAttr(arena)),
           builder.getNamedAttr(exec::kStateBytes,
                                builder.getI64IntegerAttr(*state))}));
  arenaBytes += arena;
  stateBytes += *state;
}
