//===- Kernels.cpp - CPU kernels as functions -----------------------------===//

#include "compiler/Codegen/CPU/Kernels.h"

#include "compiler/Codegen/CPU/Compile.h"
#include "compiler/Codegen/CPU/KernelTable.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/StringMap.h"

using namespace mtp::codegen;
using namespace mlir;

static llvm::StringMap<const KernelEmitter *> makeEmitters() {
  llvm::StringMap<const KernelEmitter *> emitters;
  for (ArrayRef<KernelEmitter> family :
       {attentionKernels(), linearArgmaxKernels(), linearKernels(),
        moeKernels()})
    for (const KernelEmitter &emitter : family)
      emitters[emitter.kind] = &emitter;
  return emitters;
}

static const KernelEmitter *findEmitter(StringRef kind) {
  static const llvm::StringMap<const KernelEmitter *> emitters = makeEmitters();
  return emitters.lookup(kind);
}

/// The checked config of `spec`, with what this target asks of it.
static FailureOr<KernelConfig> resolve(Location loc, const KernelSpec &spec) {
  FailureOr<KernelConfig> config = resolveConfig(loc, spec);
  if (failed(config))
    return failure();
  const KernelEmitter *emitter = findEmitter(spec.kind);
  auto emitError = [&] {
    return mlir::emitError(loc)
           << "kernel '" << spec.symbol << "' of kind '" << spec.kind << "': ";
  };
  if (config->flag("fragments"))
    return emitError() << "expected weights in panels, got fragments";
  if (!emitter && !findRowKernel(spec.kind))
    return emitError() << "expected a kind that a CPU has code for";
  if (emitter && emitter->verify && failed(emitter->verify(*config, emitError)))
    return failure();
  return config;
}

int64_t mtp::codegen::kernelScratchBytes(const KernelSpec &spec,
                                         const TargetDesc &target) {
  if (spec.body)
    return 0;
  FailureOr<KernelConfig> config =
      resolve(UnknownLoc::get(spec.config.getContext()), spec);
  if (failed(config))
    return 0;
  int64_t bytes = 0;
  if (const RowKernel *row = findRowKernel(spec.kind))
    bytes = row->scratch ? row->scratch(*config) : 0;
  else if (const KernelEmitter *emitter = findEmitter(spec.kind))
    bytes = emitter->scratch(*config, target);
  return llvm::alignTo(bytes, 64);
}

LogicalResult mtp::codegen::emitKernel(OpBuilder &builder, ModuleOp kernels,
                                       const KernelSpec &spec,
                                       const TargetDesc &target) {
  Location loc = kernels.getLoc();
  FailureOr<KernelConfig> config = failure();
  if (!spec.body && failed(config = resolve(loc, spec)))
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
  CpuBuilder kb(builder, loc, target, entry->getArguments());
  if (spec.body)
    return emitControl(builder, kb, *spec.body);
  if (const RowKernel *row = findRowKernel(spec.kind))
    row->emit(kb, *config);
  else
    findEmitter(spec.kind)->emit(kb, *config);
  return success();
}
