//===- Phases.cpp - The phases of a compilation ---------------------------===//

#include "compiler/Pipeline/Phases.h"
#include "passes/Passes.h"

using namespace mtp::compiler;
namespace passes = mlir::mtp;

static constexpr PhaseInfo kPhases[] = {
    {Phase::Input, "input", "parse and verify, wiring included"},
    {Phase::Fuse, "fuse", "inline layers; fuse norms, projections and MLA"},
    {Phase::Shape, "shape", "programs whose rows are counts of n"},
    {Phase::Cache, "cache", "make cache writes explicit"},
    {Phase::Exec, "exec", "choose kernels, give buffers addresses"},
    {Phase::Codegen, "codegen", "emit native code for the kernels"},
    {Phase::Artifact, "artifact", "pack weights and write the file"},
};

llvm::ArrayRef<PhaseInfo> mtp::compiler::allPhases() { return kPhases; }

std::optional<Phase> mtp::compiler::findPhase(llvm::StringRef name) {
  for (const PhaseInfo &info : kPhases)
    if (info.name == name)
      return info.phase;
  return std::nullopt;
}

/// Returns the group of a format for a target. 0 selects groups of 32 with f16
/// scales, which tensor cores do not multiply.
static int64_t groupFor(const Target &target, int64_t group) {
  return group == 0 && target.ordersFragments() ? ::mtp::kDefaultQuantGroup
                                                : group;
}

static void addQuantization(mlir::OpPassManager &manager, const Target &target,
                            const LoweringOptions &lowering) {
  const WeightFormats &formats = lowering.formats;
  if (!formats.changeWeights() && !lowering.keptFormat)
    return;
  passes::QuantizeWeightsPassOptions options;
  options.format = formats.format;
  options.group = groupFor(target, formats.group);
  options.headFormat = formats.headFormat;
  options.headGroup = groupFor(target, formats.headGroup);
  options.embeddingFormat = formats.embeddingFormat;
  options.embeddingGroup = formats.embeddingGroup;
  options.keep.assign(formats.keep.begin(), formats.keep.end());
  options.tie = formats.tie;
  options.tieFragments = !target.ordersFragments();
  manager.addPass(passes::createQuantizeWeightsPass(
      options, lowering.keptFormat,
      formats.isMixed ? lowering.chooseFormats : nullptr));
}

void mtp::compiler::populatePhase(mlir::OpPassManager &manager, Phase phase,
                                  const LoweringOptions &options) {
  switch (phase) {
  case Phase::Input:
    manager.addPass(passes::createVerifyWiringPass());
    break;
  case Phase::Fuse:
    manager.addPass(passes::createInlineLayersPass());
    if (options.collectInputs)
      manager.addPass(passes::createCollectInputsPass());
    manager.addPass(passes::createAbsorbMLAPass());
    manager.addPass(passes::createFuseConcatProjectionPass());
    manager.addPass(passes::createFuseProjectionsPass(options.storedFormat));
    manager.addPass(passes::createFuseNormLinearPass());
    manager.addPass(passes::createVerifyEntriesPass());
    break;
  case Phase::Shape:
    manager.addPass(passes::createInstantiateRoundsPass());
    manager.addPass(passes::createExpandRefreshPass());
    manager.addPass(passes::createExpandDraftChainPass());
    manager.addPass(passes::createExpandDraftTreePass());
    manager.addPass(passes::createExpandDraftHeadsPass());
    manager.addPass(passes::createExpandVerifyPass());
    manager.addPass(passes::createExpandAcceptPass());
    manager.addPass(passes::createExpandCommitPass());
    manager.addPass(passes::createRepeatRoundsPass());
    manager.addPass(passes::createExpandTreeRowsPass());
    manager.addPass(passes::createExpandUniformPass());
    manager.addPass(passes::createExpandAnchoredPass());
    manager.addPass(passes::createPlaceDraftersPass());
    manager.addPass(passes::createFusePerSlotPass());
    manager.addPass(passes::createLintStatesPass());
    manager.addPass(passes::createMergePrefillPass());
    manager.addPass(passes::createSpecializeShapesPass());
    manager.addPass(passes::createSinkUnpackPass());
    manager.addPass(passes::createOutlineControlPass());
    manager.addPass(passes::createSinkRowSelectionPass());
    break;
  case Phase::Cache:
    manager.addPass(passes::createPlaceCacheWritesPass());
    break;
  case Phase::Exec:
  case Phase::Codegen:
  case Phase::Artifact:
    break;
  }
}

void mtp::compiler::populateExecPhase(mlir::OpPassManager &manager,
                                      const Target &target,
                                      const LoweringOptions &options) {
  manager.addPass(passes::createConvertMTPToExecPass({target.panelWidth()}));
  if (!options.draftTokens.empty()) {
    passes::ShrinkDraftHeadPassOptions draft;
    draft.tokens.assign(options.draftTokens.begin(), options.draftTokens.end());
    manager.addPass(passes::createShrinkDraftHeadPass(std::move(draft)));
  }
  if (!options.idsWithoutToken.empty()) {
    passes::MaskTokensPassOptions mask;
    mask.tokens.assign(options.idsWithoutToken.begin(),
                       options.idsWithoutToken.end());
    manager.addPass(passes::createMaskTokensPass(std::move(mask)));
  }
  addQuantization(manager, target, options);
  manager.addPass(passes::createFuseArgmaxPass());
  manager.addPass(passes::createFuseRopePass());
  manager.addPass(passes::createDeferOutputsPass());
  target.addSchedulePasses(manager);
  manager.addPass(passes::createBufferizePass());
  manager.addPass(passes::createPlanMemoryPass());
  manager.addPass(passes::createCheckCoveragePass());
}
