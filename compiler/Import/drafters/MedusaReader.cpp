//===- MedusaReader.cpp - Medusa heads and draft models -------------------===//
//
// Head i (FasterDecoding/Medusa's medusa_model.py) is a series of residual
// blocks x + silu(W x + b), then a matrix to the vocabulary.
//
//===----------------------------------------------------------------------===//

#include "compiler/Import/checkpoint/Checkpoint.h"
#include "compiler/Import/config/ConfigFamilies.h"
#include "compiler/Import/drafters/DrafterReaders.h"

#include <algorithm>

namespace mtp::importer {

namespace {

constexpr int64_t kMostHeads = 16, kMostBlocks = 8, kMostWidth = 1 << 24;

/// Returns the number of consecutive keys of a pattern, numbered from 0.
int64_t count(const DrafterSource &source, const std::string &pattern) {
  int64_t n = 0;
  while (n <= kMostHeads && source.contains(numbered(pattern, "{i}", n)))
    ++n;
  return n;
}

void findMedusaKeys(DrafterSource &source, DrafterFolder &drafter) {
  MedusaConfig &medusa = drafter.medusa;
  if (source.contains("blocks.0.layers.0.weight")) {
    drafter.format = "an engine's conversion";
    medusa.blocksPrefix = "blocks.{i}.";
    medusa.block = "layers.{l}";
    medusa.outputPrefix = "lm_heads.{i}.";
    return;
  }
  drafter.format = "the authors' format";
  if (source.contains("medusa_head.0.0.linear.weight"))
    drafter.root = "medusa_head.";
  medusa.blocksPrefix = "{i}.";
  medusa.block = "{l}.linear";
  medusa.outputPrefix = "{i}." + std::to_string(medusa.blocks) + ".";
}

/// Refuses two features of vLLM's files: outputs for a reduced vocabulary,
/// listed in `token_map`, and one output for all heads.
Status refuseTokenMap(DrafterSource &source) {
  ConfigFields &fields = source.fields;
  if (source.contains("token_map"))
    return unimplemented("expected heads for all tokens, got the weight "
                         "\"token_map\", which lists some");
  int64_t vocab = source.target.vocab;
  int64_t few = fields.integerOr("truncated_vocab_size", 1, kMostWidth, vocab);
  fields.expectFlag("original_lm_head", false);
  MTP_RETURN_IF_ERROR(fields.status());
  return checkEqual("truncated_vocab_size", few, vocab);
}

/// Counts the heads in the files, or else reads their number from the config.
Status countHeads(DrafterSource &source, DrafterFolder &drafter) {
  MedusaConfig &medusa = drafter.medusa;
  std::string outputs = drafter.root + medusa.outputPrefix + "weight";
  // Configs of the first files have 2 heads beside tensors of 5 heads.
  if (source.weights)
    medusa.heads = count(source, outputs);
  if (medusa.heads >= 1 && medusa.heads <= kMostHeads)
    return okStatus();
  return outOfRange("expected 1 to " + std::to_string(kMostHeads) +
                    " heads \"" + outputs + "\", got " +
                    (medusa.heads < 1 ? "none" : "more"));
}

} // namespace

std::string numbered(std::string pattern, std::string_view name, int64_t i) {
  size_t at = pattern.find(name);
  return at == pattern.npos
             ? pattern
             : pattern.replace(at, name.size(), std::to_string(i));
}

Status readMedusa(DrafterSource &source, DrafterFolder &drafter) {
  ConfigFields &fields = source.fields;
  MedusaConfig &medusa = drafter.medusa;
  // vLLM's names, if the authors' are absent.
  bool isConverted = fields.has("num_heads") && !fields.has("medusa_num_heads");
  const char *headsKey = isConverted ? "num_heads" : "medusa_num_heads";
  const char *blocksKey =
      isConverted ? "num_hidden_layers" : "medusa_num_layers";
  MTP_RETURN_IF_ERROR(refuseTokenMap(source));
  medusa.heads = fields.integerOr(headsKey, 1, kMostHeads, 5);
  medusa.blocks = fields.integerOr(blocksKey, 1, kMostBlocks, 1);
  MTP_RETURN_IF_ERROR(fields.status());
  findMedusaKeys(source, drafter);
  MTP_RETURN_IF_ERROR(countHeads(source, drafter));
  std::string bias = drafter.root + numbered(medusa.blocksPrefix, "{i}", 0) +
                     numbered(medusa.block, "{l}", 0) + ".bias";
  medusa.hasBias = source.weights ? source.contains(bias)
                                  : fields.flagOr("medusa_fc_bias", true);
  ModelConfig &layers = drafter.layers;
  layers.hidden =
      fields.integerOr("hidden_size", 1, kMostWidth, source.target.hidden);
  layers.vocab =
      fields.integerOr("vocab_size", 1, kMostWidth, source.target.vocab);
  layers.storedType = source.target.storedType;
  MTP_RETURN_IF_ERROR(fields.status());
  MTP_RETURN_IF_ERROR(
      checkEqual("hidden_size", layers.hidden, source.target.hidden));
  return checkEqual("vocab_size", layers.vocab, source.target.vocab);
}

Status readDraftModel(DrafterSource &source, DrafterFolder &drafter) {
  MTP_RETURN_IF_ERROR(readFamily(
      source.fields, source.fields.text("model_type"), drafter.layers));
  MTP_RETURN_IF_ERROR(refuseRecurrence(drafter));
  drafter.format = "a model's format";
  if (source.weights)
    settleLayout(drafter.layers,
                 [&](const std::string &key) { return source.contains(key); });
  for (size_t i = 0; i < drafter.layers.layers.size(); ++i)
    drafter.layerPrefixes.push_back(layerPrefix(drafter.layers, int64_t(i)));
  const KeyLayout &keys = drafter.layers.keys();
  drafter.embedding = keys.embedding();
  drafter.head =
      drafter.layers.isTied || !(source.contains(keys.head) || !source.weights)
          ? drafter.embedding
          : keys.head;
  drafter.layers.drafter.modules = 0;
  return checkEqual("vocab_size", drafter.layers.vocab, source.target.vocab);
}

} // namespace mtp::importer
