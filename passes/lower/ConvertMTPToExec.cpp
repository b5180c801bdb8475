//===- ConvertMTPToExec.cpp - Choose a kernel for every op ----------------===//

#include "dialects/Exec/IR/CacheElements.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/Passes.h"
#include "passes/lower/CacheHeads.h"
#include "passes/lower/ExecLowering.h"
#include "passes/lower/ProjectionRoles.h"

namespace mlir::mtp {
#define GEN_PASS_DEF_CONVERTMTPTOEXECPASS
#include "passes/Passes.h.inc"
} // namespace mlir::mtp

using namespace mlir;
using namespace mlir::mtp;

namespace {
struct ConvertMTPToExecPass
    : public mlir::mtp::impl::ConvertMTPToExecPassBase<ConvertMTPToExecPass> {
  using Base::Base;

  void runOnOperation() override;
};
} // namespace

/// Gives every cache its page size, which all programs share, and the number of
/// heads among which its entries are divided. Entries of integers get room for
/// scales.
static LogicalResult convertCaches(ModuleOp module) {
  auto envelope = module->getAttrOfType<EnvelopeAttr>(kEnvelopeAttr);
  llvm::StringMap<int64_t> heads = findCacheHeads(module);
  if (failed(verifyCacheScales(module, heads)))
    return failure();
  for (mlir::mtp::CacheOp cache :
       llvm::to_vector(module.getOps<mlir::mtp::CacheOp>())) {
    if (!envelope) {
      return cache.emitOpError("expected an mtp.envelope on the module: it "
                               "gives the page size");
    }
    OpBuilder builder(cache);
    int64_t parts = heads.lookup(cache.getSymName()), entry = cache.getEntry();
    if (exec::hasScales(cache.getElementType()))
      entry = parts * int64_t(::mtp::integerShareBytes(entry / parts));
    exec::CacheOp::create(builder, cache.getLoc(), cache.getSymName(),
                          cache.getLayers(), entry, parts, envelope.getPage(),
                          cache.getElementType());
    cache.erase();
  }
  return success();
}

/// Erases ops without users. A prefill, for example, needs the drafter's cache
/// entries but not its hidden states.
static void eraseDead(exec::ProgramOp program) {
  for (Operation &op :
       llvm::make_early_inc_range(llvm::reverse(program.getBody().front()))) {
    if (isOpTriviallyDead(&op))
      op.erase();
  }
}

void ConvertMTPToExecPass::runOnOperation() {
  ModuleOp module = getOperation();
  auto emitError = [&] { return module.emitError("panel-width: "); };
  if (failed(exec::PanelsAttr::verify(emitError, panelWidth, false)) ||
      failed(convertCaches(module)) || failed(convertRecurrences(module)))
    return signalPassFailure();
  Lowerings lowerings;
  addRoundLowerings(lowerings);
  addAttentionLowerings(lowerings);
  addExpertLowerings(lowerings);
  addProductLowerings(lowerings);
  addRecurrenceLowerings(lowerings);
  addRowLowerings(lowerings);
  addSampleLowerings(lowerings);
  addVocabularyLowerings(lowerings);
  LoweringContext context(module, panelWidth);
  for (auto program : llvm::to_vector(module.getOps<exec::ProgramOp>())) {
    eraseDead(program);
    findRoles(program);
    if (failed(lowerProgram(program, lowerings, context)))
      return signalPassFailure();
  }
  for (auto op : llvm::to_vector(module.getOps<VocabularyOp>()))
    op.erase();
  numInvokes += context.numCalls;
  numWeights += context.numWeights;
}
