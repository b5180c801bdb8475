//===- FolderEmitter.h - Drafters in folders of their own -------*- C++ -*-===//
//
// Private to the importer: what the functions and the rounds of such drafters
// share.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_IMPORT_FOLDEREMITTER_H
#define MTP_COMPILER_IMPORT_FOLDEREMITTER_H

#include "compiler/Import/ModelEmitter.h"
#include "compiler/Import/StepRound.h"

namespace mtp::importer {

/// In front of the names of the drafter's functions.
inline constexpr llvm::StringLiteral kDrafterFunctions = "draft_";

/// The context in which the drafter's functions are written and applied, with a
/// builder where `context` has its own.
ModelContext folderContext(ModelContext &context);

/// Applies @draft_fuse to taps.
mlir::Value emitFused(ModelContext &context, mlir::Value taps);

/// Applies a function of the drafter with the root of its keys.
mlir::Operation *emitOwn(ModelContext &context, llvm::StringRef callee,
                         mlir::ValueRange inputs, mlir::TypeRange results,
                         llvm::StringRef name, const std::string &prefix = "");

/// Whether drafts are what the target would pick; a rule that is lossless in
/// distribution alone wants the best ones.
bool picksAsTarget(const AcceptSpec &rule);
/// Picks drafts of logits so.
mlir::Value emitPick(ModelContext &context, mlir::Value logits,
                     mlir::Value rows);
/// Declares the tokens of the drafter's head, where they are not the target's.
void emitVocabulary(ModelContext &context, const EagleConfig &eagle);

/// The functions of a drafter that fills a block, what it takes from the
/// library, and its part of a round.
void emitBlock(ModelContext &context, ModelContext &own);
void importBlock(ModelContext &context);
Drafts emitBlockDrafts(ModelContext &context);
void addBlockNumbers(ModelContext &context, std::vector<RoundNumber> &numbers);

/// The functions of heads that are layers.
void emitHeadFunctions(ModelContext &context, ModelContext &own);
/// The logits of one of them, of the rows that it reads.
mlir::Value emitHeadLayer(ModelContext &context, mlir::Value hidden,
                          mlir::Value rows, int64_t head);

/// Whether a drafter drafts all places in one pass, with rows of masks.
bool isParallel(const ModelContext &context);
/// @draft_mask: what a mask has in place of taps.
void emitMaskFunction(ModelContext &context, ModelContext &own);
/// What drafters of all places in one pass take from the library.
void importParallel(ModelContext &context);
Drafts emitParallelDrafts(ModelContext &context);
void addParallelNumbers(ModelContext &context,
                        std::vector<RoundNumber> &numbers);

} // namespace mtp::importer

#endif // MTP_COMPILER_IMPORT_FOLDEREMITTER_H
