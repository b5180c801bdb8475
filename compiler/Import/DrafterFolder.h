//===- DrafterFolder.h - What a folder with a drafter holds -----*- C++ -*-===//
//
// Drafters are published in folders of their own, in their authors' format, in
// that of the speculators library, or as engines convert them. They are told by
// their tensors and what config.json says, never by a folder's name.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_IMPORT_DRAFTERFOLDER_H
#define MTP_COMPILER_IMPORT_DRAFTERFOLDER_H

#include "compiler/Import/ModelConfig.h"
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
  Eagle3, ///< arXiv:2503.01840, and EAGLE-3.1's norms.
  Medusa, ///< arXiv:2401.10774.
  Model,  ///< A model of its own with the target's vocabulary.
  DFlash, ///< arXiv:2602.06036.
  DSpark, ///< arXiv:2607.05147.
  Pard,   ///< A model that fills masks (arXiv:2504.18583).
  Heads,  ///< Heads of a layer each (arXiv:2404.19737).
  PEagle, ///< EAGLE-3 in one pass (arXiv:2602.01469).
};

/// "eagle" and so on, as --method takes them; "hass" is "eagle", too.
std::string_view toString(FolderMethod method);
std::optional<FolderMethod> parseFolderMethod(std::string_view name);
/// "dflash, dspark, eagle, .. or p-eagle", for a message.
std::string listFolderMethods();

/// What of EAGLE's drafters the plain config of their layers does not say.
struct EagleConfig {
  std::string fuse; ///< Projects embedding and hidden state, or the taps.
  bool hasFuseBias = false;
  // EAGLE-3 alone, and of taps, columns and tokens blocks, too.
  /// Residual streams of the target, each by the layer that it enters; the
  /// number of layers is the stream in front of the final norm.
  std::vector<int64_t> taps;
  bool normBeforeResidual = false, normBeforeFuse = false;
  bool hasFuseNorms = false; ///< One for each tap.
  bool normOutput = false;   ///< What is fed back is normalised.
  /// Columns of the drafter's head, which stand for these tokens; empty where
  /// they are the target's.
  int64_t draftVocab = 0;
  std::vector<int32_t> tokens;
};

/// A pattern with a number in place of "{i}" or another name in brackets.
std::string numbered(std::string pattern, std::string_view name, int64_t i);

struct MedusaConfig {
  int64_t heads = 0, blocks = 0;
  /// Prefixes of head {i}'s blocks and of its output, and the key of block {l}
  /// in the first, without ".weight".
  std::string blocksPrefix, outputPrefix, block;
  bool hasBias = true;
};

/// What of DFlash and DSpark the plain config of their layers does not say.
struct BlockConfig {
  /// Rows of a block as it was trained, and how many tokens it drafts.
  int64_t rows = 0, drafts = 0;
  /// The token of all rows but the anchor's.
  int32_t mask = 0;
  /// Whether a row drafts the token behind it, not the one at its position.
  bool fromAnchor = false;
  /// Of the Markov head; 0: there is none.
  int64_t markovRank = 0;
  bool hasConfidence = false, hasConfidenceBias = false;
  /// The confidence head reads the Markov head's embedding of the token before.
  bool confidenceSeesMarkov = false;
};

/// What of drafters that draft all places in one pass their layers do not say.
struct ParallelConfig {
  /// What stands where drafts would.
  int32_t maskToken = 0;
  /// Of P-EAGLE the key of what stands where the target's taps would, and how
  /// many places it was trained for, 0 if that is not said.
  std::string maskHidden;
  int64_t depths = 0;
};

struct DrafterFolder {
  FolderMethod method = FolderMethod::Eagle;
  /// "the authors' format" and so on, for people.
  std::string format;
  /// The folder, and its weight files by path; none without weights.
  std::string path;
  std::vector<std::string> files;
  /// The layers; of Medusa the vocabulary and the hidden width alone.
  ModelConfig layers;
  /// What stands in front of all keys but the next two, and of each layer's.
  std::string root;
  std::vector<std::string> layerPrefixes;
  /// Tensors of the embedding and of the head, empty where the target's are
  /// taken.
  std::string embedding, head;
  EagleConfig eagle;
  MedusaConfig medusa;
  /// The drafts of a round that its config proposes; 0 where it does not say.
  int64_t proposed = 0;
  BlockConfig block;
  ParallelConfig parallel;
  /// How many heads there are that do not feed each other; 0 of other methods.
  int64_t heads() const {
    if (method == FolderMethod::Heads)
      return int64_t(layerPrefixes.size());
    return method == FolderMethod::Medusa ? medusa.heads : 0;
  }
  /// Whether the folder has its target's weights, too, under `key`.
  bool isTargets(std::string_view key) const;

  /// Whether it is the target's own folder.
  bool isInline = false;
  /// What is worth saying: conventions, defaults.
  std::vector<std::string> notes;

  /// Whether one pass fills a block of drafts whose rows see each other.
  bool isBlock() const {
    return method == FolderMethod::DFlash || method == FolderMethod::DSpark;
  }
};

/// Reads the drafter in `folder` for a target, and checks its widths,
/// vocabulary and taps. `method` overrides what it is recognised as. Without
/// weights config.json alone tells.
Result<DrafterFolder> readDrafterFolder(const std::string &folder,
                                        const ModelConfig &target,
                                        std::optional<FolderMethod> method,
                                        bool hasWeights);

/// The same from a config's text and its weights, which may be null.
Result<DrafterFolder> parseDrafter(std::string_view config,
                                   const WeightSet *weights,
                                   const ModelConfig &target,
                                   std::optional<FolderMethod> method);

} // namespace mtp::importer

#endif // MTP_COMPILER_IMPORT_DRAFTERFOLDER_H
