//===- DrafterFolder.h - A drafter in a folder of its own -------*- C++ -*-===//
//
// Drafters are published in their authors' format, in the format of the
// speculators library, or as engines convert them. The reader recognises a
// drafter by its tensors and its config.json, never by the folder's name.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_IMPORT_DRAFTERS_DRAFTERFOLDER_H
#define MTP_COMPILER_IMPORT_DRAFTERS_DRAFTERFOLDER_H

#include "compiler/Import/config/ModelConfig.h"
#include "compiler/Weights/WeightSet.h"
#include "runtime/core/Result.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mtp::importer {

enum class FolderMethod {
  Eagle,  ///< EAGLE-1 and HASS (arXiv:2401.15077, 2408.15766).
  Eagle3, ///< EAGLE-3 (arXiv:2503.01840), and EAGLE-3.1's norms.
  Medusa, ///< Medusa (arXiv:2401.10774).
  Model,  ///< A separate model with the target's vocabulary.
  DFlash, ///< DFlash (arXiv:2602.06036).
  DSpark, ///< DSpark (arXiv:2607.05147).
  Pard,   ///< PARD (arXiv:2504.18583), a model that fills masks.
  Heads,  ///< Heads of one layer each (arXiv:2404.19737).
  PEagle, ///< P-EAGLE (arXiv:2602.01469): EAGLE-3 in one pass.
};

/// Returns the name of a method for --method, e.g. "eagle". HASS has the name
/// "eagle", too.
std::string_view toString(FolderMethod method);
std::optional<FolderMethod> parseFolderMethod(std::string_view name);
/// Returns the list of methods for a message: "dflash, dspark, eagle, .. or
/// p-eagle".
std::string listFolderMethods();

/// Facts about EAGLE's drafters beyond the config of their layers.
struct EagleConfig {
  std::string fuse; ///< Projects embedding and hidden state, or the taps.
  bool hasFuseBias = false;
  // Fields of EAGLE-3. Blocks also use taps, draftVocab and tokens.
  /// Taps: residual streams of the target. Each is named by the layer that it
  /// enters; the number of layers names the input of the final norm.
  std::vector<int64_t> taps;
  bool normBeforeResidual = false, normBeforeFuse = false;
  bool hasFuseNorms = false; ///< One norm for each tap.
  bool normOutput = false;   ///< The state that is fed back is normalised.
  /// The number of columns of the drafter's head, and the target's token of
  /// each column. 0 and empty if they are the target's.
  int64_t draftVocab = 0;
  std::vector<int32_t> tokens;
};

/// Replaces "{i}", or another name in braces, in `pattern` with `i`.
std::string numbered(std::string pattern, std::string_view name, int64_t i);

struct MedusaConfig {
  int64_t heads = 0, blocks = 0;
  /// Prefixes of head {i}'s blocks and of its output, and the key of block {l}
  /// after the first prefix, without ".weight".
  std::string blocksPrefix, outputPrefix, block;
  bool hasBias = true;
};

/// Facts about DFlash and DSpark beyond the config of their layers.
struct BlockConfig {
  /// The number of rows of a trained block, and of tokens that it drafts.
  int64_t rows = 0, drafts = 0;
  /// The token of all rows except the anchor's.
  int32_t mask = 0;
  /// True if a row drafts the token after it; false if it drafts the token at
  /// its own position.
  bool fromAnchor = false;
  /// Rank of the Markov head. 0: there is none.
  int64_t markovRank = 0;
  bool hasConfidence = false, hasConfidenceBias = false;
  /// True if the confidence head reads the Markov head's embedding of the
  /// preceding token.
  bool confidenceSeesMarkov = false;
};

/// Facts about drafters that draft all positions in one pass.
struct ParallelConfig {
  /// The token of rows whose draft is not known yet.
  int32_t maskToken = 0;
  /// P-EAGLE's key of the tensor that replaces the target's taps in mask rows,
  /// and the number of positions it was trained for (0: unknown).
  std::string maskHidden;
  int64_t depths = 0;
};

struct DrafterFolder {
  FolderMethod method = FolderMethod::Eagle;
  /// The format for messages, e.g. "the authors' format".
  std::string format;
  /// Path of the folder, and paths of its weight files. No files without
  /// weights.
  std::string path;
  std::vector<std::string> files;
  /// Config of the layers. For Medusa only the vocabulary and hidden width.
  ModelConfig layers;
  /// Prefix of all keys except `embedding` and `head`, and the prefixes of each
  /// layer's keys.
  std::string root;
  std::vector<std::string> layerPrefixes;
  /// Keys of the embedding and the head. Empty if the target's are used.
  std::string embedding, head;
  EagleConfig eagle;
  MedusaConfig medusa;
  /// The number of drafts per round that the drafter's config proposes. 0:
  /// none.
  int64_t proposed = 0;
  BlockConfig block;
  ParallelConfig parallel;
  /// Returns the number of independent heads. 0 for other methods.
  int64_t heads() const {
    if (method == FolderMethod::Heads)
      return int64_t(layerPrefixes.size());
    return method == FolderMethod::Medusa ? medusa.heads : 0;
  }
  /// Returns true if `key` belongs to a copy of the target in the folder.
  bool isTargets(std::string_view key) const;

  /// True if the folder is the target's own.
  bool isInline = false;
  /// Notes for the user: conventions and defaults.
  std::vector<std::string> notes;

  /// Returns true if one pass fills a block of drafts whose rows see each
  /// other.
  bool isBlock() const {
    return method == FolderMethod::DFlash || method == FolderMethod::DSpark;
  }
};

/// Reads the drafter in `folder` for a target, and checks its widths,
/// vocabulary and taps. `method` overrides recognition. Without weights,
/// config.json alone decides.
Result<DrafterFolder> readDrafterFolder(const std::string &folder,
                                        const ModelConfig &target,
                                        std::optional<FolderMethod> method,
                                        bool hasWeights);

/// Reads a drafter from a config's text and its weights, which may be null.
Result<DrafterFolder> parseDrafter(std::string_view config,
                                   const WeightSet *weights,
                                   const ModelConfig &target,
                                   std::optional<FolderMethod> method);

} // namespace mtp::importer

#endif // MTP_COMPILER_IMPORT_DRAFTERS_DRAFTERFOLDER_H
