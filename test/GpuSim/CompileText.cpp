//===- CompileText.cpp - Compiles gpu modules that are text ---------------===//

#include "CompileText.h"

#include "compiler/Codegen/GPU/target/EmitPtx.h"
#include "compiler/Codegen/GPU/target/GpuModule.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "test/GpuSim/target/EmitHost.h"

using namespace mlir;

/// Parses, lowers and translates. Returns null and sets `error` on failure.
static std::unique_ptr<llvm::Module> translateText(const std::string &text,
                                                   llvm::LLVMContext &context,
                                                   std::string &error) {
  DialectRegistry registry;
  ::mtp::gpu::registerGpuDialects(registry);
  MLIRContext mlirContext(registry, MLIRContext::Threading::DISABLED);
  mlirContext.loadAllAvailableDialects();
  ScopedDiagnosticHandler handler(&mlirContext, [&](Diagnostic &diagnostic) {
    error += diagnostic.str() + "\n";
    return success();
  });
  OwningOpRef<ModuleOp> module =
      parseSourceString<ModuleOp>(text, &mlirContext);
  if (!module || failed(::mtp::gpu::lowerGpuModules(*module)))
    return nullptr;
  auto kernels = module->getOps<gpu::GPUModuleOp>();
  if (!llvm::hasSingleElement(kernels)) {
    error = "expected one gpu.module";
    return nullptr;
  }
  return ::mtp::gpu::translateGpuModule(*kernels.begin(), context);
}

namespace mtp::gpusim::test {

CompiledImage compileForSimulator(const std::string &text) {
  CompiledImage result;
  llvm::LLVMContext context;
  auto module = translateText(text, context, result.error);
  if (!module)
    return result;
  llvm::Expected<std::vector<char>> image = ::mtp::gpu::emitHostImage(*module);
  if (image)
    result.image = std::move(*image);
  else
    result.error = llvm::toString(image.takeError());
  return result;
}

CompiledPtx compileToPtx(const std::string &text, const std::string &chip) {
  CompiledPtx result;
  llvm::LLVMContext context;
  auto module = translateText(text, context, result.error);
  if (!module)
    return result;
  llvm::Expected<std::string> ptx = ::mtp::gpu::emitPtx(*module, chip);
  if (!ptx) {
    result.error = llvm::toString(ptx.takeError());
    return result;
  }
  result.ptx = std::move(*ptx);
  auto cubin = ::mtp::gpu::assemblePtx(result.ptx, chip);
  if (!cubin) {
    result.error = llvm::toString(cubin.takeError());
    return result;
  }
  result.cubin = std::move(cubin->bytes);
  result.report = std::move(cubin->report);
  result.absence = std::move(cubin->absence);
  return result;
}

} // namespace mtp::gpusim::test
