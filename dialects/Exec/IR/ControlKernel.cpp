//===- ControlKernel.cpp - Kernels that carry their body ------------------===//
//
// Allowed ops of a body, and the proof that it stays within its buffers.
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/IR/ControlKernel.h"

#include "mlir/Analysis/DataFlow/ConstantPropagationAnalysis.h"
#include "mlir/Analysis/DataFlow/DeadCodeAnalysis.h"
#include "mlir/Analysis/DataFlow/IntegerRangeAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace mlir::exec;

//===----------------------------------------------------------------------===//
// Verifiers
//===----------------------------------------------------------------------===//

/// Checks C3: the number of the task and the buffers.
static LogicalResult verifyArguments(KernelOp kernel) {
  KernelSignature signature = kernelSignature(kernel.getKernel());
  Region &body = kernel.getBody();
  if (body.getNumArguments() == 0 || !body.getArgument(0).getType().isIndex() ||
      int64_t(kernel.getBuffers().size()) != signature.buffers)
    return kernel.emitOpError("expected a body that takes an index and ")
           << signature.buffers << " buffers, got ("
           << TypeRange(body.getArgumentTypes()) << ")";
  int64_t reads = cast<ControlKernelAttr>(kernel.getKernel()).getReads();
  for (auto [i, buffer] : llvm::enumerate(kernel.getBuffers())) {
    auto type = dyn_cast<MemRefType>(buffer.getType());
    Type element = type ? type.getElementType() : Type();
    bool isOutput = int64_t(i) >= signature.buffers - signature.outputs;
    bool isUpdate = int64_t(i) >= reads && !isOutput;
    if (!type || !type.getLayout().isIdentity() || type.getMemorySpace() ||
        !(element.isSignlessInteger(32) || element.isSignlessInteger(64) ||
          element.isF32()) ||
        (type.getRank() > 0 && llvm::is_contained(type.getShape().drop_front(),
                                                  ShapedType::kDynamic)) ||
        (type.hasStaticShape() ? isOutput : isUpdate))
      return kernel.emitOpError("expected buffers of i32, i64 or f32 of which "
                                "the first extent alone is dynamic, in every "
                                "output and in no update, got ")
             << buffer.getType() << " as buffer " << i;
  }
  return success();
}

/// Returns whether `op` may stand in a body.
static bool isBodyOp(KernelOp kernel, Operation *op) {
  if (auto alloca = dyn_cast<memref::AllocaOp>(op))
    return op->getParentOp() == kernel && alloca.getType().hasStaticShape() &&
           alloca.getType().getLayout().isIdentity();
  return isa<arith::ArithDialect, math::MathDialect>(op->getDialect()) ||
         isa<scf::ForOp, scf::IfOp, scf::YieldOp, memref::LoadOp,
             memref::StoreOp, ClampTaskOp>(op);
}

