//===- LoopImage.cpp - The compiler's kernels around rounds ---------------===//

#include "LoopImage.h"

#include "compiler/Codegen/GPU/target/GpuModule.h"
#include "compiler/Codegen/GPU/target/LoopKernels.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

std::string mtp::test::loopKernels() {
  DialectRegistry registry;
  mtp::gpu::registerGpuDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  Location loc = UnknownLoc::get(&context);
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  OpBuilder builder(module->getBodyRegion());
  mtp::codegen::emitLoopKernels(
      builder, mlir::gpu::GPUModuleOp::create(builder, loc, "loop"));
  std::string text;
  llvm::raw_string_ostream stream(text);
  module->print(stream);
  return text;
}
