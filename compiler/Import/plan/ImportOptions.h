//===- ImportOptions.h - Options of an import -------------------*- C++ -*-===//

#ifndef MTP_COMPILER_IMPORT_PLAN_IMPORTOPTIONS_H
#define MTP_COMPILER_IMPORT_PLAN_IMPORTOPTIONS_H

#include "compiler/Import/drafters/DrafterFolder.h"
#include "compiler/Import/plan/AcceptSpec.h"
#include "compiler/Import/plan/DraftTree.h"
#include "compiler/Import/plan/DrafterSpec.h"
#include "compiler/Weights/WeightType.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace mtp::importer {

/// Assignment of modules to depths.
enum class DepthPolicy {
  Reuse,    ///< The first module drafts at every depth.
  PerDepth, ///< Module d drafts at depth d; the last one beyond it.
};

/// Element type of the KV caches. I8 has a scale for each head and token.
enum class KvType { F32, BF16, I8 };

/// The model of a profile that decided about options. Another model's profile
/// is refused.
struct ProfiledModel {
  /// Name of the drafter, with the arrangement of its drafts.
  std::string drafter;
  /// Tokens with counts are below this number.
  int64_t leastVocab = 0;
  /// Whether the profile decided `maxK`, so that a drafter may limit it.
  bool choosesK = false;
};

struct ImportOptions {
  /// The envelope's limits. The default of `maxK` is 3 if something drafts. The
  /// default of `maxContext` is 4096 or the model's own limit.
  std::optional<int64_t> maxK, maxContext;
  int64_t maxBatch = 4;
  int64_t prefillChunk = 128;
  int64_t roundPromptRows = 0;
  /// The number of rows that a round verifies for all slots. 0: all of their
  /// windows.
  int64_t maxRows = 0;
  /// The number of hidden states that a slot keeps for drafters that missed
  /// rounds. The default is 64 if the drafter has cache entries of the target's
  /// hidden states, and 0 for all others.
  std::optional<int64_t> catchUpRows;
  int64_t page = 16;
  /// The drafter, and a lookup that takes precedence over it in each slot where
  /// it finds drafts.
  DrafterSpec drafter;
  std::optional<LookupSizes> before;
  /// Options for a drafter in a folder: its method, if recognition is
  /// overridden, and the arrangement of its drafts.
  std::optional<FolderMethod> method;
  DraftTree tree;
  /// Lower limit of a draft's confidence, from 0 to 1. The drafts of a slot end
  /// before the first one below it. The confidence comes from the drafter's
  /// confidence head, or is the drafter's probability of a draft in a chain.
  std::optional<double> confidence;
  /// The rule that accepts drafts.
  AcceptSpec accept;
  /// True if rounds may stop for a host that sees their drafts.
  bool showsDrafts = false;
  /// Whether requests may change logits (LogitRules), if drafts are accepted by
  /// the rule `exact`.
  bool hasLogitRules = true;
  /// Assignment of the model's own modules to depths.
  DepthPolicy depthPolicy = DepthPolicy::PerDepth;
  /// A folder searched before the drafter library. Empty: none.
  std::string libraryFolder;
  /// False to read only config.json. The module then names no files.
  bool hasWeights = true;
  /// Element type of matrices (F32 or BF16), if it differs from the files'.
  std::optional<WeightType> matrixType;
  /// Element type of the KV caches of the model and its drafter. The default is
  /// F32 for a model whose matrices are F32 in its files or by `matrixType`,
  /// and BF16 for all other models.
  std::optional<KvType> kvType;
  /// The folder of the module's file. Paths in the module are relative to it,
  /// so the checkpoint must be in it or below it.
  std::string outputFolder = ".";
  /// True if unused weights under a layer are a warning, not an error.
  bool allowsUnusedWeights = false;
  /// The model of the profile, if there is one.
  std::optional<ProfiledModel> profiled;
  /// Receives warnings; may be empty.
  std::function<void(const std::string &)> onWarning;
  /// Receives the recognised drafter and the conventions it was read by; may be
  /// empty.
  std::function<void(const std::string &)> onNote;
};

} // namespace mtp::importer

#endif // MTP_COMPILER_IMPORT_PLAN_IMPORTOPTIONS_H
