//===- CudaBackend.cpp - From one GPU kernel to PTX and cubin -------------===//

#include "compiler/Codegen/GPU/target/CudaBackend.h"

#include "compiler/Codegen/GPU/target/EmitPtx.h"
#include "compiler/Codegen/GPU/target/GpuModule.h"
#include "compiler/Codegen/Units/KernelUnits.h"
#include "compiler/Codegen/Units/Stopwatch.h"

using namespace mtp;
using namespace mtp::codegen;
using llvm::StringRef;
using mlir::FailureOr;
using mlir::MLIRContext;
using mlir::ModuleOp;

gpu::GpuUnitLowering::GpuUnitLowering(MLIRContext &context)
    : manager(&context, mlir::gpu::GPUModuleOp::getOperationName()) {
  manager.enableVerifier(false);
  addGpuLowering(manager);
}

std::unique_ptr<llvm::Module>
gpu::GpuUnitLowering::translate(ModuleOp unit, StringRef symbol,
                                llvm::LLVMContext &context) {
  auto kernels = *unit.getOps<mlir::gpu::GPUModuleOp>().begin();
  if (mlir::failed(manager.run(kernels))) {
    unit.emitError("cannot lower the kernels to the llvm dialect");
    return nullptr;
  }
  std::unique_ptr<llvm::Module> module = translateGpuModule(kernels, context);
  if (!module)
    return nullptr;
  for (llvm::GlobalObject &object : module->global_objects())
    if (object.getName().starts_with(kUnitSymbol))
      object.setName(symbol + object.getName().drop_front(kUnitSymbol.size()));
  return module;
}

namespace {
/// Compiles GPU kernels one after another.
class CudaCompiler : public KernelCompiler {
public:
  CudaCompiler(MLIRContext &context, StringRef chip)
      : lowering(context), machine(gpu::makePtxMachine(chip)), chip(chip) {}
  ~CudaCompiler() override {
    if (!machine)
      llvm::consumeError(machine.takeError());
  }

  FailureOr<KernelObject> compile(ModuleOp unit, StringRef symbol,
                                  compiler::KernelSeconds &seconds) override;

private:
  llvm::Expected<KernelObject> generate(llvm::Module &module,
                                        compiler::KernelSeconds &seconds);

  gpu::GpuUnitLowering lowering;
  llvm::Expected<std::unique_ptr<llvm::TargetMachine>> machine;
  std::string chip;
};
} // namespace

static std::vector<char> bytesOf(StringRef text) {
  return {text.begin(), text.end()};
}

llvm::Expected<KernelObject>
CudaCompiler::generate(llvm::Module &module, compiler::KernelSeconds &seconds) {
  {
    Stopwatch watch(seconds.optimize);
    gpu::optimizeForPtx(module, **machine);
  }
  llvm::Expected<std::string> ptx = std::string();
  {
    Stopwatch watch(seconds.generate);
    ptx = gpu::writePtx(module, **machine);
  }
  if (!ptx)
    return ptx.takeError();
  Stopwatch watch(seconds.assemble);
  auto cubin = gpu::assemblePtx(*ptx, chip);
  if (!cubin)
    return cubin.takeError();
  KernelObject object;
  object.parts.push_back(bytesOf(*ptx));
  if (!cubin->bytes.empty()) {
    object.parts.push_back(std::move(cubin->bytes));
    object.parts.push_back(bytesOf(cubin->report));
  }
  return object;
}

FailureOr<KernelObject>
CudaCompiler::compile(ModuleOp unit, StringRef symbol,
                      compiler::KernelSeconds &seconds) {
  if (!machine) {
    // A second unit fails with the same message.
    std::string message = llvm::toString(machine.takeError());
    machine = llvm::createStringError(message);
    return unit.emitError("cannot make an image of the kernels: ") << message;
  }
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module;
  {
    Stopwatch watch(seconds.lower);
    module = lowering.translate(unit, symbol, context);
  }
  if (!module)
    return mlir::failure();
  llvm::Expected<KernelObject> object = generate(*module, seconds);
  if (!object)
    return unit.emitError("cannot make an image of the kernels: ")
           << llvm::toString(object.takeError());
  return std::move(*object);
}

std::string gpu::CudaBackend::identity() const {
  return "cuda " + chip + " " + assemblerIdentity() + " " + code;
}

std::unique_ptr<KernelCompiler>
gpu::CudaBackend::makeCompiler(MLIRContext &context) const {
  return std::make_unique<CudaCompiler>(context, chip);
}
