//===- FusePerSlot.cpp - Join neighbouring bodies -------------------------===//
//
// The expansions of draft, verify, accept and commit each write their own
// control code. Neighbouring bodies become one kernel. Two bodies are joined if
// no op between them touches a state of the body that moves. In addition,
// either all readers of the first body's results come after the second body, or
// the second body needs no value that is made between them.
//
//===----------------------------------------------------------------------===//

#include "dialects/MTP/IR/MTPOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "passes/Passes.h"
#include "passes/support/SlotBody.h"

namespace mlir::mtp {
#define GEN_PASS_DEF_FUSEPERSLOTPASS
#include "passes/Passes.h.inc"
} // namespace mlir::mtp

using namespace mlir;
using namespace mlir::mtp;

namespace {
struct FusePerSlotPass
    : public mlir::mtp::impl::FusePerSlotPassBase<FusePerSlotPass> {
  using Base::Base;

  void runOnOperation() override;

private:
  void fuse(Block &block);
};
} // namespace

/// Returns whether `op` reads or writes slot states.
static bool touchesState(Operation *op) {
  std::optional<SmallVector<MemoryEffects::EffectInstance>> effects =
      getEffectsRecursively(op);
  return !effects || llvm::any_of(*effects, [](auto &effect) {
    return isa<SlotResource>(effect.getResource());
  });
}

static bool isBefore(Value value, Operation *op) {
  Operation *def = value.getDefiningOp();
  return !def || def->isBeforeInBlock(op);
}

/// The states that the ops between two bodies touch.
struct TouchedStates {
  llvm::SmallDenseSet<StringAttr> names;
  /// True if it is unknown which states are touched.
  bool all = false;

  void add(Operation *op) {
    if (auto write = dyn_cast<WriteStateOp>(op))
      names.insert(write.getStateAttr().getAttr());
    else if (auto read = dyn_cast<ReadStateOp>(op))
      names.insert(read.getStateAttr().getAttr());
    else if (auto mask = dyn_cast<MaskColumnsOp>(op))
      names.insert(mask.getStateAttr().getAttr());
    else
      all |= touchesState(op);
  }
  /// Returns whether a body may run before these ops as well as after them.
  bool isApartFrom(PerSlotOp body) const {
    StateUses uses = collectStateUses(body);
    auto touched = [&](StringAttr state) { return names.contains(state); };
    return !all && llvm::none_of(uses.read, touched) &&
           llvm::none_of(uses.written, touched);
  }
};

/// Returns the op at whose place both bodies can run, or null: the second if
/// all readers of the first come later, the first if all operands of the second
/// come earlier.
static Operation *findPlace(PerSlotOp first, PerSlotOp second,
                            const TouchedStates &between) {
  bool canSink = between.isApartFrom(first) &&
                 llvm::all_of(first->getUsers(), [&](Operation *user) {
                   Operation *own =
                       second->getBlock()->findAncestorOpInBlock(*user);
                   return own == second || second->isBeforeInBlock(own);
                 });
  if (canSink)
    return second;
  bool canRise =
      between.isApartFrom(second) &&
      llvm::all_of(second.getInputs(), [&](Value input) {
        return input.getDefiningOp() == first || isBefore(input, first);
      });
  return canRise ? first : nullptr;
}

/// Returns the states that a vector given by a rule reads in `op`.
static llvm::SetVector<Attribute> readInVectors(PerSlotOp op) {
  llvm::SetVector<Attribute> states;
  op.walk([&](LoadOp load) {
    if (load->getParentOfType<tensor::GenerateOp>())
      states.insert(load.getStateAttr());
  });
  return states;
}

/// Returns whether the joined body would keep vector rules apart from stores: a
/// rule must not read a state that its body stores to.
static bool keepsRules(PerSlotOp first, PerSlotOp second) {
  auto clashes = [](PerSlotOp reader, PerSlotOp writer) {
    llvm::SetVector<Attribute> read = readInVectors(reader);
    return writer
        .walk([&](StoreOp store) {
          return read.contains(store.getStateAttr()) ? WalkResult::interrupt()
                                                     : WalkResult::advance();
        })
        .wasInterrupted();
  };
  return !clashes(first, second) && !clashes(second, first);
}