LogicalResult KernelOp::verifyRegions() {
  if (!hasBody())
    return success();
  if (failed(verifyArguments(*this)))
    return failure();
  int64_t reads = cast<ControlKernelAttr>(getKernel()).getReads();
  WalkResult result = getBody().walk([&](Operation *op) -> WalkResult {
    if (!op->getDialect() || !isBodyOp(*this, op)) // C4
      return op->emitOpError("expected arith, math, scf.for, scf.if, static "
                             "allocas at the top level, loads and stores in "
                             "the body of a kernel");
    auto store = dyn_cast<memref::StoreOp>(op);
    auto to =
        store ? dyn_cast<BlockArgument>(store.getMemref()) : BlockArgument();
    if (to && int64_t(to.getArgNumber()) <= reads) // C4
      return op->emitOpError("expected a store to an update or an output, got "
                             "buffer ")
             << to.getArgNumber() - 1 << " of " << reads << " that are read";
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

/// Returns whether a value has the type `wanted` of a body's argument. If the
/// first extent is dynamic, each task has a row. The grouping of a task's
/// numbers does not matter: three for each of two slots are six rows.
static bool fitsBuffer(MemRefType wanted, Value given, Count tasks,
                       Points points, bool mayHaveMore) {
  auto type = cast<ShapedType>(given.getType());
  std::optional<Count> elements = elementsOf(given);
  if (!elements || type.getElementType() != wanted.getElementType())
    return false;
  if (wanted.hasStaticShape())
    return type.getShape() == wanted.getShape();
  Count needed =
      tasks * ShapedType::getNumElements(wanted.getShape().drop_front());
  if (!isa<MemRefType>(type) && !mayHaveMore)
    return *elements == needed;
  return isWithin({elements->base - needed.base, elements->step - needed.step},
                  points, 0, INT64_MAX);
}

LogicalResult
mlir::exec::verifyBuffers(Operation *op, KernelOp kernel, ValueRange values,
                          Count tasks, function_ref<bool(size_t)> mayHaveMore) {
  SmallVector<Type> wanted =
      llvm::to_vector(kernel.getBody().getArgumentTypes());
  wanted.erase(wanted.begin());
  if (values.size() != wanted.size())
    return op->emitOpError("expected the ")
           << wanted.size() << " buffers of '" << kernel.getSymName()
           << "', got " << values.size();
  for (auto [i, want, value] : llvm::enumerate(wanted, values)) {
    auto memref = cast<MemRefType>(want);
    if (!fitsBuffer(memref, value, tasks, pointsOf(op),
                    mayHaveMore && mayHaveMore(i)))
      return op->emitOpError("expected ")
             << want << " with rows for " << tasks << " tasks as buffer " << i
             << " of '" << kernel.getSymName() << "', got " << value.getType();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Loops for lanes
//===----------------------------------------------------------------------===//

/// Returns whether every lane may run `op`, any number of times.
static bool isForLanes(Operation *op) {
  if (auto load = dyn_cast<memref::LoadOp>(op))
    return isa<BlockArgument>(load.getMemref());
  return isa<scf::ForOp, scf::IfOp, scf::YieldOp>(op) || isMemoryEffectFree(op);
}

std::optional<LaneLoop> mlir::exec::laneLoopOf(scf::ForOp loop) {
  std::optional<int64_t> step = getConstantIntValue(loop.getStep());
  if (!loop->hasAttr(kLanesAttr) || step != 1 || loop.getNumResults() == 0 ||
      !loop.getInductionVar().getType().isIndex())
    return std::nullopt;
  LaneLoop lanes{loop, {}, {}};
  Operation *yield = loop.getBody()->getTerminator();
  for (auto [carried, next] :
       llvm::zip_equal(loop.getRegionIterArgs(), yield->getOperands())) {
    Operation *join = next.getDefiningOp();
    Type type = carried.getType();
    if (!isa_and_nonnull<arith::AddIOp, arith::MaxSIOp, arith::MinSIOp>(join) ||
        join->getBlock() != loop.getBody() || !next.hasOneUse() ||
        !carried.hasOneUse() || *carried.user_begin() != join ||
        !(type.isSignlessInteger(32) || type.isSignlessInteger(64) ||
          type.isIndex()))
      return std::nullopt;
    lanes.joins.push_back(join);
    lanes.numbers.push_back(
        join->getOperand(join->getOperand(0) == carried ? 1 : 0));
  }
  WalkResult result = loop.getBody()->walk([](Operation *op) {
    return isForLanes(op) ? WalkResult::advance() : WalkResult::interrupt();
  });
  return result.wasInterrupted() ? std::nullopt : std::optional(lanes);
}

bool mlir::exec::hasLaneLoop(Region &body) {
  return llvm::any_of(body.getOps<scf::ForOp>(), [](scf::ForOp loop) {
    return laneLoopOf(loop).has_value();
  });
}

//===----------------------------------------------------------------------===//
// Ranges
//===----------------------------------------------------------------------===//

struct IndexRanges::Analysis {
  DataFlowSolver solver;
  bool isKnown = false;
};

IndexRanges::IndexRanges(Operation *op)
    : analysis(std::make_unique<Analysis>()) {
  analysis->solver.load<dataflow::DeadCodeAnalysis>();
  analysis->solver.load<dataflow::SparseConstantPropagation>();
  analysis->solver.load<dataflow::IntegerRangeAnalysis>();
  analysis->isKnown = succeeded(analysis->solver.initializeAndRun(op));
}

IndexRanges::~IndexRanges() = default;

bool IndexRanges::isWithin(Value value, int64_t least, int64_t most) const {
  if (!analysis->isKnown)
    return false;
  const auto *state =
      analysis->solver.lookupState<dataflow::IntegerValueRangeLattice>(value);
  if (!state || state->getValue().isUninitialized())
    return false;
  const ConstantIntRanges &range = state->getValue().getValue();
  return range.smin().getSExtValue() >= least &&
         range.smax().getSExtValue() <= most;
}

bool mlir::exec::readsOtherTasks(KernelOp kernel, size_t buffer) {
  return llvm::any_of(
      kernel.getBuffers()[buffer].getUsers(), [](Operation *user) {
        auto load = dyn_cast<memref::LoadOp>(user);
        return load && !load.getIndices().empty() &&
               load.getIndices().front().getDefiningOp<ClampTaskOp>();
      });
}

LogicalResult mlir::exec::verifyControlKernel(KernelOp kernel) {
  if (!kernel.hasBody())
    return success();
  IndexRanges ranges(kernel);
  Value task = kernel.getBody().getArgument(0);
  // A task may read rows of other tasks, but writes only its own.
  auto isTask = [&](Operation *op, Value index) {
    return index == task ||
           (isa<memref::LoadOp>(op) && index.getDefiningOp<ClampTaskOp>());
  };
  auto check = [&](Operation *op, MemRefType type,
                   OperandRange indices) -> WalkResult {
    for (auto [dim, index] : llvm::zip_equal(type.getShape(), indices)) {
      if (ShapedType::isDynamic(dim) ? isTask(op, index)
                                     : ranges.isWithin(index, 0, dim - 1))
        continue;
      return op->emitOpError("expected indices that are in range whatever "
                             "memory holds, which those into ")
             << type << " may not be";
    }
    return WalkResult::advance();
  };
  WalkResult result = kernel.getBody().walk([&](Operation *op) -> WalkResult {
    if (auto load = dyn_cast<memref::LoadOp>(op))
      return check(op, load.getMemRefType(), load.getIndices());
    if (auto store = dyn_cast<memref::StoreOp>(op))
      return check(op, store.getMemRefType(), store.getIndices());
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}
