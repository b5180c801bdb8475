//===- InlineLayers.cpp - Inline layer functions into the round -----------===//
//
// Applications carry a context (weight prefix, layers of a cache and of a
// recurrence) that the callee's body needs. Inlining is by context, not by
// symbol. The body is cloned, and the clone's weights, attentions and further
// applications get the context at once. So the only state is a work list of
// applications. Functions that leave widths open get them when everything is
// inlined (InferWidths.h).
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/IRMapping.h"
#include "passes/Passes.h"
#include "passes/model/InferWidths.h"
#include "passes/support/Calls.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::mtp {
#define GEN_PASS_DEF_INLINELAYERSPASS
#include "passes/Passes.h.inc"
} // namespace mlir::mtp

using namespace mlir;
using namespace mlir::mtp;

namespace {
struct InlineLayersPass
    : public mlir::mtp::impl::InlineLayersPassBase<InlineLayersPass> {
  using Base::Base;

  void runOnOperation() override;

private:
  LogicalResult inlineInto(Operation *root, const SymbolTable &symbols);
  LogicalResult eraseCallees(SymbolTable &symbols);

  /// Private functions that were inlined somewhere.
  llvm::SetVector<func::FuncOp> callees;
};

/// The context that an application gives its callee's body.
struct Context {
  StringRef prefix;
  FlatSymbolRefAttr cache;
  IntegerAttr layer;
  FlatSymbolRefAttr memory;
  IntegerAttr memoryLayer;
};
} // namespace

static Context getContext(Operation *call) {
  if (auto apply = dyn_cast<ApplyOp>(call))
    return {apply.getPrefix(), apply.getCacheAttr(), apply.getLayerAttr(),
            apply.getMemoryAttr(), apply.getMemoryLayerAttr()};
  return {};
}

//===----------------------------------------------------------------------===//
// Legality
//===----------------------------------------------------------------------===//

/// Checks that `call` and the calls below it form no cycle and that every
/// callee has a single block.
static LogicalResult checkCallees(Operation *call, const SymbolTable &symbols,
                                  SmallVectorImpl<func::FuncOp> &stack,
                                  DenseSet<func::FuncOp> &done) {
  FlatSymbolRefAttr callee = getCallee(call);
  auto func = symbols.lookup<func::FuncOp>(callee.getValue());
  if (!func) {
    return call->emitOpError("expected ")
           << callee << " to be a function of the model's own module";
  }
  if (llvm::is_contained(stack, func)) {
    InFlightDiagnostic diag =
        func.emitError("expected no recursion, got a cycle through @")
        << func.getSymName();
    for (func::FuncOp caller : stack)
      diag.attachNote(caller.getLoc()) << "called from here";
    return diag;
  }
  if (!done.insert(func).second)
    return success();
  if (stack.size() >= kMaxNesting) {
    return func.emitError("expected at most ")
           << kMaxNesting << " nested calls to @" << func.getSymName();
  }
  if (!func.getBody().hasOneBlock()) {
    return func.emitError("expected a body of one block to inline @")
           << func.getSymName();
  }
  stack.push_back(func);
  WalkResult result = func.walk([&](Operation *op) {
    return getCallee(op) ? WalkResult(checkCallees(op, symbols, stack, done))
                         : WalkResult::advance();
  });
  stack.pop_back();
  return failure(result.wasInterrupted());
}

