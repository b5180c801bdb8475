//===- InlineLayers.cpp - Inline layer functions into the round -----------===//
//
// Applications carry a context (weight prefix, cache, layer) that the callee's
// body needs. Inlining is by context, not by symbol: the body is cloned and the
// clone's weights, attentions and further applications get the context at once,
// so a work list of applications is all the state there is.
//
//===----------------------------------------------------------------------===//

#include "dialects/MTP/IR/MTPOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "passes/Passes.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::mtp {
#define GEN_PASS_DEF_INLINELAYERSPASS
#include "passes/Passes.h.inc"
} // namespace mlir::mtp

using namespace mlir;
using namespace mlir::mtp;

namespace {
struct InlineLayersPass
    : public mtp::impl::InlineLayersPassBase<InlineLayersPass> {
  using Base::Base;

  void runOnOperation() override;

private:
  LogicalResult inlineInto(Operation *root);
  void eraseCallees(SymbolTable &symbols);

  /// Private functions that were inlined somewhere.
  llvm::SetVector<func::FuncOp> callees;
};

/// What an application says about its callee's body.
struct Context {
  StringRef prefix;
  FlatSymbolRefAttr cache;
  IntegerAttr layer;
};
} // namespace

/// No model nests or applies more; a module that does would only exhaust the
/// machine.
static constexpr size_t kMaxNesting = 64;
static constexpr size_t kMaxApplications = size_t(1) << 16;

/// The function that `op` calls, if it is a call of ours.
static FlatSymbolRefAttr getCallee(Operation *op) {
  if (auto apply = dyn_cast<ApplyOp>(op)) {
    return apply.getCalleeAttr();
  }
  if (auto call = dyn_cast<func::CallOp>(op)) {
    return call.getCalleeAttr();
  }
  return {};
}

static Context getContext(Operation *call) {
  if (auto apply = dyn_cast<ApplyOp>(call)) {
    return {apply.getPrefix(), apply.getCacheAttr(), apply.getLayerAttr()};
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Legality
//===----------------------------------------------------------------------===//

/// Checks that calls below `func` form no cycle and end in single blocks.
static LogicalResult checkCallees(func::FuncOp func,
                                  SmallVectorImpl<func::FuncOp> &stack,
                                  DenseSet<func::FuncOp> &done) {
  if (llvm::is_contained(stack, func)) {
    InFlightDiagnostic diag =
        func.emitError("expected no recursion, got a cycle through @")
        << func.getSymName();
    for (func::FuncOp caller : stack) {
      diag.attachNote(caller.getLoc()) << "called from here";
    }
    return diag;
  }
  if (!done.insert(func).second) {
    return success();
  }
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
    FlatSymbolRefAttr name = getCallee(op);
    if (!name) {
      return WalkResult::advance();
    }
    auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(op, name);
    return WalkResult(checkCallees(callee, stack, done));
  });
  stack.pop_back();
  return failure(result.wasInterrupted());
}

/// Checks everything that the calls below `root` reach.
static LogicalResult checkReachable(Operation *root) {
  DenseSet<func::FuncOp> done;
  WalkResult result = root->walk([&](Operation *op) {
    FlatSymbolRefAttr name = getCallee(op);
    if (!name) {
      return WalkResult::advance();
    }
    SmallVector<func::FuncOp> stack;
    auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(op, name);
    return WalkResult(checkCallees(callee, stack, done));
  });
  return failure(result.wasInterrupted());
}

//===----------------------------------------------------------------------===//
// Inlining
//===----------------------------------------------------------------------===//

