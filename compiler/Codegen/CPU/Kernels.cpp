//===- Kernels.cpp - The catalogue of CPU kernels -------------------------===//

#include "compiler/Codegen/CPU/Kernels.h"

#include "compiler/Codegen/CPU/Compile.h"
#include "compiler/Codegen/CPU/KernelTable.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/StringMap.h"

using namespace mtp::codegen;
using namespace mlir;

static llvm::StringMap<const KernelEmitter *> makeCatalogue() {
  llvm::StringMap<const KernelEmitter *> catalogue;
  for (ArrayRef<KernelEmitter> family :
       {argmaxKernels(), attentionKernels(), cacheKernels(),
        elementwiseKernels(), embeddingKernels(), linearArgmaxKernels(),
        linearKernels(), moeKernels(), moeRouteKernels(), normKernels(),
        ropeAppendKernels(), ropeKernels(), stateRowsKernels()})
    for (const KernelEmitter &kind : family)
      catalogue[kind.name] = &kind;
  return catalogue;
}

static const llvm::StringMap<const KernelEmitter *> &catalogue() {
  static const llvm::StringMap<const KernelEmitter *> kinds = makeCatalogue();
  return kinds;
}

const KernelEmitter *mtp::codegen::findEmitter(StringRef kind) {
  return catalogue().lookup(kind);
}

/// The kind and the checked config of `spec`.
static FailureOr<std::pair<const KernelEmitter *, KernelConfig>>
resolve(Location loc, const KernelSpec &spec) {
  auto emitError = [&] {
    return mlir::emitError(loc)
           << "kernel '" << spec.symbol << "' of kind '" << spec.kind << "': ";
  };
  const KernelEmitter *kind = findEmitter(spec.kind);
  if (!kind)
    return emitError() << "unknown kernel kind";
  FailureOr<KernelConfig> config =
      KernelConfig::get(spec.config, kind->keys, emitError);
  if (failed(config) ||
      failed(verifyAtLeast(
          *config,
          {"width",   "k",           "n",       "vocab",      "heads",
           "groups",  "experts",     "top_k",   "inter",      "dim",
           "page",    "entry_width", "q_heads", "kv_heads",   "dk",
           "dv",      "a_width",     "b_width", "copy_width", "k_heads",
           "v_width", "head_stride", "parts",   "splits",     "cache_heads",
           "slots",   "positions",   "rows",    "block"},
          1, emitError)))
    return failure();
  if (kind->verify && failed(kind->verify(*config, emitError)))
    return failure();
  return std::make_pair(kind, *config);
}

std::vector<StringRef> mtp::codegen::kernelKinds() {
  std::vector<StringRef> names;
  for (const auto &entry : catalogue())
    names.push_back(entry.getKey());
  llvm::sort(names);
  return names;
}

LogicalResult mtp::codegen::verifyKernel(Location loc, const KernelSpec &spec) {
  return spec.body ? success() : LogicalResult(resolve(loc, spec));
}

int64_t mtp::codegen::kernelScratchBytes(const KernelSpec &spec,
                                         const TargetDesc &target) {
  if (spec.body)
    return 0;
  auto resolved = resolve(UnknownLoc::get(spec.config.getContext()), spec);
  if (failed(resolved) || !resolved->first->scratch)
    return 0;
  return llvm::alignTo(resolved->first->scratch(resolved->second, target), 64);
}

LogicalResult mtp::codegen::emitKernel(OpBuilder &builder, ModuleOp kernels,
                                       const KernelSpec &spec,
                                       const TargetDesc &target) {
  Location loc = kernels.getLoc();
  if (failed(verifyKernel(loc, spec)))
    return failure();
  if (kernels.lookupSymbol(spec.symbol))
    return mlir::emitError(loc)
           << "expected one kernel named '" << spec.symbol << "', got two";

  loadKernelDialects(*builder.getContext());
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(kernels.getBody());
  Type pointer = LLVM::LLVMPointerType::get(builder.getContext());
  Type i64 = builder.getI64Type();
  auto type =
      builder.getFunctionType({pointer, pointer, i64, i64, pointer}, {});
  auto function = func::FuncOp::create(builder, loc, spec.symbol, type);
  Block *entry = function.addEntryBlock();
  builder.setInsertionPointToStart(entry);
  auto end = func::ReturnOp::create(builder, loc);
  builder.setInsertionPoint(end);
  KernelBuilder kb(builder, loc, target, entry->getArguments());
  if (spec.body)
    return emitControl(builder, kb, *spec.body);
  auto resolved = resolve(loc, spec);
  resolved->first->emit(kb, resolved->second);
  return success();
}

LogicalResult mtp::codegen::verifyAtLeast(const KernelConfig &config,
                                          ArrayRef<StringRef> keys,
                                          int64_t least, EmitError emitError) {
  for (StringRef key : keys)
    if (config.integer(key, least) < least)
      return emitError() << "expected config key '" << key
                         << "' to be at least " << least << ", got "
                         << config.integer(key);
  return success();
}
