//===- FolderEmitter.h - Drafters in folders of their own -------*- C++ -*-===//
//
// Private to the importer. Helpers for the functions and rounds of drafters in
// folders.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_IMPORT_EMITTERS_FOLDEREMITTER_H
#define MTP_COMPILER_IMPORT_EMITTERS_FOLDEREMITTER_H

#include "compiler/Import/emitters/ModelEmitter.h"

namespace mtp::importer {

/// Prefix of the names of the drafter's functions.
inline constexpr llvm::StringLiteral kDrafterFunctions = "draft_";

/// Returns the context for writing and applying the drafter's functions. It has
/// a builder at the insertion point of `context`.
ModelContext folderContext(ModelContext &context);

/// Applies @draft_fuse to taps.
mlir::Value emitFused(ModelContext &context, mlir::Value taps);

/// Applies a function of the drafter with the root of its keys as prefix.
mlir::Operation *emitOwn(ModelContext &context, llvm::StringRef callee,
                         mlir::ValueRange inputs, mlir::TypeRange results,
                         llvm::StringRef name, const std::string &prefix = "");

/// Returns true if drafts are picked as the target would pick them. A rule that
/// is lossless only in distribution wants the best drafts instead.
bool picksAsTarget(const AcceptSpec &rule);
/// Picks drafts from logits, as picksAsTarget() says.
mlir::Value emitPick(ModelContext &context, mlir::Value logits,
                     mlir::Value rows);
/// Declares the tokens of the drafter's head, if they are not the target's.
void emitVocabulary(ModelContext &context, const EagleConfig &eagle);

/// Emit a block drafter: its functions, its imports from the library, and its
/// part of a round.
void emitBlock(ModelContext &context, ModelContext &own);
void importBlock(ModelContext &context);
Drafts emitBlockDrafts(ModelContext &context);
void addBlockNumbers(ModelContext &context, std::vector<RoundNumber> &numbers);

/// Emits the functions of heads that are layers.
void emitHeadFunctions(ModelContext &context, ModelContext &own);
/// Emits the logits of a head that is a layer, for the rows that the head
/// reads.
mlir::Value emitHeadLayer(ModelContext &context, mlir::Value hidden,
                          mlir::Value rows, int64_t head);

/// Returns true if the drafter drafts all positions in one pass, with mask
/// rows.
bool isParallel(const ModelContext &context);
/// Emits @draft_mask, which replaces the taps of a mask row.
void emitMaskFunction(ModelContext &context, ModelContext &own);
/// Imports from the library for drafters of all positions in one pass.
void importParallel(ModelContext &context);
Drafts emitParallelDrafts(ModelContext &context);
void addParallelNumbers(ModelContext &context,
                        std::vector<RoundNumber> &numbers);

} // namespace mtp::importer

#endif // MTP_COMPILER_IMPORT_EMITTERS_FOLDEREMITTER_H