/// Replaces `call` by the same call as an apply in `context`.
static ApplyOp makeApply(Operation *call, const Context &context) {
  OpBuilder builder(call);
  Context inner = getContext(call);
  FlatSymbolRefAttr cache = inner.cache ? inner.cache : context.cache;
  IntegerAttr layer = inner.cache ? inner.layer : context.layer;
  auto apply = ApplyOp::create(
      builder, call->getLoc(), call->getResultTypes(), getCallee(call),
      call->getOperands(),
      builder.getStringAttr(resolveWeightKey(context.prefix, inner.prefix)),
      cache, layer);
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

/// Puts `op`, a clone of a callee's, into the context of its application; calls
/// become applications to inline next.
static void specialize(Operation *op, const Context &context,
                       SmallVectorImpl<Operation *> &worklist) {
  if (auto weight = dyn_cast<WeightOp>(op)) {
    weight.setKey(resolveWeightKey(context.prefix, weight.getKey()));
  } else if (auto attention = dyn_cast<AttentionOp>(op)) {
    setCache(attention, context);
  } else if (auto attention = dyn_cast<MlaAttentionOp>(op)) {
    setCache(attention, context);
  } else if (getCallee(op)) {
    worklist.push_back(makeApply(op, context));
  }
}

/// Inlines `call`, whose callee has one block.
static void inlineCall(Operation *call, func::FuncOp callee,
                       SmallVectorImpl<Operation *> &worklist) {
  Context context = getContext(call);
  Block &body = callee.getBody().front();
  IRMapping mapping;
  mapping.map(body.getArguments(), call->getOperands());
  OpBuilder builder(call);
  SmallVector<Operation *> clones;
  for (Operation &op : body.without_terminator()) {
    clones.push_back(builder.clone(op, mapping));
  }
  SmallVector<Value> results;
  for (Value value : body.getTerminator()->getOperands()) {
    results.push_back(mapping.lookupOrDefault(value));
  }
  call->replaceAllUsesWith(results);
  for (Operation *clone : clones) {
    specialize(clone, context, worklist);
  }
  call->erase();
}

LogicalResult InlineLayersPass::inlineInto(Operation *root) {
  if (failed(checkReachable(root))) {
    return failure();
  }
  SmallVector<Operation *> worklist;
  root->walk([&](Operation *op) {
    if (getCallee(op)) {
      worklist.push_back(op);
    }
  });
  size_t inlined = 0;
  while (!worklist.empty()) {
    Operation *call = worklist.pop_back_val();
    if (++inlined > kMaxApplications) {
      return call->emitOpError("expected at most ")
             << kMaxApplications << " applications to inline";
    }
    auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
        call, getCallee(call));
    if (callee.isPrivate()) {
      callees.insert(callee);
    }
    inlineCall(call, callee, worklist);
    ++numInlined;
  }
  return success();
}

/// After all inlining keys are absolute; say so without the slash.
static void stripSlashes(Operation *root) {
  root->walk([](WeightOp weight) {
    StringRef key = weight.getKey();
    if (key.consume_front("/")) {
      weight.setKey(key.str());
    }
  });
}

/// Every attention of a program has a cache.
static LogicalResult checkCaches(Operation *root) {
  WalkResult result = root->walk([](Operation *op) {
    bool lacks = false;
    if (auto attention = dyn_cast<AttentionOp>(op)) {
      lacks = !attention.getCache();
    } else if (auto attention = dyn_cast<MlaAttentionOp>(op)) {
      lacks = !attention.getCache();
    }
    if (lacks) {
      op->emitOpError("expected a cache, got none from the mtp.apply ops "
                      "around it");
    }
    return lacks ? WalkResult::interrupt() : WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

void InlineLayersPass::eraseCallees(SymbolTable &symbols) {
  // A callee's own calls keep its callees alive, so go on until none is left.
  bool changed = true;
  while (changed) {
    changed = false;
    for (func::FuncOp callee : llvm::to_vector(callees)) {
      if (SymbolTable::symbolKnownUseEmpty(callee, getOperation())) {
        callees.remove(callee);
        symbols.erase(callee);
        ++numErased;
        changed = true;
      }
    }
  }
}

void InlineLayersPass::runOnOperation() {
  ModuleOp module = getOperation();
  callees.clear();
  SmallVector<Operation *> roots;
  for (Operation &op : *module.getBody()) {
    auto func = dyn_cast<func::FuncOp>(op);
    if (isa<RoundOp>(op) || (func && !func.isPrivate())) {
      roots.push_back(&op);
    }
  }
  for (Operation *root : roots) {
    if (failed(inlineInto(root))) {
      return signalPassFailure();
    }
  }
  for (Operation *root : roots) {
    stripSlashes(root);
    if (failed(checkCaches(root))) {
      return signalPassFailure();
    }
  }
  SymbolTable symbols(module);
  eraseCallees(symbols);
}
