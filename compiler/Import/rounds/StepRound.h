//===- StepRound.h - Drafters that draft step by step -----------*- C++ -*-===//
//
// Private to the importer. The model's own MTP modules have a step of their own
// per depth. EAGLE's family and models in folders use one step for all depths.
// Both can draft a chain or a tree.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_IMPORT_ROUNDS_STEPROUND_H
#define MTP_COMPILER_IMPORT_ROUNDS_STEPROUND_H

#include "compiler/Import/emitters/ModelEmitter.h"

namespace mtp::importer {

/// Returns the number of distinct steps: the number of modules, but at least 1.
int64_t countSteps(const ModelContext &context);

/// Returns true if the first step's state is computed from the target's taps.
bool fusesTaps(const ModelContext &context);

/// Return the tokens of the drafter's head (null if they are the target's), and
/// the types of its logits and states.
mlir::FlatSymbolRefAttr vocabularyOf(ModelContext &context);
mlir::Type draftLogits(ModelContext &context);
mlir::Type draftHidden(ModelContext &context);

/// Applies step `step` (0 is the first) to tokens, states and rows. Returns
/// logits and the state for the next step.
mlir::Operation *emitStep(ModelContext &context, mlir::ValueRange inputs,
                          int64_t step = 0);
/// Emits a step in a region of its own. A model takes no state.
void emitStepRegion(ModelContext &context, mlir::Region &region,
                    int64_t step = 0);

/// Returns the parents of a static tree (null for other trees), and the type of
/// its drafts. The type is dynamic if a lookup's drafts may replace them.
mlir::DenseI64ArrayAttr treeOf(ModelContext &context);
mlir::Type nodesType(ModelContext &context);

/// Imports what a dynamic tree needs from the library.
void importTree(ModelContext &context);
Drafts emitTree(ModelContext &context);
/// Emits the functions that the round of a dynamic tree calls.
void emitBeamFunctions(ModelContext &context);
/// Adds the number of drafted nodes of a dynamic tree.
void addBeamNumbers(ModelContext &context, std::vector<RoundNumber> &numbers);
/// Emits the drafts of a dynamic tree.
Drafts emitBeam(ModelContext &context);
/// Returns true if a dynamic tree's candidates are the picks of accept's
/// region, ranked with its noise.
bool isCoupled(const ModelContext &context);

} // namespace mtp::importer

#endif // MTP_COMPILER_IMPORT_ROUNDS_STEPROUND_H
