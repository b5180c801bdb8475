//===- FolderEmitter.h - Drafters in folders of their own -------*- C++ -*-===//
//
// Private to the importer: what the functions and the rounds of such drafters
// share.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_IMPORT_FOLDEREMITTER_H
#define MTP_COMPILER_IMPORT_FOLDEREMITTER_H

#include "compiler/Import/ModelEmitter.h"

namespace mtp::importer {

/// In front of the names of the drafter's functions.
inline constexpr llvm::StringLiteral kDrafterFunctions = "draft_";

/// The context in which the drafter's functions are written and applied, with a
/// builder where `context` has its own.
ModelContext folderContext(ModelContext &context);

/// Applies @draft_fuse to taps.
mlir::Value emitFused(ModelContext &context, mlir::Value taps);

} // namespace mtp::importer

#endif // MTP_COMPILER_IMPORT_FOLDEREMITTER_H
