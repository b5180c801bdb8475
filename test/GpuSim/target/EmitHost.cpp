//===- EmitHost.cpp - GPU kernels as code for the simulator ---------------===//

#include "test/GpuSim/target/EmitHost.h"

#include "compiler/Codegen/CPU/target/Link.h"
#include "compiler/Codegen/GPU/target/GpuModule.h"
#include "compiler/Codegen/OptimizeModule.h"
#include "test/GpuSim/target/HostLowering.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/Errc.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Triple.h"
#include <mutex>

using namespace mtp::gpu;
using namespace llvm;

Expected<std::unique_ptr<TargetMachine>> mtp::gpu::makeHostMachine() {
  static std::once_flag initialized;
  std::call_once(initialized, [] {
    InitializeNativeTarget();
    InitializeNativeTargetAsmPrinter();
  });
  Triple triple("x86_64-unknown-linux-gnu");
  std::string error;
  const Target *found = TargetRegistry::lookupTarget(triple, error);
  if (!found)
    return createStringError(errc::not_supported,
                             "cannot make code for x86-64: " + error);
  TargetOptions options;
  // As on the GPU: a multiply-add is fused only if the kernel states it.
  options.AllowFPOpFusion = FPOpFusion::Strict;
  // Oldest level with FMA and f16 in hardware: images are the same on every
  // machine that runs tests.
  return std::unique_ptr<TargetMachine>(found->createTargetMachine(
      triple, "x86-64-v3", "", options, Reloc::PIC_, /*CM=*/std::nullopt,
      CodeGenOptLevel::Aggressive));
}

/// Removes attributes for GPUs that the host's backend does not understand.
static void dropGpuAttributes(Module &module) {
  if (NamedMDNode *notes = module.getNamedMetadata("nvvm.annotations"))
    notes->eraseFromParent();
  for (Function &function : module) {
    function.removeFnAttr("target-cpu");
    function.removeFnAttr("target-features");
    if (!function.isIntrinsic())
      function.addFnAttr(Attribute::NoUnwind);
  }
}

Error mtp::gpu::lowerForHost(Module &module, TargetMachine &machine) {
  module.setTargetTriple(machine.getTargetTriple());
  module.setDataLayout(machine.createDataLayout());
  HostImports imports(module);
  auto kernels = lowerSharedMemory(module, imports);
  if (!kernels)
    return kernels.takeError();
  insertAccessChecks(module, imports);
  if (Error failed = lowerIntrinsics(module, imports))
    return failed;
  expandBf16Rounding(module);
  writeUnitTable(module, imports, *kernels);
  dropGpuAttributes(module);
  std::string message;
  raw_string_ostream stream(message);
  if (verifyModule(module, &stream))
    return createStringError(errc::invalid_argument,
                             "code for gpu-sim is not valid: " + message);
  return Error::success();
}

Expected<std::vector<char>> mtp::gpu::writeHostObject(Module &module,
                                                      TargetMachine &machine) {
  SmallVector<char, 0> object;
  raw_svector_ostream stream(object);
  legacy::PassManager codegen;
  if (machine.addPassesToEmitFile(codegen, stream, nullptr,
                                  CodeGenFileType::ObjectFile))
    return createStringError(errc::not_supported, "cannot emit an object file");
  codegen.run(module);
  return std::vector<char>(object.begin(), object.end());
}

Expected<std::vector<char>>
mtp::gpu::linkHostImage(ArrayRef<StringRef> objects) {
  auto machine = makeHostMachine();
  if (!machine)
    return machine.takeError();
  LLVMContext context;
  std::unique_ptr<Module> table = makeImageTable(context);
  table->setTargetTriple((*machine)->getTargetTriple());
  table->setDataLayout((*machine)->createDataLayout());
  auto own = writeHostObject(*table, **machine);
  if (!own)
    return own.takeError();
  SmallVector<StringRef> all = {StringRef(own->data(), own->size())};
  all.append(objects.begin(), objects.end());
  return codegen::linkSharedImage(all);
}

Expected<std::vector<char>> mtp::gpu::emitHostImage(Module &module) {
  auto machine = makeHostMachine();
  if (!machine)
    return machine.takeError();
  if (Error failed = lowerForHost(module, **machine))
    return std::move(failed);
  mtp::codegen::optimizeModule(module, **machine);
  auto object = writeHostObject(module, **machine);
  if (!object)
    return object.takeError();
  return linkHostImage(StringRef(object->data(), object->size()));
}
