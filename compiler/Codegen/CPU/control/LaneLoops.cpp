//===- LaneLoops.cpp - Vectorized loops of a body -------------------------===//
//
// A body clamps an index that may be out of range as max(min(index, most), 0),
// which LLVM's vectorizer takes for a gather. If `index` is the loop's variable
// plus a constant, it is in range in one interval of iterations. The loop
// therefore becomes three: before, in and after the interval.
//
//===----------------------------------------------------------------------===//

#include "compiler/Codegen/CPU/control/LaneLoops.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/IRMapping.h"

using namespace mtp;
using namespace mtp::codegen;
using namespace mlir;

namespace {
/// A clamp max(min(index, most), 0), in which index is the variable plus an
/// offset.
struct Clamp {
  arith::MaxSIOp op;
  Value index;
  int64_t offset, most;
};
} // namespace

/// Returns the constant that is added to the loop's variable to make `value`,
/// or nothing.
static std::optional<int64_t> offsetFrom(Value variable, Value value) {
  if (value == variable)
    return 0;
  constexpr int64_t kMost = int64_t(1) << 46; // elements of a state
  std::optional<int64_t> offset;
  if (auto sum = value.getDefiningOp<arith::AddIOp>()) {
    if (sum.getLhs() == variable)
      offset = getConstantIntValue(sum.getRhs());
    else if (sum.getRhs() == variable)
      offset = getConstantIntValue(sum.getLhs());
  } else if (auto less = value.getDefiningOp<arith::SubIOp>()) {
    offset = getConstantIntValue(less.getRhs());
    if (less.getLhs() != variable || !offset)
      return std::nullopt;
    offset = *offset >= -kMost && *offset <= kMost ? std::optional(-*offset)
                                                   : std::nullopt;
  }
  return offset && *offset >= -kMost && *offset <= kMost ? offset
                                                         : std::nullopt;
}

static SmallVector<Clamp> findClamps(scf::ForOp loop) {
  SmallVector<Clamp> clamps;
  loop.walk([&](arith::MaxSIOp op) {
    auto least = op.getLhs().getDefiningOp<arith::MinSIOp>();
    if (!least || getConstantIntValue(op.getRhs()) != 0)
      return;
    std::optional<int64_t> most = getConstantIntValue(least.getRhs());
    std::optional<int64_t> offset =
        offsetFrom(loop.getInductionVar(), least.getLhs());
    if (most && offset)
      clamps.push_back({op, least.getLhs(), *offset, *most});
  });
  return clamps;
}

/// Requests vectorization of `loop`; LLVM's vectorizer is off by default.
static void annotate(scf::ForOp loop) {
  MLIRContext *context = loop.getContext();
  Builder builder(context);
  auto vectorize = LLVM::LoopVectorizeAttr::get(
      context, /*disable=*/builder.getBoolAttr(false), {}, {}, {}, {}, {}, {});
  // Interleaved chains hide the latency of one chain.
  auto interleave =
      LLVM::LoopInterleaveAttr::get(context, builder.getI32IntegerAttr(4));
  loop->setAttr("llvm.loop_annotation",
                LLVM::LoopAnnotationAttr::get(
                    context, /*disableNonforced=*/{}, vectorize, interleave, {},
                    {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}));
}

/// Copies `loop`. The copy runs from `begin` to `end` and starts with
/// `carried`.
static scf::ForOp copyLoop(OpBuilder &builder, scf::ForOp loop, Value begin,
                           Value end, ValueRange carried) {
  auto copy = cast<scf::ForOp>(builder.clone(*loop));
  copy.setLowerBound(begin);
  copy.setUpperBound(end);
  copy.getInitArgsMutable().assign(carried);
  return copy;
}

void codegen::vectorizeLaneLoop(scf::ForOp loop) {
  SmallVector<Clamp> clamps = findClamps(loop);
  if (clamps.empty())
    return annotate(loop);
  int64_t least = std::numeric_limits<int64_t>::min();
  int64_t most = std::numeric_limits<int64_t>::max();
  for (const Clamp &clamp : clamps) {
    least = std::max(least, -clamp.offset);
    most = std::min(most, clamp.most - clamp.offset);
  }
  OpBuilder builder(loop);
  Location loc = loop.getLoc();
  auto at = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  auto max = [&](Value a, Value b) -> Value {
    return arith::MaxSIOp::create(builder, loc, a, b);
  };
  auto min = [&](Value a, Value b) -> Value {
    return arith::MinSIOp::create(builder, loc, a, b);
  };
  Value begin = loop.getLowerBound();
  Value end = max(begin, loop.getUpperBound());
  Value first = min(max(begin, at(least)), end);
  Value last = max(min(end, at(most + 1)), first);

  scf::ForOp before = copyLoop(builder, loop, begin, first, loop.getInitArgs());
  scf::ForOp behind = loop;
  scf::ForOp run = copyLoop(builder, loop, first, last, before.getResults());
  behind.setLowerBound(last);
  behind.setUpperBound(end);
  behind.getInitArgsMutable().assign(run.getResults());
  SmallVector<Clamp> dropped = findClamps(run);
  for (Clamp &clamp : dropped)
    clamp.op.replaceAllUsesWith(clamp.index);
  annotate(run);
}
