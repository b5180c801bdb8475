//===- Kernels.cpp - GPU kernels as functions -----------------------------===//

#include "compiler/Codegen/GPU/Kernels.h"

#include "dialects/Exec/IR/KernelKinds.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/ADT/StringMap.h"

using namespace mtp::codegen;
using namespace mlir;

static constexpr unsigned kGlobalSpace = 1;
/// Tasks of a control kernel in a block.
static constexpr int64_t kControlThreads = kWarp;

static const GpuEmitter *findEmitter(StringRef kind) {
  static const llvm::StringMap<const GpuEmitter *> emitters = [] {
    llvm::StringMap<const GpuEmitter *> emitters;
    for (ArrayRef<GpuEmitter> family :
         {gpuArgmaxKernels(), gpuAttentionKernels(), gpuExpertKernels(),
          gpuLinearKernels(), gpuSampleKernels(), gpuUnpackKernels()})
      for (const GpuEmitter &emitter : family)
        emitters[emitter.kind] = &emitter;
    return emitters;
  }();
  return emitters.lookup(kind);
}

static GpuLaunch rowLaunch(const KernelSpec &spec) {
  exec::TaskShape tasks = exec::taskShape(spec.kind, spec.config);
  return {tasks.tasks, tasks.rowsPerGroup, kRowThreads};
}

static gpu::GPUFuncOp createKernel(OpBuilder &builder, Location loc,
                                   const KernelSpec &spec,
                                   const GpuLaunch &launch) {
  auto signature = exec::kernelSignature(spec.kind, spec.config);
  SmallVector<Type> arguments(
      signature->buffers,
      LLVM::LLVMPointerType::get(builder.getContext(), kGlobalSpace));
  arguments.append(signature->params, builder.getI64Type());
  auto type = builder.getFunctionType(arguments, {});
  auto kernel = gpu::GPUFuncOp::create(builder, loc, spec.symbol, type);
  kernel->setAttr(gpu::GPUDialect::getKernelFuncAttrName(),
                  builder.getUnitAttr());
  kernel.setKnownBlockSize(
      ArrayRef<int32_t>{static_cast<int32_t>(launch.threads), 1, 1});
  if (launch.blocksPerProcessor > 0)
    kernel->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                    builder.getI32IntegerAttr(
                        static_cast<int32_t>(launch.blocksPerProcessor)));
  return kernel;
}

FailureOr<GpuLaunch> mtp::codegen::emitGpuKernel(OpBuilder &builder,
                                                 gpu::GPUModuleOp module,
                                                 const KernelSpec &spec) {
  Location loc = module.getLoc();
  const RowKernel *row = findRowKernel(spec.kind);
  const GpuEmitter *emitter = findEmitter(spec.kind);
  auto emitError = [&] {
    return mlir::emitError(loc)
           << "kernel '" << spec.symbol << "' of kind '" << spec.kind << "': ";
  };
  FailureOr<KernelConfig> config = failure();
  if (!spec.body) {
    if (failed(config = resolveConfig(loc, spec)))
      return failure();
    if (!row && !emitter)
      return emitError() << "expected a kind that a GPU has code for";
    if (emitter && emitter->verify &&
        failed(emitter->verify(*config, emitError)))
      return failure();
  }
  if (module.lookupSymbol(spec.symbol))
    return emitError() << "expected one kernel of this name, got two";

  GpuLaunch launch{1, kControlThreads, kControlThreads};
  if (row)
    launch = rowLaunch(spec);
  else if (emitter)
    launch = emitter->launch(*config);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(module.getBody());
  gpu::GPUFuncOp kernel = createKernel(builder, loc, spec, launch);
  builder.setInsertionPointToStart(&kernel.getBody().front());
  auto end = gpu::ReturnOp::create(builder, loc);
  builder.setInsertionPoint(end);
  int64_t buffers = exec::kernelSignature(spec.kind, spec.config)->buffers;
  int64_t scratch = row && row->scratch ? row->scratch(*config) : 0;
  GpuBuilder kb(builder, loc, kernel, buffers, launch.threads, scratch);
  if (emitter) {
    emitter->emit(kb, *config);
    return launch;
  }
  kb.letSuccessorIn();
  kb.waitForPredecessor();
  if (row)
    row->emit(kb, *config);
  else if (failed(emitGpuControl(kb, *spec.body)))
    return failure();
  return launch;
}
