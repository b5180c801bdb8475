//===- FuseProjections.cpp - Merge projections ----------------------------===//
//
// A decode step streams weights, so few and long streams are best. Four
// rewrites run in this order: gated pairs, siblings, sums, remaining
// projections. Each produces `mtp.fused_linear` or extends the experts' op.
//
//===----------------------------------------------------------------------===//

#include "dialects/MTP/IR/MTPOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "passes/Passes.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::mtp {
#define GEN_PASS_DEF_FUSEPROJECTIONSPASS
#include "passes/Passes.h.inc"
} // namespace mlir::mtp

using namespace mlir;
using namespace mlir::mtp;

namespace {
struct FuseProjectionsPass
    : public mlir::mtp::impl::FuseProjectionsPassBase<FuseProjectionsPass> {
  using Base::Base;

  explicit FuseProjectionsPass(StoredFormatFn storedFormat)
      : storedFormat(std::move(storedFormat)) {}

  void runOnOperation() override;

private:
  bool haveEqualFormats(Value a, Value b);
  bool canMerge(LinearOp linear, LinearOp first);
  SmallVector<SmallVector<LinearOp>> groupSiblings(ModuleOp module);
  template <typename GluOp>
  bool fuseGate(GluOp op, ActivationKind activation);
  template <typename GluOp>
  void fuseGates(ActivationKind activation);
  void mergeSiblings(ArrayRef<LinearOp> siblings);
  void fuseSum(AddOp add);

  StoredFormatFn storedFormat;
};
} // namespace

/// Returns the role of a merged projection: the router's, which is never
/// quantized, or else the head's.
static ProjectionRoleAttr join(ProjectionRoleAttr a, ProjectionRoleAttr b) {
  if (!a || !b)
    return a ? a : b;
  return a.getValue() == ProjectionRole::Router ? a : b;
}

/// Returns whether a merged weight takes no more bits than two weights.
bool FuseProjectionsPass::haveEqualFormats(Value a, Value b) {
  auto first = a.getDefiningOp<WeightOp>(),
       second = b.getDefiningOp<WeightOp>();
  return !storedFormat || !first || !second ||
         storedFormat(first) == storedFormat(second);
}

/// Converts `linear` to the form that takes fused operands.
static FusedLinearOp convert(LinearOp linear) {
  OpBuilder builder(linear);
  auto fused = FusedLinearOp::create(builder, linear.getLoc(), linear);
  linear.replaceAllUsesWith(fused.getResult());
  linear.erase();
  return fused;
}

/// Returns all operations of one kind in program order.
template <typename OpT>
static SmallVector<OpT> collect(ModuleOp module) {
  SmallVector<OpT> ops;
  module.walk([&](OpT op) { ops.push_back(op); });
  return ops;
}

//===----------------------------------------------------------------------===//
// Gated pairs
//===----------------------------------------------------------------------===//

/// Fuses op(x G^T, x U^T) if the two projections have no other readers. Returns
/// whether it did.
template <typename GluOp>
bool FuseProjectionsPass::fuseGate(GluOp op, ActivationKind activation) {
  auto gate = op.getGate().template getDefiningOp<LinearOp>();
  auto up = op.getUp().template getDefiningOp<LinearOp>();
  if (!gate || !up || gate == up || !gate->hasOneUse() || !up->hasOneUse() ||
      gate.getX() != up.getX() || gate.getBias() || up.getBias() ||
      gate.getWeight().getType() != up.getWeight().getType() ||
      !haveEqualFormats(gate.getWeight(), up.getWeight())) {
    return false;
  }
  OpBuilder builder(op);
  auto fused = FusedLinearOp::create(
      builder, op.getLoc(), op.getType(), gate.getX(),
      ValueRange{gate.getWeight(), up.getWeight()}, /*biases=*/ValueRange(),
      join(gate.getRoleAttr(), up.getRoleAttr()), activation);
  op.replaceAllUsesWith(fused.getResult());
  op.erase();
  gate.erase();
  up.erase();
  return true;
}

template <typename GluOp>
void FuseProjectionsPass::fuseGates(ActivationKind activation) {
  for (GluOp op : collect<GluOp>(getOperation()))
    numGates += fuseGate(op, activation);
}

//===----------------------------------------------------------------------===//
// Siblings
//===----------------------------------------------------------------------===//

/// Returns whether `value` is available before `anchor` or can be moved there.
static bool canHoist(Value value, Operation *anchor) {
  Operation *def = value.getDefiningOp();
  return !def || def->getBlock() != anchor->getBlock() ||
         def->isBeforeInBlock(anchor) || isa<WeightOp>(def);
}

/// Makes `value` available before `anchor`; only weights ever move.
static void hoist(Value value, Operation *anchor) {
  Operation *def = value.getDefiningOp();
  if (def && def->getBlock() == anchor->getBlock() &&
      !def->isBeforeInBlock(anchor)) {
    def->moveBefore(anchor);
  }
}

/// Returns whether `linear` can join the projection that starts with `first`.
bool FuseProjectionsPass::canMerge(LinearOp linear, LinearOp first) {
  return linear->getBlock() == first->getBlock() &&
         getElementTypeOrSelf(linear.getWeight()) ==
             getElementTypeOrSelf(first.getWeight()) &&
         static_cast<bool>(linear.getBias()) ==
             static_cast<bool>(first.getBias()) &&
         canHoist(linear.getWeight(), first) &&
         haveEqualFormats(linear.getWeight(), first.getWeight()) &&
         (!linear.getBias() || canHoist(linear.getBias(), first));
}

