//===- Importer.h - From a checkpoint's folder to a module ------*- C++ -*-===//

#ifndef MTP_COMPILER_IMPORT_IMPORTER_H
#define MTP_COMPILER_IMPORT_IMPORTER_H

#include "compiler/Import/AcceptSpec.h"
#include "compiler/Import/DraftTree.h"
#include "compiler/Import/DrafterFolder.h"
#include "compiler/Import/DrafterSpec.h"
#include "compiler/Import/ModelConfig.h"
#include "runtime/core/Result.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <functional>
#include <optional>
#include <string>

namespace mtp::importer {

/// Which module drafts at which depth.
enum class DepthPolicy {
  Reuse,    ///< The first module drafts at every depth.
  PerDepth, ///< Module d at depth d; the last one at deeper depths too.
};

struct ImportOptions {
  /// The envelope. What is absent follows from the model: 3 drafts if something
  /// drafts, and a context of 4096 or of what the model was made for.
  std::optional<int64_t> maxK, maxContext;
  int64_t maxBatch = 4;
  int64_t prefillChunk = 128;
  int64_t roundPromptRows = 0;
  /// Rows of all slots that a round verifies; 0: all of their windows.
  int64_t maxRows = 0;
  int64_t catchUpRows = 0;
  int64_t page = 16;
  /// What drafts, and a lookup whose drafts come before its own, slot by slot.
  DrafterSpec drafter;
  std::optional<LookupSizes> before;
  /// Of a drafter in a folder: what it is if not what it looks like, and how
  /// its drafts are arranged.
  std::optional<FolderMethod> method;
  DraftTree tree;
  /// Drafts end before the first one whose confidence is less, between 0 and 1:
  /// what the drafter's head for it says, or else, of a chain that is drafted
  /// step by step, how likely the drafter finds the draft.
  std::optional<double> confidence;
  /// Which drafts stay.
  AcceptSpec accept;
  /// Rounds may stop for a host that sees their drafts.
  bool showsDrafts = false;
  /// Of the model's own modules.
  DepthPolicy depthPolicy = DepthPolicy::PerDepth;
  /// A folder whose files come before those of the drafter library; empty for
  /// none.
  std::string libraryFolder;
  /// Without weights only config.json is read; the module names no files.
  bool hasWeights = true;
  /// What matrices are kept in (F32 or BF16), if not what the files hold.
  std::optional<WeightType> matrixType;
  /// The folder that the module will be written to. Paths in the module are
  /// relative to it, so the checkpoint must lie in it or below.
  std::string outputFolder = ".";
  /// Weights under a layer that nothing uses are an error, or else a warning.
  bool allowsUnusedWeights = false;
  /// Gets what is worth saying though the import goes on; may be empty.
  std::function<void(const std::string &)> onWarning;
  /// Gets what a drafter was taken for, and by which conventions; may be empty.
  std::function<void(const std::string &)> onNote;
};

/// Imports the checkpoint in `folder` and verifies the module, with what it
/// takes from the drafter library. Loads the dialects it needs into `context`.
Result<mlir::OwningOpRef<mlir::ModuleOp>>
importModel(mlir::MLIRContext &context, const std::string &folder,
            const ImportOptions &options = {});

} // namespace mtp::importer

#endif // MTP_COMPILER_IMPORT_IMPORTER_H
