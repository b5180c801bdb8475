//===- HeadsReader.cpp - Heads that are layers ----------------------------===//
//
// Meta's multi-token prediction (arXiv:2404.19737; the model card of
// facebook/multi-token-prediction): `layers.*` are the trunk and the next-token
// head, `extra_heads.{i}.*` the layers of the heads for the tokens after it.
// Each head reads the input of the last of `layers`, and ends in the model's
// own norm and output matrix.
//
//===----------------------------------------------------------------------===//

#include "compiler/Import/config/MetaConfig.h"
#include "compiler/Import/drafters/DrafterReaders.h"

#include <algorithm>

namespace mtp::importer {

namespace {

constexpr int64_t kMostHeads = 16, kMostNumber = int64_t(1) << 24;

std::string headPrefix(int64_t head) {
  return std::string(kHeadsRoot) + std::to_string(head) + ".";
}

/// Returns the width of the feed-forward part from the file, or else from the
/// config.
Result<int64_t> readWidth(DrafterSource &source, int64_t dim) {
  if (!source.weights)
    return readMetaWidth(source.fields, dim);
  MTP_ASSIGN_OR_RETURN(
      TensorView w1,
      source.weights->get(headPrefix(0) + "feed_forward.w1.weight"));
  if (w1.shape.size() == 2 && w1.shape[0] >= 1 && w1.shape[0] <= kMostNumber)
    return w1.shape[0];
  return invalidArgument(
      "weight \"" + headPrefix(0) +
      "feed_forward.w1.weight\": expected a matrix of 1 to " +
      std::to_string(kMostNumber) + " rows");
}

/// Returns the number of heads besides the target's own.
Result<int64_t> countHeads(DrafterSource &source) {
  ConfigFields &fields = source.fields;
  int64_t said = fields.integerOr("n_future_tokens", 2, kMostHeads + 1, 4) - 1;
  MTP_RETURN_IF_ERROR(fields.status());
  if (!source.weights)
    return said;
  int64_t count = 0;
  while (count <= kMostHeads &&
         source.contains(headPrefix(count) + "attention.wq.weight"))
    ++count;
  if (count < 1 || count > kMostHeads)
    return outOfRange("expected 1 to " + std::to_string(kMostHeads) +
                      " heads \"" + std::string(kHeadsRoot) + "{i}.\", got " +
                      (count < 1 ? "none" : "more"));
  if (fields.has("n_future_tokens") && count != said)
    fields.fail("n_future_tokens",
                std::to_string(count + 1) + ", one more than the " +
                    std::to_string(count) + " heads of the file");
  return count;
}

/// Checks the target's number of layers, which may include the heads or not. A
/// trunk and n heads have the layers of a model without heads.
void checkLayers(DrafterSource &source, int64_t heads) {
  int64_t own = int64_t(source.target.layers.size());
  int64_t said = source.fields.integerOr("n_layers", 1, kMostNumber, own);
  if (source.fields.status().isOk() && said != own && said != own + heads)
    source.fields.fail("n_layers",
                       "the target's " + std::to_string(own) + " layers, or " +
                           std::to_string(own + heads) + " with the heads");
}

} // namespace

bool DrafterFolder::isTargets(std::string_view key) const {
  if (method != FolderMethod::Heads)
    return false;
  constexpr std::string_view kTrunk[] = {"tok_embeddings.weight", "norm.weight",
                                         "output.weight", "rope.freqs"};
  return key.starts_with("layers.") ||
         std::find(std::begin(kTrunk), std::end(kTrunk), key) !=
             std::end(kTrunk);
}

Status readHeads(DrafterSource &source, DrafterFolder &drafter) {
  ConfigFields &fields = source.fields;
  const ModelConfig &target = source.target;
  ModelConfig &layers = drafter.layers;
  drafter.format = "Meta's format";
  layers.hidden = fields.integer("dim", 1, kMostNumber);
  MTP_RETURN_IF_ERROR(fields.status());
  MTP_RETURN_IF_ERROR(checkEqual("dim", layers.hidden, target.hidden));
  // Llama's files have -1 here: the tokenizer decides.
  layers.vocab = target.vocab;
  if (int64_t vocab =
          fields.integerOr("vocab_size", -1, kMostNumber, target.vocab);
      fields.status().isOk() && vocab != -1)
    MTP_RETURN_IF_ERROR(checkEqual("vocab_size", vocab, target.vocab));
  layers.storedType = target.storedType;
  readMetaLayers(fields, layers);
  MTP_RETURN_IF_ERROR(fields.status());
  MTP_ASSIGN_OR_RETURN(layers.intermediate, readWidth(source, layers.hidden));
  MTP_ASSIGN_OR_RETURN(int64_t heads, countHeads(source));
  checkLayers(source, heads);
  layers.layers.resize(size_t(heads));
  for (int64_t i = 0; i < heads; ++i)
    drafter.layerPrefixes.push_back(headPrefix(i));
  int64_t last = int64_t(target.layers.size()) - 1;
  drafter.eagle.taps = {last};
  drafter.notes.push_back(
      "heads read what enters layer " + std::to_string(last) +
      ", the target's last; head 1 drafts the token after the anchor");
  return fields.status();
}

} // namespace mtp::importer