/// Joins the names of both bodies, without repeating a part.
static StringAttr joinNames(PerSlotOp first, PerSlotOp second) {
  StringAttr a = bodyName(first), b = bodyName(second);
  if (!a || !b || a == b || a.getValue().ends_with(("_" + b.getValue()).str()))
    return a ? a : b;
  return StringAttr::get(first.getContext(), a.getValue() + "_" + b.getValue());
}

/// Returns one op that runs both bodies, the first before the second.
static PerSlotOp join(PerSlotOp first, PerSlotOp second, Operation *place) {
  OpBuilder builder(place);
  SmallVector<Value> inputs(first.getInputs());
  for (Value input : second.getInputs())
    if (input.getDefiningOp() != first)
      inputs.push_back(input);
  SmallVector<Type> types(first.getResultTypes());
  llvm::append_range(types, second.getResultTypes());
  Location loc = renamed(second.getLoc(), joinNames(first, second));
  auto both = PerSlotOp::create(builder, loc, types, first.getSlots(), inputs);
  both.getBodyRegion().takeBody(first.getBodyRegion());
  Block *body = both.getBody();
  auto yield = cast<YieldOp>(body->getTerminator());

  IRMapping mapping;
  mapping.map(second.getIndexArgument(), both.getIndexArgument());
  mapping.map(second.getSlotArgument(), both.getSlotArgument());
  for (auto [input, argument] :
       llvm::zip(second.getInputs(), second.getInputArguments())) {
    auto result = dyn_cast<OpResult>(input);
    bool isFirsts = result && result.getOwner() == first;
    mapping.map(argument, isFirsts ? yield.getValues()[result.getResultNumber()]
                                   : body->addArgument(argument.getType(),
                                                       argument.getLoc()));
  }
  builder.setInsertionPoint(yield);
  for (Operation &op : second.getBody()->without_terminator())
    builder.clone(op, mapping);
  for (Value value : second.getYield().getValues())
    yield.getValuesMutable().append(mapping.lookupOrDefault(value));
  first.replaceAllUsesWith(both.getResults().take_front(first.getNumResults()));
  second.replaceAllUsesWith(
      both.getResults().drop_front(first.getNumResults()));
  second.erase();
  first.erase();
  return both;
}

void FusePerSlotPass::fuse(Block &block) {
  PerSlotOp open;
  TouchedStates between;
  for (Operation &op : llvm::make_early_inc_range(block)) {
    auto next = dyn_cast<PerSlotOp>(op);
    if (!next) {
      between.add(&op);
      continue;
    }
    bool fits =
        open && open.getSlots() == next.getSlots() && keepsRules(open, next);
    Operation *place = fits ? findPlace(open, next, between) : nullptr;
    // Ops before the place of the joined body are not between it and the next
    // body.
    if (place != open || !place)
      between = {};
    if (place) {
      open = join(open, next, place);
      ++numFused;
    } else {
      open = next;
    }
  }
}

/// Returns the canonicalization patterns that simplify a body.
static FrozenRewritePatternSet tidyingPatterns(MLIRContext *context) {
  RewritePatternSet patterns(context);
  PerSlotOp::getCanonicalizationPatterns(patterns, context);
  for (RegisteredOperationName name : context->getRegisteredOperations())
    if (isa<arith::ArithDialect, scf::SCFDialect, tensor::TensorDialect>(
            name.getDialect()))
      name.getCanonicalizationPatterns(patterns, context);
  return std::move(patterns);
}

void FusePerSlotPass::runOnOperation() {
  FrozenRewritePatternSet patterns = tidyingPatterns(&getContext());
  for (Operation &op : *getOperation().getBody()) {
    if (!isa<RoundOp, PrefillOp>(op))
      continue;
    fuse(op.getRegion(0).front());
    if (failed(applyPatternsGreedily(op.getRegion(0), patterns)))
      return signalPassFailure();
  }
}