/// Checks all functions that the calls below `root` reach.
static LogicalResult checkReachable(Operation *root,
                                    const SymbolTable &symbols) {
  DenseSet<func::FuncOp> done;
  WalkResult result = root->walk([&](Operation *op) {
    SmallVector<func::FuncOp> stack;
    return getCallee(op) ? WalkResult(checkCallees(op, symbols, stack, done))
                         : WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

//===----------------------------------------------------------------------===//
// Inlining
//===----------------------------------------------------------------------===//

/// Replaces `call` by an apply with the same callee in `context`.
static ApplyOp makeApply(Operation *call, const Context &context) {
  OpBuilder builder(call);
  Context inner = getContext(call);
  FlatSymbolRefAttr cache = inner.cache ? inner.cache : context.cache;
  IntegerAttr layer = inner.cache ? inner.layer : context.layer;
  FlatSymbolRefAttr memory = inner.memory ? inner.memory : context.memory;
  IntegerAttr memoryLayer =
      inner.memory ? inner.memoryLayer : context.memoryLayer;
  auto apply = ApplyOp::create(
      builder, call->getLoc(), call->getResultTypes(), getCallee(call),
      call->getOperands(),
      builder.getStringAttr(resolveWeightKey(context.prefix, inner.prefix)),
      cache, layer, memory, memoryLayer);
  call->replaceAllUsesWith(apply);
  call->erase();
  return apply;
}

/// Gives attention the context's cache, unless it names one itself.
template <typename AttentionT>
static void setCache(AttentionT attention, const Context &context) {
  if (!attention.getCacheAttr() && context.cache) {
    attention.setCacheAttr(context.cache);
    attention.setLayerAttr(context.layer);
  }
}

/// Gives a recurrent op the context's memory, unless it names one itself.
template <typename RecurrentT>
static void setMemory(RecurrentT recurrent, const Context &context) {
  if (!recurrent.getMemoryAttr() && context.memory) {
    recurrent.setMemoryAttr(context.memory);
    recurrent.setLayerAttr(context.memoryLayer);
  }
}

/// Puts `op`, cloned from a callee, into the context of its application. Calls
/// become applications to inline next.
static void specialize(Operation *op, const Context &context,
                       SmallVectorImpl<Operation *> &worklist) {
  if (auto weight = dyn_cast<WeightOp>(op))
    weight.setKey(resolveWeightKey(context.prefix, weight.getKey()));
  else if (auto attention = dyn_cast<AttentionOp>(op))
    setCache(attention, context);
  else if (auto attention = dyn_cast<MlaAttentionOp>(op))
    setCache(attention, context);
  else if (auto conv = dyn_cast<CausalConvOp>(op))
    setMemory(conv, context);
  else if (auto rule = dyn_cast<DeltaRuleOp>(op))
    setMemory(rule, context);
  else if (getCallee(op))
    worklist.push_back(makeApply(op, context));
}

/// Inlines `call`, whose callee has one block. If the call stated other result
/// types than the callee, casts connect them.
static void inlineCall(Operation *call, func::FuncOp callee,
                       SmallVectorImpl<Operation *> &worklist,
                       DenseSet<Operation *> &casts) {
  Context context = getContext(call);
  Block &body = callee.getBody().front();
  IRMapping mapping;
  mapping.map(body.getArguments(), call->getOperands());
  OpBuilder builder(call);
  SmallVector<Operation *> clones;
  for (Operation &op : body.without_terminator())
    clones.push_back(builder.clone(op, mapping));
  SmallVector<Value> results;
  for (auto [value, said] : llvm::zip_equal(body.getTerminator()->getOperands(),
                                            call->getResultTypes())) {
    Value given = mapping.lookupOrDefault(value);
    if (given.getType() != said) {
      auto cast = UnrealizedConversionCastOp::create(builder, call->getLoc(),
                                                     said, given);
      casts.insert(cast);
      given = cast.getResult(0);
    }
    results.push_back(given);
  }
  call->replaceAllUsesWith(results);
  for (Operation *clone : clones)
    clone->walk([&](Operation *op) { specialize(op, context, worklist); });
  call->erase();
}

LogicalResult InlineLayersPass::inlineInto(Operation *root,
                                           const SymbolTable &symbols) {
  if (failed(checkReachable(root, symbols)))
    return failure();
  SmallVector<Operation *> worklist;
  root->walk([&](Operation *op) {
    if (getCallee(op))
      worklist.push_back(op);
  });
  DenseSet<Operation *> casts;
  size_t inlined = 0, inlinedOps = 0;
  while (!worklist.empty()) {
    Operation *call = worklist.pop_back_val();
    if (++inlined > kMaxApplications) {
      return call->emitOpError("expected at most ")
             << kMaxApplications << " applications to inline";
    }
    auto callee = symbols.lookup<func::FuncOp>(getCallee(call).getValue());
    inlinedOps += callee.getBody().front().getOperations().size();
    if (inlinedOps > kMaxInlinedOps) {
      return call->emitOpError("expected at most ")
             << kMaxInlinedOps << " ops when all calls are inlined";
    }
    if (callee.isPrivate())
      callees.insert(callee);
    inlineCall(call, callee, worklist, casts);
    ++numInlined;
  }
  return refineWidths(root, casts);
}

/// Removes the leading slash of weight keys: after inlining all keys are
/// absolute.
static void stripSlashes(Operation *root) {
  root->walk([](WeightOp weight) {
    StringRef key = weight.getKey();
    if (key.consume_front("/"))
      weight.setKey(key.str());
  });
}

/// Checks that every attention of a program has a cache, and every recurrent op
/// a memory.
static LogicalResult checkCaches(Operation *root) {
  WalkResult result = root->walk([](Operation *op) {
    StringRef lacking;
    if (auto attention = dyn_cast<AttentionOp>(op))
      lacking = attention.getCache() ? "" : "cache";
    else if (auto attention = dyn_cast<MlaAttentionOp>(op))
      lacking = attention.getCache() ? "" : "cache";
    else if (auto conv = dyn_cast<CausalConvOp>(op))
      lacking = conv.getMemory() ? "" : "memory";
    else if (auto rule = dyn_cast<DeltaRuleOp>(op))
      lacking = rule.getMemory() ? "" : "memory";
    if (lacking.empty())
      return WalkResult::advance();
    op->emitOpError("expected a ")
        << lacking << ", got none from the mtp.apply ops around it";
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

/// Checks that a function that stays has all widths, since no call determines
/// them.
static LogicalResult checkStays(func::FuncOp func) {
  auto isOpen = [](Type type) {
    auto rows = dyn_cast<RankedTensorType>(type);
    return rows && rows.getElementType().isF32() && rows.getRank() > 1 &&
           ShapedType::isDynamic(rows.getShape().back());
  };
  if (!func.isPrivate() || func.isExternal() ||
      llvm::none_of(func.getArgumentTypes(), isOpen))
    return success();
  return func.emitError("expected a call that says the widths of @")
         << func.getSymName() << ", got none";
}

LogicalResult InlineLayersPass::eraseCallees(SymbolTable &symbols) {
  // A function that is never called stays, and so does what it calls.
  SmallVector<func::FuncOp> pending;
  for (auto func : getOperation().getOps<func::FuncOp>())
    if (!callees.contains(func))
      pending.push_back(func);
  while (!pending.empty()) {
    pending.pop_back_val().walk([&](Operation *op) {
      if (FlatSymbolRefAttr name = getCallee(op)) {
        auto callee = symbols.lookup<func::FuncOp>(name.getValue());
        if (callee && callees.remove(callee))
          pending.push_back(callee);
      }
    });
  }
  for (func::FuncOp callee : callees) {
    symbols.erase(callee);
    ++numErased;
  }
  for (auto func : getOperation().getOps<func::FuncOp>())
    if (failed(checkStays(func)))
      return failure();
  return success();
}

void InlineLayersPass::runOnOperation() {
  ModuleOp module = getOperation();
  callees.clear();
  SmallVector<Operation *> roots;
  for (Operation &op : *module.getBody()) {
    auto func = dyn_cast<func::FuncOp>(op);
    if (isa<RoundOp, PrefillOp>(op) || (func && !func.isPrivate()))
      roots.push_back(&op);
  }
  SymbolTable symbols(module);
  for (Operation *root : roots)
    if (failed(inlineInto(root, symbols)))
      return signalPassFailure();
  for (Operation *root : roots) {
    stripSlashes(root);
    if (failed(checkCaches(root)))
      return signalPassFailure();
  }
  if (failed(eraseCallees(symbols)))
    signalPassFailure();
}
