//===- OrderFragments.cpp - Order weights for tensor cores ----------------===//
//
// The order is recorded in the layout and in the type of each reference, in
// which kernels see it.
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/IR/ExecOps.h"
#include "dialects/Exec/IR/KernelFamily.h"
#include "passes/Passes.h"
#include "runtime/schema/FragmentOrder.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::mtp {
#define GEN_PASS_DEF_ORDERFRAGMENTSPASS
#include "passes/Passes.h.inc"
} // namespace mlir::mtp

using namespace mlir;
using namespace mlir::exec;
using Order = ::mtp::FragmentOrder;

namespace {

struct OrderFragmentsPass
    : public mlir::mtp::impl::OrderFragmentsPassBase<OrderFragmentsPass> {
  using Base::Base;

  void runOnOperation() override;
};

} // namespace

/// Returns the layout with fragments; null if it has no such form.
static WeightLayoutAttrInterface inFragments(exec::WeightOp weight) {
  if (!weight.canBeInFragments())
    return nullptr;
  return llvm::TypeSwitch<Attribute, WeightLayoutAttrInterface>(
             weight.getLayout())
      .Case<PanelsAttr, GatedPanelsAttr>(
          [](auto layout) -> WeightLayoutAttrInterface {
            if (layout.getWidth() != Order::kOutputs)
              return nullptr;
            return decltype(layout)::get(layout.getContext(), Order::kOutputs,
                                         /*fragments=*/true);
          })
      .Default(WeightLayoutAttrInterface());
}

/// Returns whether a call streams the weight as its matrix.
static bool isProduct(Operation *call, Value weight) {
  if (auto head = dyn_cast<HeadLinearOp>(call))
    return head.getWeight() == weight;
  if (auto head = dyn_cast<LinearArgmaxOp>(call))
    return head.getWeight() == weight;
  auto packed = dyn_cast<PackedWeightOpInterface>(call);
  return packed && packed.getPackedWeight() == weight;
}

/// Returns whether the rows that a call multiplies begin at multiples of 16
/// bytes, the unit in which they are loaded. Rows of buffers do; columns of a
/// buffer may not.
static bool hasAlignedRows(Operation *call) {
  constexpr int64_t piece = kPieceBytes / 4;
  auto isAligned = [](Value x) {
    ColumnView view = viewOf(x);
    return view.offset % piece == 0 && view.stride % piece == 0;
  };
  return llvm::TypeSwitch<Operation *, bool>(call)
      .Case<exec::LinearOp, LinearArgmaxOp, MoeGateUpOp, MoeDownOp>(
          [&](auto op) { return isAligned(op.getX()); })
      .Case<HeadLinearOp>([&](HeadLinearOp op) {
        return isAligned(op.getX()) && op.getColBegin() % piece == 0 &&
               op.getHeadWidth() % piece == 0;
      })
      .Default(true);
}

void OrderFragmentsPass::runOnOperation() {
  SymbolTable symbols(getOperation());
  llvm::MapVector<exec::WeightOp, SmallVector<RefOp>> refs;
  getOperation().walk([&](RefOp ref) {
    if (auto weight = symbols.lookup<exec::WeightOp>(ref.getResource()))
      refs[weight].push_back(ref);
  });
  for (auto &[weight, ofWeight] : refs) {
    WeightLayoutAttrInterface layout = inFragments(weight);
    bool onlyProducts = llvm::all_of(ofWeight, [](RefOp ref) {
      return llvm::all_of(ref->getUsers(), [&](Operation *user) {
        return isProduct(user, ref.getResult()) && hasAlignedRows(user);
      });
    });
    if (!layout || !onlyProducts)
      continue;
    exec::WeightOp(weight).setLayoutAttr(layout);
    for (RefOp ref : ofWeight)
      ref.getResult().setType(exec::WeightOp(weight).getPackedType());
    ++numOrdered;
  }
}
