//===- StepRound.h - Drafters that go step by step --------------*- C++ -*-===//
//
// Private to the importer. Such are the model's own MTP modules, of which each
// has a depth, and EAGLE's kind and models in folders, which are one step for
// all depths. What they draft is a chain or a tree.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_IMPORT_STEPROUND_H
#define MTP_COMPILER_IMPORT_STEPROUND_H

#include "compiler/Import/ModelEmitter.h"

namespace mtp::importer {

/// How many steps there are: a module each, else one.
int64_t countSteps(const ModelContext &context);

/// Whether the first step's state is made of taps of the target.
bool fusesTaps(const ModelContext &context);

/// The tokens of the drafter's head, null where they are the target's; its
/// logits and states.
mlir::FlatSymbolRefAttr vocabularyOf(ModelContext &context);
mlir::Type draftLogits(ModelContext &context);
mlir::Type draftHidden(ModelContext &context);

/// Step `step` (0 the first) on tokens, states and rows: logits, and the state
/// that it hands on.
mlir::Operation *emitStep(ModelContext &context, mlir::ValueRange inputs,
                          int64_t step = 0);
/// The same in a region of its own; a model takes no state.
void emitStepRegion(ModelContext &context, mlir::Region &region,
                    int64_t step = 0);

/// The parents of a static tree, null of another, and the type of its drafts,
/// which is open where others may stand in their place.
mlir::DenseI64ArrayAttr treeOf(ModelContext &context);
mlir::Type nodesType(ModelContext &context);

/// What a tree takes from the library and what its round calls, and its drafts.
void importTree(ModelContext &context);
Drafts emitTree(ModelContext &context);
/// The functions that the round of such a tree calls.
void emitBeamFunctions(ModelContext &context);
/// How many nodes of it are drafted.
void addBeamNumbers(ModelContext &context, std::vector<RoundNumber> &numbers);
/// The drafts of a tree whose shape is found in every round.
Drafts emitBeam(ModelContext &context);
/// Whether candidates of such a tree are what the region of accept picks, and
/// ranked so.
bool isCoupled(const ModelContext &context);

} // namespace mtp::importer

#endif // MTP_COMPILER_IMPORT_STEPROUND_H
