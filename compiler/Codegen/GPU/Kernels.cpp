//===- Kernels.cpp - GPU kernels as functions -----------------------------===//

#include "compiler/Codegen/GPU/Kernels.h"

#include "dialects/Exec/IR/ControlKernel.h"
#include "dialects/Exec/IR/KernelKinds.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/ADT/StringMap.h"

using namespace mtp;
using namespace mtp::codegen;
using namespace mlir;

static constexpr unsigned kGlobalSpace = 1;
/// Number of tasks of a control kernel in a block.
static constexpr int64_t kControlThreads = kWarp;
/// Number of threads for one task of a control kernel with loops for lanes.
static constexpr int64_t kLaneThreads = 256;

static const llvm::StringMap<const GpuEmitter *> &emitters() {
  static const llvm::StringMap<const GpuEmitter *> kinds = [] {
    llvm::StringMap<const GpuEmitter *> made;
    for (ArrayRef<GpuEmitter> family :
         {gpuArgmaxKernels(), gpuAttentionKernels(), gpuExpertKernels(),
          gpuLinearKernels(), gpuPackKernels(), gpuPlanKernels(),
          gpuPrepareKernels(), gpuSampleKernels(), gpuUnpackKernels()})
      for (const GpuEmitter &emitter : family)
        made[emitter.kind] = &emitter;
    return made;
  }();
  return kinds;
}

std::vector<StringRef> codegen::gpuKernelKinds() {
  auto kinds = emitters().keys();
  return {kinds.begin(), kinds.end()};
}

static const GpuEmitter *findEmitter(exec::KernelAttrInterface kernel) {
  return emitters().lookup(kernel.getKind());
}

static GpuLaunch rowLaunch(const KernelSpec &spec, int64_t taskBlocks) {
  exec::TaskShape tasks = exec::taskShape(spec.kernel);
  return {tasks.tasks * taskBlocks, tasks.rowsPerGroup, kRowThreads};
}

/// Returns the number of blocks of a task, at most 64: one for each item if a
/// block computes an item, or one for every few items if a warp does.
static int64_t blocksOfTask(const TaskItems &items) {
  constexpr int64_t most = 64, warps = kRowThreads / kWarp;
  return std::clamp<int64_t>(
      items.areJoined ? items.count : (items.count + warps - 1) / warps, 1,
      most);
}

static gpu::GPUFuncOp createKernel(OpBuilder &builder, Location loc,
                                   const KernelSpec &spec,
                                   const GpuLaunch &launch) {
  exec::KernelSignature signature = exec::kernelSignature(spec.kernel);
  SmallVector<Type> arguments(
      signature.buffers + spec.takesActive,
      LLVM::LLVMPointerType::get(builder.getContext(), kGlobalSpace));
  arguments.append(signature.params, builder.getI64Type());
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

namespace {
/// Emitter of a kernel, and its launch shape.
struct EmittedKind {
  const GpuEmitter *emitter = nullptr;
  /// Set if no emitter of this target exists for the kind.
  const RowKernel *row = nullptr;
  TaskItems items;
  /// Default: the launch of a kernel that carries its body.
  GpuLaunch launch{1, kControlThreads, kControlThreads};
};
} // namespace

/// Finds the emitter of a kernel and checks its requirements.
static FailureOr<EmittedKind> findCode(Location loc, const KernelSpec &spec,
                                       EmitError emitError) {
  EmittedKind kind;
  if (spec.body) {
    if (exec::hasLaneLoop(*spec.body))
      kind.launch = {1, 1, kLaneThreads};
    return kind;
  }
  if (failed(verifyKernel(loc, spec)))
    return failure();
  kind.emitter = findEmitter(spec.kernel);
  if (!kind.emitter)
    kind.row = findRowKernel(spec.kernel);
  if (!kind.row && !kind.emitter)
    return emitError() << "expected a kind that a GPU has code for";
  if (kind.emitter && kind.emitter->verify &&
      failed(kind.emitter->verify(spec.kernel, emitError)))
    return failure();
  if (kind.row && kind.row->items)
    kind.items = kind.row->items(spec.kernel);
  kind.launch = kind.row ? rowLaunch(spec, blocksOfTask(kind.items))
                         : kind.emitter->launch(spec.kernel);
  return kind;
}

FailureOr<GpuLaunch> codegen::emitGpuKernel(OpBuilder &builder,
                                            gpu::GPUModuleOp module,
                                            const KernelSpec &spec) {
  Location loc = module.getLoc();
  auto emitError = [&] { return emitKernelError(loc, spec); };
  FailureOr<EmittedKind> kind = findCode(loc, spec, emitError);
  if (failed(kind))
    return failure();
  if (module.lookupSymbol(spec.symbol))
    return emitError() << "expected one kernel of this name, got two";

  const auto &[emitter, row, items, launch] = *kind;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(module.getBody());
  gpu::GPUFuncOp kernel = createKernel(builder, loc, spec, launch);
  builder.setInsertionPointToStart(&kernel.getBody().front());
  auto end = gpu::ReturnOp::create(builder, loc);
  builder.setInsertionPoint(end);
  int64_t buffers = exec::kernelSignature(spec.kernel).buffers;
  int64_t scratch = row && row->scratch ? row->scratch(spec.kernel) : 0;
  GpuBuilder kb(builder, loc, kernel, buffers, launch, spec.takesActive,
                scratch);
  if (emitter) {
    emitter->emit(kb, spec.kernel);
    return launch;
  }
  kb.begin();
  if (row) {
    kb.setTaskBlocks(blocksOfTask(items), items.areJoined);
    row->emit(kb, spec.kernel);
  } else if (failed(emitGpuControl(kb, *spec.body))) {
    return failure();
  }
  return launch;
}
