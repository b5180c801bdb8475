//===- SimBackend.cpp - From one GPU kernel to a host's object ------------===//

#include "test/GpuSim/target/SimBackend.h"

#include "compiler/Codegen/GPU/target/CudaBackend.h"
#include "compiler/Codegen/OptimizeModule.h"
#include "compiler/Codegen/Units/Stopwatch.h"
#include "test/GpuSim/target/EmitHost.h"

using namespace mtp;
using namespace mtp::codegen;
using namespace mtp::gpusim;

namespace {
class SimCompiler : public KernelCompiler {
public:
  explicit SimCompiler(mlir::MLIRContext &context)
      : lowering(context), machine(llvm::cantFail(gpu::makeHostMachine())) {}

  mlir::FailureOr<KernelObject>
  compile(mlir::ModuleOp unit, llvm::StringRef symbol,
          compiler::KernelSeconds &seconds) override;

private:
  llvm::Expected<std::vector<char>> generate(llvm::Module &module,
                                             HostContext &context,
                                             compiler::KernelSeconds &seconds);

  gpu::GpuUnitLowering lowering;
  std::unique_ptr<llvm::TargetMachine> machine;
};
} // namespace

llvm::Expected<std::vector<char>>
SimCompiler::generate(llvm::Module &module, HostContext &context,
                      compiler::KernelSeconds &seconds) {
  {
    Stopwatch watch(seconds.optimize);
    if (llvm::Error failed = gpu::lowerForHost(module, *machine))
      return std::move(failed);
    context.optimize(module, *machine);
  }
  Stopwatch watch(seconds.generate);
  return gpu::writeHostObject(module, *machine);
}

mlir::FailureOr<KernelObject>
SimCompiler::compile(mlir::ModuleOp unit, llvm::StringRef symbol,
                     compiler::KernelSeconds &seconds) {
  HostContext context;
  std::unique_ptr<llvm::Module> module;
  {
    Stopwatch watch(seconds.lower);
    module = lowering.translate(unit, symbol, context.get());
  }
  if (!module)
    return mlir::failure();
  auto bytes = generate(*module, context, seconds);
  if (!bytes)
    return unit.emitError("cannot make an image of the kernels: ")
           << llvm::toString(bytes.takeError());
  KernelObject object;
  object.parts.push_back(std::move(*bytes));
  return object;
}

std::unique_ptr<KernelCompiler>
SimBackend::makeCompiler(mlir::MLIRContext &context) const {
  return std::make_unique<SimCompiler>(context);
}
