//===- LowerKernels.cpp - Kernels to the llvm dialect ---------------------===//
//
// LLVM folds and shares what MLIR's canonicalizer and CSE would, so kernels go
// without them. All dialects but scf and vector are converted by one pass: the
// passes of MLIR, one a dialect, would each build their patterns for every
// kernel, and leave casts for the next one.
//
//===----------------------------------------------------------------------===//

#include "compiler/Codegen/CPU/LowerKernels.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVMPass.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Transforms/DialectConversion.h"

using namespace mtp;
using namespace mlir;

namespace {
/// Converts what `scf` and `vector` have become, and the rest of a kernel.
class ConvertKernels
    : public PassWrapper<ConvertKernels, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ConvertKernels)

  LogicalResult initialize(MLIRContext *context) override {
    converter = std::make_shared<LLVMTypeConverter>(context);
    RewritePatternSet set(context);
    arith::populateArithToLLVMConversionPatterns(*converter, set);
    cf::populateControlFlowToLLVMConversionPatterns(*converter, set);
    populateFinalizeMemRefToLLVMConversionPatterns(*converter, set);
    populateFuncToLLVMConversionPatterns(*converter, set);
    populateMathToLLVMConversionPatterns(*converter, set);
    patterns = std::move(set);
    return success();
  }

  void runOnOperation() override {
    LLVMConversionTarget target(getContext());
    if (failed(applyPartialConversion(getOperation(), target, patterns)))
      return signalPassFailure();
    annotateLoops();
  }

private:
  /// A branch has what was said of its loop as an attribute that nothing
  /// translates: makes it the one that is.
  void annotateLoops() {
    getOperation().walk([](LLVM::BrOp branch) {
      if (auto annotation = branch->getAttrOfType<LLVM::LoopAnnotationAttr>(
              "llvm.loop_annotation"))
        branch.setLoopAnnotationAttr(annotation);
    });
  }

  // The patterns refer to the converter.
  std::shared_ptr<LLVMTypeConverter> converter;
  FrozenRewritePatternSet patterns;
};
} // namespace

std::unique_ptr<PassManager> codegen::makeKernelLowering(MLIRContext &context) {
  auto manager = std::make_unique<PassManager>(&context);
  // Units are verified when they are emitted, and LLVM IR by the back end.
  manager->enableVerifier(false);
  manager->addPass(createSCFToControlFlowPass());
  ConvertVectorToLLVMPassOptions vectorOptions;
  vectorOptions.x86Vector = true;
  manager->addPass(createConvertVectorToLLVMPass(vectorOptions));
  manager->addPass(std::make_unique<ConvertKernels>());
  manager->addPass(createReconcileUnrealizedCastsPass());
  return manager;
}
