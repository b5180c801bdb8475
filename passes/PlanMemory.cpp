//===- PlanMemory.cpp - Place all buffers in one arena --------------------===//
//
// Offline placement: the buffers of a program are placed from the largest to
// the smallest, each at the lowest address where nothing lives at the same
// time. (Greedy by size, Pisarchyk and Lee, "Efficient Memory Management for
// Deep Neural Net Inference", 2020.) Programs never run together, so that each
// starts at address 0 again and the arena is as large as the largest.
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

/// A buffer with the span of stages during which it holds a value.
struct Interval {
  AllocOp alloc;
  int64_t bytes;
  int64_t first;
  int64_t last;
  int64_t offset = 0;
};

struct PlanMemoryPass : public mtp::impl::PlanMemoryPassBase<PlanMemoryPass> {
  using Base::Base;

  void runOnOperation() override;

private:
  FailureOr<int64_t> placeProgram(ProgramOp program);
  FailureOr<int64_t> placeStates();
};

} // namespace

/// Returns the bytes of a buffer in a region of aligned buffers. Adds them to
/// `total`, which bounds every address; nothing where it does not fit.
static std::optional<int64_t> alignedBytes(MemRefType type, int64_t alignment,
                                           int64_t &total) {
  std::optional<int64_t> bytes = bufferBytes(type);
  if (!bytes || *bytes > INT64_MAX - alignment)
    return std::nullopt;
  int64_t aligned = llvm::alignTo(*bytes, alignment);
  if (__builtin_add_overflow(total, aligned, &total))
    return std::nullopt;
  return aligned;
}

/// Collects the intervals of a program. Positions count its stages: within one,
/// threads are at different calls, so that nothing ends before all of it does.
static LogicalResult collectIntervals(ProgramOp program, int64_t alignment,
                                      SmallVectorImpl<Interval> &intervals) {
  llvm::DenseMap<Operation *, int64_t> position;
  int64_t end = 0;
  for (Operation &op : program.getBody().front()) {
    auto dispatch = dyn_cast<DispatchOp>(op);
    end += dispatch && !dispatch.getJoined();
    position[&op] = end;
  }
  ++end;
  int64_t total = 0;
  for (AllocOp alloc : program.getBody().front().getOps<AllocOp>()) {
    std::optional<int64_t> bytes =
        alignedBytes(cast<MemRefType>(alloc.getType()), alignment, total);
    if (!bytes) {
      return alloc.emitOpError("expected the bytes of all buffers to fit 63 "
                               "bits, got more at ")
             << alloc.getType();
    }
    Interval interval{alloc, *bytes, end, -1};
    for (Operation *user : alloc->getUsers()) {
      interval.first = std::min(interval.first, position[user]);
      interval.last =
          std::max(interval.last, isa<OutputOp>(user) ? end : position[user]);
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

FailureOr<int64_t> PlanMemoryPass::placeProgram(ProgramOp program) {
  SmallVector<Interval> intervals;
  if (failed(collectIntervals(program, alignment, intervals)))
    return failure();
  llvm::stable_sort(intervals, [](const Interval &a, const Interval &b) {
    return a.bytes > b.bytes;
  });
  int64_t arena = 0;
  SmallVector<Interval *> placed; // in order of their offsets
  for (Interval &interval : intervals) {
    int64_t offset = 0;
    for (Interval *other : placed) {
      bool together =
          interval.first <= other->last && other->first <= interval.last;
      if (!together)
        continue;
      if (offset + interval.bytes <= other->offset)
        break;
      offset = std::max(offset, other->offset + other->bytes);
    }
    interval.offset = offset;
    arena = std::max(arena, offset + interval.bytes);
    placed.insert(llvm::upper_bound(placed, &interval,
                                    [](const Interval *a, const Interval *b) {
                                      return a->offset < b->offset;
                                    }),
                  &interval);
    interval.alloc.setOffset(offset);
  }
  return arena;
}

FailureOr<int64_t> PlanMemoryPass::placeStates() {
  int64_t end = 0;
  for (exec::StateOp state : getOperation().getOps<exec::StateOp>()) {
    state.setOffset(end);
    if (!alignedBytes(cast<MemRefType>(state.getType()), alignment, end)) {
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
