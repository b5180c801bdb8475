//===- EagleReader.cpp - Drafters of the EAGLE family ---------------------===//
//
// EAGLE-1 and HASS (SafeAILab/EAGLE's cnets1.py): fc [embedding; hidden],
// layers of which the first has no input norm, no norm after them, and the
// target's head. EAGLE-3 (cnets.py; speculators' eagle3; vLLM's
// llama_eagle3.py): fc of the taps, a first layer that reads [embedding;
// state], a norm and a head of its own.
//
//===----------------------------------------------------------------------===//

#include "compiler/Import/drafters/DrafterReaders.h"

namespace mtp::importer {

namespace {

/// Finds the prefixes of all keys and of the layers' keys.
void findKeys(const DrafterSource &source, DrafterFolder &drafter) {
  drafter.root = source.contains("model.fc.weight") ? "model." : "";
  const std::string &root = drafter.root;
  drafter.eagle.fuse = "fc";
  std::string first = "layers.0.";
  if (source.contains(root + "fusion_fc.weight")) {
    drafter.eagle.fuse = "fusion_fc";
    first = "transformer.";
  }
  bool isMiddle =
      drafter.method != FolderMethod::Eagle &&
      (source.weights ? source.contains(root + "midlayer.mlp.up_proj.weight")
                      : !isSpeculators(source));
  if (isMiddle)
    first = "midlayer.";
  drafter.layerPrefixes = {first};
  for (size_t i = 1; i < drafter.layers.layers.size(); ++i)
    drafter.layerPrefixes.push_back("layers." + std::to_string(i) + ".");
  std::string embedding = root + "embed_tokens.weight";
  if (source.contains(embedding))
    drafter.embedding = embedding;
  drafter.eagle.hasFuseBias =
      source.contains(root + drafter.eagle.fuse + ".bias");
}

/// Refuses the extra norms of speculators' EAGLE-1, which are not supported.
Status refuseNorms(const DrafterSource &source) {
  for (const char *key : {"layernorms", "add_para_norm"})
    source.fields.expectFlag(key, false);
  return source.fields.status();
}

void readNorms(DrafterSource &source, DrafterFolder &drafter) {
  EagleConfig &eagle = drafter.eagle;
  // The authors' code adds the state without a norm and has no such key. The
  // default of speculators' class is true. For P-EAGLE vLLM's default is false.
  eagle.normBeforeResidual = source.fields.flagOr(
      "norm_before_residual",
      isSpeculators(source) && drafter.method == FolderMethod::Eagle3);
  eagle.normBeforeFuse = source.fields.flagOr(
      "norm_before_fc", source.contains(drafter.root + "input_norm.weight"));
  eagle.hasFuseNorms = source.fields.flagOr(
      "fc_norm", source.contains(drafter.root + "fc_norm.0.weight"));
  eagle.normOutput = source.fields.flagOr("norm_output", false);
  if (eagle.normBeforeFuse && eagle.hasFuseNorms)
    source.fields.fail("fc_norm", "false beside \"norm_before_fc\"");
  drafter.notes.push_back(std::string("the first layer adds to the state ") +
                          (eagle.normBeforeResidual ? "after" : "before") +
                          " its norm (norm_before_residual)");
}

} // namespace

Status readEagle(DrafterSource &source, DrafterFolder &drafter) {
  MTP_RETURN_IF_ERROR(refuseNorms(source));
  MTP_RETURN_IF_ERROR(readLayers(source, drafter));
  MTP_RETURN_IF_ERROR(checkCommon(source, drafter));
  MTP_RETURN_IF_ERROR(
      checkEqual("hidden_size", drafter.layers.hidden, source.target.hidden));
  findKeys(source, drafter);
  findBiases(source, drafter);
  // The authors' code has a bias by default.
  if (!source.weights)
    drafter.eagle.hasFuseBias =
        source.fields.flagOr("bias", !isSpeculators(source)) &&
        source.fields.flagOr("fusion_bias", true);
  noteRope(source, drafter);
  return source.fields.status();
}

Status readEagle3(DrafterSource &source, DrafterFolder &drafter) {
  MTP_RETURN_IF_ERROR(readLayers(source, drafter));
  MTP_RETURN_IF_ERROR(checkCommon(source, drafter));
  findKeys(source, drafter);
  findBiases(source, drafter);
  if (drafter.embedding.empty())
    MTP_RETURN_IF_ERROR(
        checkEqual("hidden_size", drafter.layers.hidden, source.target.hidden));
  drafter.head = "lm_head.weight";
  int64_t layers = int64_t(source.target.layers.size());
  MTP_RETURN_IF_ERROR(readTaps(
      source, drafter, {{2, layers / 2, layers - 3}, "2, L / 2 and L - 3"}));
  MTP_RETURN_IF_ERROR(checkTapWidth(source, drafter));
  MTP_RETURN_IF_ERROR(readVocabulary(source, drafter));
  readNorms(source, drafter);
  noteRope(source, drafter);
  return source.fields.status();
}

} // namespace mtp::importer
