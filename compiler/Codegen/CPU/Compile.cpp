//===- Compile.cpp - From kernel functions to a linked image --------------===//

#include "compiler/Codegen/CPU/Compile.h"

#include "compiler/Codegen/CPU/Link.h"
#include "compiler/Codegen/OptimizeModule.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVMPass.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVMPass.h"
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
#include "mlir/Transforms/Passes.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Triple.h"

using namespace mtp;
using namespace mtp::codegen;
using namespace mlir;

void codegen::loadKernelDialects(MLIRContext &context) {
  context.loadDialect<arith::ArithDialect, cf::ControlFlowDialect,
                      func::FuncDialect, LLVM::LLVMDialect, math::MathDialect,
                      memref::MemRefDialect, scf::SCFDialect,
                      vector::VectorDialect, x86vector::X86VectorDialect>();
}

/// Branches have what was said of their loops as an attribute that nobody
/// translates: makes it the one that is.
static void annotateLoops(ModuleOp kernels) {
  kernels.walk([](LLVM::BrOp branch) {
    if (auto annotation = branch->getAttrOfType<LLVM::LoopAnnotationAttr>(
            "llvm.loop_annotation"))
      branch.setLoopAnnotationAttr(annotation);
  });
}

static LogicalResult lowerToLLVMDialect(ModuleOp kernels) {
  PassManager manager(kernels.getContext());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  manager.addPass(createSCFToControlFlowPass());
  ConvertVectorToLLVMPassOptions vectorOptions;
  vectorOptions.x86Vector = true;
  manager.addPass(createConvertVectorToLLVMPass(vectorOptions));
  manager.addPass(createConvertMathToLLVMPass());
  manager.addPass(createFinalizeMemRefToLLVMConversionPass());
  manager.addPass(createArithToLLVMConversionPass());
  manager.addPass(createConvertControlFlowToLLVMPass());
  manager.addPass(createConvertFuncToLLVMPass());
  manager.addPass(createReconcileUnrealizedCastsPass());
  if (failed(manager.run(kernels)))
    return failure();
  annotateLoops(kernels);
  return success();
}

static std::unique_ptr<llvm::TargetMachine>
makeTargetMachine(const TargetDesc &target, std::string &error) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  llvm::Triple triple("x86_64-unknown-linux-gnu");
  const llvm::Target *found = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!found)
    return nullptr;
  llvm::TargetOptions options;
  // Every fused multiply-add is explicit: contracting others would make the
  // bits depend on how the optimiser arranged the code.
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  return std::unique_ptr<llvm::TargetMachine>(found->createTargetMachine(
      triple, target.cpu, target.features, options, llvm::Reloc::PIC_,
      /*CM=*/std::nullopt, llvm::CodeGenOptLevel::Aggressive));
}

static LogicalResult emitObject(ModuleOp kernels, const TargetDesc &target,
                                SmallVectorImpl<char> &object) {
  std::string error;
  std::unique_ptr<llvm::TargetMachine> machine =
      makeTargetMachine(target, error);
  if (!machine)
    return kernels.emitError("cannot make code for x86-64: ") << error;

  registerBuiltinDialectTranslation(*kernels.getContext());
  registerLLVMDialectTranslation(*kernels.getContext());
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module =
      translateModuleToLLVMIR(kernels, context, "kernels");
  if (!module)
    return kernels.emitError("cannot translate the kernels to LLVM IR");
  module->setTargetTriple(machine->getTargetTriple());
  module->setDataLayout(machine->createDataLayout());
  for (llvm::Function &function : *module)
    function.addFnAttr(llvm::Attribute::NoUnwind);
  optimizeModule(*module, *machine);

  llvm::raw_svector_ostream stream(object);
  llvm::legacy::PassManager codegen;
  if (machine->addPassesToEmitFile(codegen, stream, nullptr,
                                   llvm::CodeGenFileType::ObjectFile))
    return kernels.emitError("cannot emit an object file");
  codegen.run(*module);
  return success();
}

FailureOr<std::vector<char>> codegen::compileKernels(ModuleOp kernels,
                                                     const TargetDesc &target) {
  if (failed(lowerToLLVMDialect(kernels)))
    return kernels.emitError("cannot lower the kernels to the llvm dialect");
  SmallVector<char, 0> object;
  if (failed(emitObject(kernels, target, object)))
    return failure();
  llvm::Expected<std::vector<char>> image =
      linkSharedImage(StringRef(object.data(), object.size()));
  if (!image)
    return kernels.emitError("cannot link the kernels: ")
           << llvm::toString(image.takeError());
  return std::move(*image);
}
