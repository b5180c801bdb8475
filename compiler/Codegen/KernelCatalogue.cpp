//===- KernelCatalogue.cpp - Kernels whose code is written once -----------===//

#include "compiler/Codegen/KernelCatalogue.h"

#include "llvm/ADT/StringMap.h"

using namespace mtp;
using namespace mtp::codegen;
using namespace mlir;

static const llvm::StringMap<const RowKernel *> &catalogue() {
  static const llvm::StringMap<const RowKernel *> kinds = [] {
    llvm::StringMap<const RowKernel *> made;
    for (ArrayRef<RowKernel> family :
         {argmaxKernels(), cacheKernels(), causalConvKernels(),
          deltaRuleKernels(), distributionKernels(), elementwiseKernels(),
          embeddingKernels(), expertRowKernels(), gateKernels(),
          logitRuleKernels(), moeRouteKernels(), normKernels(), packKernels(),
          pickResidualKernels(), ropeAppendKernels(), ropeKernels(),
          sampleKeyKernels(), stateRowsKernels(), vocabularyKernels()})
      for (const RowKernel &kernel : family)
        made[kernel.kind] = &kernel;
    return made;
  }();
  return kinds;
}

const RowKernel *codegen::findRowKernel(exec::KernelAttrInterface kernel) {
  return catalogue().lookup(kernel.getKind());
}

std::vector<StringRef> codegen::rowKernelKinds() {
  auto kinds = catalogue().keys();
  return {kinds.begin(), kinds.end()};
}

InFlightDiagnostic codegen::emitKernelError(Location loc,
                                            const KernelSpec &spec) {
  return mlir::emitError(loc) << "kernel '" << spec.symbol << "' of kind '"
                              << spec.kernel.getKind() << "': ";
}

LogicalResult codegen::verifyKernel(Location loc, const KernelSpec &spec) {
  auto emitError = [&] { return emitKernelError(loc, spec); };
  if (failed(spec.kernel.verifySizes(emitError)))
    return failure();
  return spec.kernel.verifyRules(emitError);
}
