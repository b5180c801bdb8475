//===- LowerKernels.cpp - Kernels to the llvm dialect ---------------------===//
//
// MLIR's canonicalizer and CSE do not run, because LLVM folds the same
// operations. One pass converts all dialects except scf and vector. MLIR's
// passes, one for each dialect, would each build patterns for every kernel and
// leave casts for the next pass.
//
//===----------------------------------------------------------------------===//

#include "compiler/Codegen/CPU/target/LowerKernels.h"

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
/// Converts kernels to the LLVM dialect after `scf` and `vector` ops have been
/// converted.
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
  /// Sets the loop annotation of each branch. The conversion of `scf` leaves
  /// the annotation as an attribute that no translation reads.
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
  // Emission verifies units, and the back end verifies LLVM IR.
  manager->enableVerifier(false);
  manager->addPass(createSCFToControlFlowPass());
  ConvertVectorToLLVMPassOptions vectorOptions;
  vectorOptions.x86Vector = true;
  manager->addPass(createConvertVectorToLLVMPass(vectorOptions));
  manager->addPass(std::make_unique<ConvertKernels>());
  manager->addPass(createReconcileUnrealizedCastsPass());
  return manager;
}
