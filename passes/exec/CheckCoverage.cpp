//===- CheckCoverage.cpp - Check that every point has its programs --------===//
//
// The runtime picks a program by (batch, k) or by the rows of a chunk and
// relies on its existence. Without this check a hole in the envelope would only
// show in the first round that needs the missing program.
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/IR/ExecOps.h"
#include "dialects/Exec/IR/KernelKinds.h"
#include "dialects/MTP/IR/MTPAttrs.h"
#include "passes/Passes.h"
#include "llvm/ADT/DenseSet.h"
#include <map>

namespace mlir::mtp {
#define GEN_PASS_DEF_CHECKCOVERAGEPASS
#include "passes/Passes.h.inc"
} // namespace mlir::mtp

using namespace mlir;
using namespace mlir::mtp;
using namespace mlir::exec;

namespace {

struct CheckCoveragePass
    : public mlir::mtp::impl::CheckCoveragePassBase<CheckCoveragePass> {
  using Base::Base;

  void runOnOperation() override;

private:
  LogicalResult collectPrograms();
  LogicalResult checkPoints(ProgramKind kind, int64_t k, int64_t most);
  LogicalResult checkKernels();

  /// Programs by kind, k, number of sequences, limit of positions (0 for none),
  /// whether a library computes in them, and whether they are mixed batches or
  /// a catch-up; each in the order of their n.
  std::map<std::tuple<ProgramKind, int64_t, int64_t, int64_t, bool, bool>,
           std::map<int64_t, ProgramOp>>
      programs;
};

} // namespace

/// Returns whether a program calls a library's products.
static bool callsLibrary(ProgramOp program, SymbolTable &symbols) {
  return llvm::any_of(
      program.getBody().getOps<DispatchOp>(), [&](DispatchOp dispatch) {
        auto kernel = symbols.lookup<KernelOp>(dispatch.getKernel());
        return kernel && isa<GemmKernelAttr>(kernel.getKernel());
      });
}

/// Collects the programs. Checks that programs of one kind, k, number of
/// sequences and limit of positions have no n in common. Programs in which a
/// library computes are exempt.
LogicalResult CheckCoveragePass::collectPrograms() {
  SymbolTable symbols(getOperation());
  for (ProgramOp program : getOperation().getOps<ProgramOp>()) {
    ++numPrograms;
    if (program.getKind() == ProgramKind::Function)
      continue;
    auto &others = programs[{
        program.getKind(), program.getK(), program.getSequences(),
        program.getPositions().value_or(0), callsLibrary(program, symbols),
        program.getPrompts().has_value() || program.getCatchUp().has_value()}];
    Points points = program.getPoints();
    // The last program that begins at or below the largest n of this one.
    auto next = others.upper_bound(points.most);
    if (next != others.begin()) {
      Points other = std::prev(next)->second.getPoints();
      if (other.most >= points.least)
        return program.emitOpError("expected one ")
               << stringifyEnum(program.getKind()) << " program for n "
               << std::max(other.least, points.least) << " and k "
               << program.getK() << ", got a second";
    }
    others[points.least] = program;
  }
  return success();
}

/// Checks that every n from 1 to `most` has a program. A prefill needs one for
/// a single sequence, since programs for more sequences only save time. A
/// decode needs one for any positions.
LogicalResult CheckCoveragePass::checkPoints(ProgramKind kind, int64_t k,
                                             int64_t most) {
  int64_t covered = 0;
  for (auto [least, program] : programs[{kind, k, 1, 0, false, false}]) {
    if (least > covered + 1)
      break;
    covered = program.getMost();
  }
  if (covered == most)
    return success();
  if (covered > most)
    return getOperation().emitError("expected ")
           << stringifyEnum(kind) << " programs for n up to " << most
           << " and k " << k << ", got one for n " << covered;
  return getOperation().emitError("expected a ")
         << stringifyEnum(kind) << " program for n " << covered + 1 << " and k "
         << k << ", got none";
}

/// Checks that every kernel is called: unused kernels would still be emitted
/// and linked. The verifier has checked the dispatches against their kernels.
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
  // A module with exported functions only has no points to cover.
  auto envelope = module->getAttrOfType<EnvelopeAttr>(kEnvelopeAttr);
  if (!module->hasAttr(exec::kModelAttr) || !envelope)
    return;
  for (int64_t k = 0; k <= int64_t(envelope.getMaxK()); ++k)
    if (failed(checkPoints(ProgramKind::Decode, k, envelope.getMaxBatch())))
      return signalPassFailure();
  // Check the prefill without drafts and, if the drafter reads the prompt, the
  // prefill with drafts.
  bool drafts =
      exec::moduleNumber(module, exec::kModelAttr, exec::kModules) > 0;
  for (int64_t k : {int64_t(0), drafts ? int64_t(envelope.getMaxK()) : 0})
    if (failed(
            checkPoints(ProgramKind::Prefill, k, envelope.getPrefillChunk())))
      return signalPassFailure();
}