/// Merges `siblings`, at least two projections of one value. The first sibling
/// comes first in its block.
void FuseProjectionsPass::mergeSiblings(ArrayRef<LinearOp> siblings) {
  LinearOp first = siblings.front();
  SmallVector<Value> weights, biases;
  int64_t width = 0;
  ProjectionRoleAttr role;
  for (LinearOp linear : siblings) {
    hoist(linear.getWeight(), first);
    weights.push_back(linear.getWeight());
    if (Value bias = linear.getBias()) {
      hoist(bias, first);
      biases.push_back(bias);
    }
    width += widthOf(linear.getResult());
    role = join(role, linear.getRoleAttr());
  }
  OpBuilder builder(first);
  auto like = cast<RankedTensorType>(first.getResult().getType());
  auto type =
      RankedTensorType::get({like.getDimSize(0), width}, like.getElementType());
  auto merged = FusedLinearOp::create(builder, first.getLoc(), type,
                                      first.getX(), weights, biases, role);
  int64_t begin = 0;
  for (LinearOp linear : siblings) {
    int64_t end = begin + widthOf(linear.getResult());
    Value part =
        SliceOp::create(builder, linear.getLoc(), linear.getResult().getType(),
                        merged.getResult(), builder.getI64IntegerAttr(begin),
                        builder.getI64IntegerAttr(end));
    linear.replaceAllUsesWith(part);
    begin = end;
    ++numMerged;
  }
  // The builder inserts at the first sibling, so the siblings are erased last.
  for (LinearOp linear : siblings)
    linear.erase();
}

/// Groups projections that can be merged; each group is in program order.
SmallVector<SmallVector<LinearOp>>
FuseProjectionsPass::groupSiblings(ModuleOp module) {
  llvm::MapVector<Value, SmallVector<SmallVector<LinearOp>>> groups;
  for (LinearOp linear : collect<LinearOp>(module)) {
    auto &ofValue = groups[linear.getX()];
    auto *group = llvm::find_if(ofValue, [&](ArrayRef<LinearOp> candidates) {
      return canMerge(linear, candidates.front());
    });
    if (group == ofValue.end())
      ofValue.push_back({linear});
    else
      group->push_back(linear);
  }
  SmallVector<SmallVector<LinearOp>> result;
  for (auto &entry : groups) {
    for (auto &group : entry.second)
      if (group.size() > 1)
        result.push_back(std::move(group));
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

/// Returns the op that defines `value` if only `add` reads it; null if not.
template <typename OpT>
static OpT getOnlyRead(Value value, AddOp add) {
  auto op = value.getDefiningOp<OpT>();
  return op && op->hasOneUse() && op->getBlock() == add->getBlock() ? op
                                                                    : OpT();
}

/// Adds `addend` inside the experts' op; false if both operands are taken. The
/// shared experts' result must be a projection, the residual may be any value.
static bool addToExperts(MoeExpertsOp experts, Value addend, AddOp add) {
  bool projected =
      isa_and_nonnull<LinearOp, FusedLinearOp>(addend.getDefiningOp());
  bool asShared = projected ? !experts.getShared()
                            : static_cast<bool>(experts.getResidual());
  if (asShared ? experts.getShared() : experts.getResidual())
    return false;
  experts->moveBefore(add);
  if (asShared)
    experts.getSharedMutable().assign(addend);
  else
    experts.getResidualMutable().assign(addend);
  add.replaceAllUsesWith(experts.getResult());
  add.erase();
  return true;
}

/// Adds `residual` inside the projection `op`; false if it cannot.
static bool addToProjection(Operation *op, Value residual, AddOp add) {
  auto fused = dyn_cast<FusedLinearOp>(op);
  if (!fused)
    fused = convert(cast<LinearOp>(op));
  if (fused.getResidual() || fused.getActivation() != ActivationKind::None)
    return false;
  fused->moveBefore(add);
  fused.getResidualMutable().assign(residual);
  add.replaceAllUsesWith(fused.getResult());
  add.erase();
  return true;
}

void FuseProjectionsPass::fuseSum(AddOp add) {
  // Try the right side first: models write x + f(x).
  std::pair<Value, Value> sides[] = {{add.getRhs(), add.getLhs()},
                                     {add.getLhs(), add.getRhs()}};
  if (add.getLhs() == add.getRhs())
    return;
  for (auto [term, other] : sides) {
    auto experts = getOnlyRead<MoeExpertsOp>(term, add);
    if (experts && addToExperts(experts, other, add)) {
      ++numResiduals;
      return;
    }
  }
  for (auto [term, other] : sides) {
    Operation *op = getOnlyRead<LinearOp>(term, add);
    if (!op)
      op = getOnlyRead<FusedLinearOp>(term, add);
    if (op && addToProjection(op, other, add)) {
      ++numResiduals;
      return;
    }
  }
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

void FuseProjectionsPass::runOnOperation() {
  ModuleOp module = getOperation();
  fuseGates<SwigluOp>(ActivationKind::Swiglu);
  fuseGates<GegluTanhOp>(ActivationKind::GegluTanh);
  for (ArrayRef<LinearOp> siblings : groupSiblings(module))
    mergeSiblings(siblings);
  for (AddOp add : collect<AddOp>(module))
    fuseSum(add);
  // Later passes see only one form of projection.
  for (LinearOp linear : collect<LinearOp>(module))
    convert(linear);
}

std::unique_ptr<Pass>
mlir::mtp::createFuseProjectionsPass(StoredFormatFn storedFormat) {
  return std::make_unique<FuseProjectionsPass>(std::move(storedFormat));
}
