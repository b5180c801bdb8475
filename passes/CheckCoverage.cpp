//===- CheckCoverage.cpp - Check that every point has its programs --------===//
//
// The runtime picks a program by (batch, k) or by chunk and trusts that it is
// there. A hole in the envelope would otherwise show at the first round that
// falls into it.
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/IR/ExecOps.h"
#include "dialects/Exec/IR/KernelKinds.h"
#include "passes/Envelope.h"
#include "passes/Passes.h"
#include "llvm/ADT/DenseSet.h"

namespace mlir::mtp {
#define GEN_PASS_DEF_CHECKCOVERAGEPASS
#include "passes/Passes.h.inc"
} // namespace mlir::mtp

using namespace mlir;
using namespace mlir::mtp;
using namespace mlir::exec;

namespace {

struct CheckCoveragePass
    : public mtp::impl::CheckCoveragePassBase<CheckCoveragePass> {
  using Base::Base;

  void runOnOperation() override;

private:
  LogicalResult collectPrograms();
  LogicalResult checkDecode(EnvelopeAttr envelope);
  LogicalResult checkPrefill(EnvelopeAttr envelope, bool drafts);
  LogicalResult checkKernels();

  /// Decode programs by batch and k, prefill programs by chunk and k.
  llvm::DenseSet<std::pair<int64_t, int64_t>> decode;
  llvm::DenseSet<std::pair<int64_t, int64_t>> prefill;
};

} // namespace

LogicalResult CheckCoveragePass::collectPrograms() {
  for (ProgramOp program : getOperation().getOps<ProgramOp>()) {
    bool isNew = true;
    if (program.getKind() == "decode")
      isNew = decode.insert({program.getBatch(), program.getK()}).second;
    else if (program.getKind() == "prefill")
      isNew = prefill.insert({program.getChunk(), program.getK()}).second;
    if (!isNew) {
      return program.emitOpError("expected one ")
             << program.getKind() << " program for batch " << program.getBatch()
             << ", k " << program.getK() << " and chunk " << program.getChunk()
             << ", got a second";
    }
    ++numPrograms;
  }
  return success();
}

LogicalResult CheckCoveragePass::checkDecode(EnvelopeAttr envelope) {
  for (int64_t batch = 1; batch <= envelope.getMaxBatch(); ++batch) {
    for (int64_t k = 0; k <= envelope.getMaxK(); ++k) {
      if (!decode.contains({batch, k})) {
        return getOperation().emitError("expected a decode program for batch ")
               << batch << " and k " << k << ", got none";
      }
    }
  }
  return success();
}

/// With drafting off, and where the drafter reads the prompt, with drafting on.
LogicalResult CheckCoveragePass::checkPrefill(EnvelopeAttr envelope,
                                              bool drafts) {
  for (int64_t chunk : prefillChunks(envelope)) {
    for (int64_t k : {int64_t(0), drafts ? int64_t(envelope.getMaxK()) : 0}) {
      if (!prefill.contains({chunk, k})) {
        return getOperation().emitError("expected a prefill program for chunk ")
               << chunk << " and k " << k << ", got none";
      }
    }
  }
  return success();
}

/// The verifier checked the dispatches against their kernels; a kernel that
/// nobody calls would still be emitted and linked.
LogicalResult CheckCoveragePass::checkKernels() {
  llvm::DenseSet<StringAttr> called;
  for (ProgramOp program : getOperation().getOps<ProgramOp>()) {
    WalkResult result = program.walk([&](Operation *op) {
      if (auto dispatch = dyn_cast<DispatchOp>(op)) {
        called.insert(dispatch.getKernelAttr().getAttr());
      } else if (isa<KernelOpInterface>(op)) {
        op->emitOpError("expected no call in value form, is exec-bufferize "
                        "missing before this pass?");
        return WalkResult::interrupt();
      }
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      return failure();
  }
  for (KernelOp kernel : getOperation().getOps<KernelOp>()) {
    if (!called.contains(kernel.getSymNameAttr())) {
      return kernel.emitOpError(
          "expected a dispatch of every kernel, got none");
    }
  }
  return success();
}

void CheckCoveragePass::runOnOperation() {
  markAllAnalysesPreserved();
  ModuleOp module = getOperation();
  if (failed(collectPrograms()) || failed(checkKernels()))
    return signalPassFailure();
  // Exported functions alone have no points to cover.
  auto envelope = module->getAttrOfType<EnvelopeAttr>(kEnvelopeAttr);
  if (!module->hasAttr(exec::kModelAttr) || !envelope)
    return;
  int64_t modules =
      exec::moduleNumber(module, exec::kModelAttr, exec::kModules);
  if (failed(checkDecode(envelope)) ||
      failed(checkPrefill(envelope, modules > 0)))
    return signalPassFailure();
}
