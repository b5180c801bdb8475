//===- Compile.cpp - From kernel functions to objects and images ----------===//

#include "compiler/Codegen/CPU/target/Compile.h"

#include "compiler/Codegen/CPU/target/Link.h"
#include "compiler/Codegen/CPU/target/LowerKernels.h"
#include "compiler/Codegen/OptimizeModule.h"
#include "compiler/Codegen/Units/KernelUnits.h"
#include "compiler/Codegen/Units/Stopwatch.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Dialect/X86Vector/X86VectorDialect.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Triple.h"
#include <mutex>

using namespace mtp;
using namespace mtp::codegen;
using namespace mlir;

void codegen::loadKernelDialects(MLIRContext &context) {
  context.loadDialect<arith::ArithDialect, cf::ControlFlowDialect,
                      func::FuncDialect, LLVM::LLVMDialect, math::MathDialect,
                      memref::MemRefDialect, scf::SCFDialect,
                      vector::VectorDialect, x86vector::X86VectorDialect>();
}

void codegen::registerKernelTranslations(MLIRContext &context) {
  registerBuiltinDialectTranslation(context);
  registerLLVMDialectTranslation(context);
}

static std::unique_ptr<llvm::TargetMachine>
makeTargetMachine(const TargetDesc &target, std::string &error) {
  static std::once_flag initialized;
  std::call_once(initialized, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
  });
  llvm::Triple triple("x86_64-unknown-linux-gnu");
  const llvm::Target *found = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!found)
    return nullptr;
  llvm::TargetOptions options;
  // Every fused multiply-add is explicit. Contracting others would make the
  // bits depend on the optimiser's arrangement of the code.
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  return std::unique_ptr<llvm::TargetMachine>(found->createTargetMachine(
      triple, target.cpu, target.features, options, llvm::Reloc::PIC_,
      /*CM=*/std::nullopt, llvm::CodeGenOptLevel::Aggressive));
}

namespace {
/// Compiles kernels one after another.
class CpuCompiler : public KernelCompiler {
public:
  CpuCompiler(MLIRContext &context, const TargetDesc &target)
      : lowering(makeKernelLowering(context)),
        machine(makeTargetMachine(target, error)) {}

  FailureOr<KernelObject> compile(ModuleOp unit, StringRef symbol,
                                  compiler::KernelSeconds &seconds) override;

  /// Compiles the functions of `module` under their own names.
  FailureOr<KernelObject> compile(ModuleOp module,
                                  compiler::KernelSeconds &seconds) {
    return compile(module, /*symbol=*/"", seconds);
  }

private:
  std::unique_ptr<llvm::Module> translate(ModuleOp unit,
                                          llvm::LLVMContext &context);
  LogicalResult generate(ModuleOp unit, llvm::Module &module,
                         KernelObject &object);

  std::unique_ptr<PassManager> lowering;
  /// Error message if there is no target machine.
  std::string error;
  std::unique_ptr<llvm::TargetMachine> machine;
};
} // namespace

std::unique_ptr<llvm::Module>
CpuCompiler::translate(ModuleOp unit, llvm::LLVMContext &context) {
  if (failed(lowering->run(unit))) {
    unit.emitError("cannot lower the kernels to the llvm dialect");
    return nullptr;
  }
  std::unique_ptr<llvm::Module> module =
      translateModuleToLLVMIR(unit, context, "kernels");
  if (!module) {
    unit.emitError("cannot translate the kernels to LLVM IR");
    return nullptr;
  }
  module->setTargetTriple(machine->getTargetTriple());
  module->setDataLayout(machine->createDataLayout());
  for (llvm::Function &function : *module)
    function.addFnAttr(llvm::Attribute::NoUnwind);
  return module;
}

LogicalResult CpuCompiler::generate(ModuleOp unit, llvm::Module &module,
                                    KernelObject &object) {
  SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager codegen;
  if (machine->addPassesToEmitFile(codegen, stream, nullptr,
                                   llvm::CodeGenFileType::ObjectFile))
    return unit.emitError("cannot emit an object file");
  codegen.run(module);
  object.parts.emplace_back(bytes.begin(), bytes.end());
  return success();
}

FailureOr<KernelObject> CpuCompiler::compile(ModuleOp unit, StringRef symbol,
                                             compiler::KernelSeconds &seconds) {
  if (!machine)
    return unit.emitError("cannot make code for x86-64: ") << error;
  HostContext context;
  std::unique_ptr<llvm::Module> module;
  {
    Stopwatch watch(seconds.lower);
    module = translate(unit, context.get());
  }
  if (!module)
    return failure();
  if (!symbol.empty()) {
    llvm::Function *kernel = module->getFunction(kUnitSymbol);
    kernel->setName(symbol);
    // The image exports the kernel's name in the plan instead.
    kernel->setVisibility(llvm::GlobalValue::HiddenVisibility);
  }
  {
    Stopwatch watch(seconds.optimize);
    context.optimize(*module, *machine);
  }
  Stopwatch watch(seconds.generate);
  KernelObject object;
  if (failed(generate(unit, *module, object)))
    return failure();
  return object;
}

std::string CpuBackend::identity() const {
  return "cpu " + target.cpu + " " + target.features + " " + code;
}

std::unique_ptr<KernelCompiler>
CpuBackend::makeCompiler(MLIRContext &context) const {
  return std::make_unique<CpuCompiler>(context, target);
}

FailureOr<std::vector<char>> codegen::compileKernels(ModuleOp kernels,
                                                     const TargetDesc &target) {
  registerKernelTranslations(*kernels.getContext());
  compiler::KernelSeconds seconds;
  FailureOr<KernelObject> object =
      CpuCompiler(*kernels.getContext(), target).compile(kernels, seconds);
  if (failed(object))
    return failure();
  const std::vector<char> &bytes = object->parts.front();
  llvm::Expected<std::vector<char>> image =
      linkSharedImage(StringRef(bytes.data(), bytes.size()));
  if (!image)
    return kernels.emitError("cannot link the kernels: ")
           << llvm::toString(image.takeError());
  return std::move(*image);
}
