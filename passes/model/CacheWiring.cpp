//===- CacheWiring.cpp - Check the uses of cache layers -------------------===//
//
// Walks from the round through all applications, as inlining would, and keeps
// track of the cache and layer that apply at each point.
//
//===----------------------------------------------------------------------===//

#include "passes/model/Wiring.h"

using namespace mlir;
using namespace mlir::mtp;

namespace {
/// A layer of a cache; the cache is null if there is none.
struct Layer {
  FlatSymbolRefAttr cache;
  int64_t index = 0;
};

class CacheUses {
public:
  explicit CacheUses(const SymbolTable &symbols) : symbols(symbols) {}

  /// Visits `root` and everything that it calls, with the layer that applies to
  /// it.
  LogicalResult visit(Operation *root, Layer layer);

  /// Checks that every layer of every cache is used.
  LogicalResult checkComplete(ModuleOp module);

  int64_t count = 0;

private:
  LogicalResult visitCall(Operation *call, FlatSymbolRefAttr callee,
                          Layer layer);
  LogicalResult use(Operation *attention, Layer layer, int64_t width);

  const SymbolTable &symbols;
  DenseSet<std::pair<Attribute, int64_t>> used;
  /// The applications around the visited point.
  SmallVector<Operation *> path;
  size_t visited = 0, visitedOps = 0;
};
} // namespace

/// Returns the layer that `op` names, or else the layer that applies around it.
template <typename OpT>
static Layer layerOf(OpT op, Layer around) {
  if (!op.getCache())
    return around;
  return {op.getCacheAttr(), static_cast<int64_t>(*op.getLayer())};
}

/// Checks W7 for one attention and records its layer as used.
LogicalResult CacheUses::use(Operation *attention, Layer layer, int64_t width) {
  FlatSymbolRefAttr cache = layer.cache;
  if (!cache) { // W7
    InFlightDiagnostic diag = attention->emitOpError(
        "expected a cache, got none from the mtp.apply ops around it");
    for (Operation *call : llvm::reverse(path))
      diag.attachNote(call->getLoc()) << "applied here";
    return diag;
  }
  auto declared = symbols.lookup<CacheOp>(cache.getValue());
  int64_t entry = declared.getEntry();
  if (width != entry) { // W7
    InFlightDiagnostic diag = attention->emitOpError("expected entries of ")
                              << width << " columns in " << cache << ", got "
                              << entry;
    diag.attachNote(declared.getLoc()) << "the cache is declared here";
    return diag;
  }
  used.insert({cache.getAttr(), layer.index});
  ++count;
  return success();
}

LogicalResult CacheUses::visitCall(Operation *call, FlatSymbolRefAttr callee,
                                   Layer layer) {
  if (llvm::is_contained(path, call))
    return call->emitOpError("expected no recursion");
  if (path.size() >= kMaxNesting || ++visited > kMaxApplications) {
    return call->emitOpError("expected at most ")
           << kMaxNesting << " nested and " << kMaxApplications
           << " applications in all";
  }
  auto func = symbols.lookup<func::FuncOp>(callee.getValue());
  if (!func) {
    return call->emitOpError("expected ")
           << callee << " to be a function of the model's own module";
  }
  path.push_back(call);
  LogicalResult result = visit(func, layer);
  path.pop_back();
  return result;
}

LogicalResult CacheUses::visit(Operation *root, Layer layer) {
  WalkResult result = root->walk([&](Operation *op) -> WalkResult {
    if (++visitedOps > kMaxInlinedOps) {
      return op->emitOpError("expected at most ")
             << kMaxInlinedOps << " ops when all calls are inlined";
    }
    if (auto attention = dyn_cast<AttentionOp>(op))
      return use(op, layerOf(attention, layer), attention.getEntryWidth());
    if (auto attention = dyn_cast<MlaAttentionOp>(op))
      return use(op, layerOf(attention, layer), attention.getEntryWidth());
    if (auto apply = dyn_cast<ApplyOp>(op))
      return visitCall(op, apply.getCalleeAttr(), layerOf(apply, layer));
    if (auto call = dyn_cast<func::CallOp>(op))
      return visitCall(op, call.getCalleeAttr(), layer);
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

LogicalResult CacheUses::checkComplete(ModuleOp module) {
  for (CacheOp cache : module.getOps<CacheOp>()) {
    int64_t layers = cache.getLayers();
    for (int64_t layer = 0; layer < layers; ++layer) {
      if (!used.contains({cache.getSymNameAttr(), layer})) { // W8
        return cache.emitOpError("expected layer ")
               << layer << " to be used by the round";
      }
    }
  }
  return success();
}

LogicalResult mlir::mtp::verifyCacheUses(ModuleOp module,
                                         const SymbolTable &symbols,
                                         RoundOp round, int64_t &uses) {
  CacheUses state(symbols);
  if (failed(state.visit(round, Layer())) ||
      failed(state.checkComplete(module))) {
    return failure();
  }
  uses = state.count;
  return success();
}
