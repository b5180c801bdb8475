//===- Kernels.cpp - CPU kernels as functions -----------------------------===//

#include "compiler/Codegen/CPU/Kernels.h"

#include "compiler/Codegen/CPU/builder/KernelTable.h"
#include "compiler/Codegen/CPU/target/Compile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/StringMap.h"

using namespace mtp;
using namespace mtp::codegen;
using namespace mlir;

static const llvm::StringMap<const KernelEmitter *> &emitters() {
  static const llvm::StringMap<const KernelEmitter *> kinds = [] {
    llvm::StringMap<const KernelEmitter *> made;
    for (ArrayRef<KernelEmitter> family :
         {attentionKernels(), linearArgmaxKernels(), linearKernels(),
          moeKernels()})
      for (const KernelEmitter &emitter : family)
        made[emitter.kind] = &emitter;
    return made;
  }();
  return kinds;
}

std::vector<StringRef> codegen::cpuKernelKinds() {
  auto kinds = emitters().keys();
  return {kinds.begin(), kinds.end()};
}

static const KernelEmitter *findEmitter(exec::KernelAttrInterface kernel) {
  return emitters().lookup(kernel.getKind());
}

/// Verifies a kernel against its kind and against the requirements of this
/// target.
static LogicalResult verifyOnCpu(Location loc, const KernelSpec &spec) {
  if (failed(verifyKernel(loc, spec)))
    return failure();
  auto emitError = [&] { return emitKernelError(loc, spec); };
  const KernelEmitter *emitter = findEmitter(spec.kernel);
  if (!emitter && !findRowKernel(spec.kernel))
    return emitError() << "expected a kind that a CPU has code for";
  return emitter ? emitter->verify(spec.kernel, emitError) : success();
}

int64_t codegen::kernelScratchBytes(const KernelSpec &spec,
                                    const TargetDesc &target) {
  Location loc = UnknownLoc::get(spec.kernel.getContext());
  if (spec.body || failed(verifyOnCpu(loc, spec)))
    return 0;
  int64_t bytes = 0;
  if (const RowKernel *row = findRowKernel(spec.kernel))
    bytes = row->scratch ? row->scratch(spec.kernel) : 0;
  else
    bytes = findEmitter(spec.kernel)->scratch(spec.kernel, target);
  return llvm::alignTo(bytes, 64);
}

LogicalResult codegen::emitKernel(OpBuilder &builder, ModuleOp kernels,
                                  const KernelSpec &spec,
                                  const TargetDesc &target) {
  Location loc = kernels.getLoc();
  if (!spec.body && failed(verifyOnCpu(loc, spec)))
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
  if (const RowKernel *row = findRowKernel(spec.kernel))
    row->emit(kb, spec.kernel);
  else
    findEmitter(spec.kernel)->emit(kb, spec.kernel);
  return success();
}
