//===- EagleReader.cpp - Drafters of the EAGLE family ---------------------===//
//
// EAGLE-1 and HASS (SafeAILab/EAGLE's cnets1.py): fc [embedding; hidden],
// layers of which the first has no norm in front, no norm behind them, the
// target's head. EAGLE-3 (cnets.py; speculators' eagle3; vLLM's
// llama_eagle3.py): fc of the taps, a first layer that reads [embedding;
// state], a norm and a head of its own.
//
//===----------------------------------------------------------------------===//

#include "compiler/Import/ConfigFamilies.h"
#include "compiler/Import/DrafterReaders.h"

#include <algorithm>
#include <cstring>

namespace mtp::importer {

namespace {

constexpr int64_t kMostTaps = 16, kMostTokens = int64_t(1) << 24;

std::string list(const std::vector<int64_t> &numbers) {
  std::string text;
  for (int64_t number : numbers)
    text += (text.empty() ? "" : ", ") + std::to_string(number);
  return text;
}

bool isSpeculators(const DrafterSource &source) {
  return source.fields.has("transformer_layer_config");
}

/// The plain config of the layers, which speculators has in one of its own.
Status readLayers(DrafterSource &source, DrafterFolder &drafter) {
  std::optional<ConfigFields> inner =
      source.fields.child("transformer_layer_config");
  ConfigFields &fields = inner ? *inner : source.fields;
  std::string type = fields.textOr("model_type", "llama");
  // Some call themselves what they draft by; their layers are Llama's.
  if (type.find("eagle") != type.npos)
    type = "llama";
  MTP_RETURN_IF_ERROR(readFamily(fields, type, drafter.layers));
  drafter.format = inner ? "the speculators' format" : "the authors' format";
  if (source.contains("model.fc.weight"))
    drafter.format = "an engine's conversion";
  return okStatus();
}

/// Where keys begin, and what the layers' are called.
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
      drafter.method == FolderMethod::Eagle3 &&
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

/// What configs leave out and files show.
void findBiases(const DrafterSource &source, DrafterFolder &drafter) {
  if (!source.weights || !drafter.layers.gqa)
    return;
  GqaConfig &gqa = *drafter.layers.gqa;
  std::string attention =
      drafter.root + drafter.layerPrefixes.front() + "self_attn.";
  gqa.hasQkvBias = source.contains(attention + "q_proj.bias");
  gqa.hasOutputBias = source.contains(attention + "o_proj.bias");
  gqa.hasQkNorm = source.contains(attention + "q_norm.weight");
}

void noteRope(const DrafterSource &source, DrafterFolder &drafter) {
  const RopeConfig &own = drafter.layers.rope, &other = source.target.rope;
  if (own.theta == other.theta && own.scaling == other.scaling &&
      own.factor == other.factor)
    return;
  auto show = [](const RopeConfig &rope) {
    std::string text = std::to_string(rope.theta);
    text.erase(text.find_last_not_of('0') + 1);
    if (text.ends_with('.'))
      text.pop_back();
    return rope.scaling == RopeScalingKind::None ? text : text + " scaled";
  };
  drafter.notes.push_back("the drafter's rotary embedding has a theta of " +
                          show(own) + ", the target's " + show(other) +
                          "; each keeps its own");
}

Status checkCommon(const DrafterSource &source, const DrafterFolder &drafter) {
  const ModelConfig &target = source.target;
  MTP_RETURN_IF_ERROR(
      checkEqual("vocab_size", drafter.layers.vocab, target.vocab));
  bool isPlain =
      std::none_of(drafter.layers.layers.begin(), drafter.layers.layers.end(),
                   [](LayerKind kind) { return kind.isMoe; });
  if (!isPlain)
    return unimplemented("expected a drafter of dense layers, got experts");
  if (source.fields.has("target_hidden_size"))
    MTP_RETURN_IF_ERROR(
        checkEqual("target_hidden_size",
                   source.fields.integer("target_hidden_size", 1, kMostTokens),
                   target.hidden));
  return source.fields.status();
}

/// Norms that speculators' EAGLE-1 may have and nothing here computes.
Status refuseNorms(const DrafterSource &source) {
  for (const char *key : {"layernorms", "add_para_norm"})
    source.fields.expectFlag(key, false);
  return source.fields.status();
}

/// The taps, and which convention their numbers have.
Status readTaps(DrafterSource &source, DrafterFolder &drafter) {
  ConfigFields &fields = source.fields;
  int64_t layers = int64_t(source.target.layers.size());
  std::vector<int64_t> &taps = drafter.eagle.taps;
  std::string key, meaning = "counted by the layers that they enter";
  auto read = [&](ConfigFields &from, const char *name, const char *prefix) {
    if (!taps.empty() || !from.has(name))
      return;
    taps = from.integers(name, -1, kMostTokens);
    key = std::string(prefix) + name;
  };
  read(fields, "eagle_aux_hidden_state_layer_ids", "");
  read(fields, "aux_hidden_state_layer_ids", "");
  if (std::optional<ConfigFields> inner = fields.child("eagle_config")) {
    inner->expectFlag("use_aux_hidden_state", true);
    read(*inner, "eagle_aux_hidden_state_layer_ids", "eagle_config.");
    fields.adopt(*inner);
  }
  if (taps.empty() && fields.has("target_layer_ids")) {
    // DeepSpec counts outputs of layers, -1 for the embedding.
    read(fields, "target_layer_ids", "");
    meaning = "counted by the layers that put them out";
    for (int64_t &tap : taps)
      ++tap;
  }
  MTP_RETURN_IF_ERROR(fields.status());
  if (taps.empty()) {
    taps = {2, layers / 2, layers - 3};
    key = "none: 2, L / 2 and L - 3";
  }
  for (int64_t tap : taps)
    if (tap < 0 || tap > layers)
      return outOfRange(
          "config key \"" + key + "\": expected streams of a target of " +
          std::to_string(layers) + " layers, " + meaning +
          ", got the one that enters layer " + std::to_string(tap));
  if (taps.size() > size_t(kMostTaps))
    return outOfRange("config key \"" + key + "\": expected at most " +
                      std::to_string(kMostTaps) + " taps, got " +
                      std::to_string(taps.size()));
  drafter.notes.push_back("taps: the residual streams that enter layers " +
                          list(taps) + " (" + key + ", " + meaning + ")");
  return okStatus();
}

Result<int64_t> columnsOf(const WeightSet &weights, const std::string &key) {
  MTP_ASSIGN_OR_RETURN(TensorView tensor, weights.get(key));
  if (tensor.shape.size() != 2)
    return invalidArgument("weight \"" + key +
                           "\": expected a matrix, got a tensor of " +
                           std::to_string(tensor.shape.size()) + " dimensions");
  return tensor.shape[1];
}

Status checkTapWidth(const DrafterSource &source,
                     const DrafterFolder &drafter) {
  if (!source.weights)
    return okStatus();
  std::string key = drafter.root + drafter.eagle.fuse + ".weight";
  MTP_ASSIGN_OR_RETURN(int64_t width, columnsOf(*source.weights, key));
  int64_t taps = int64_t(drafter.eagle.taps.size());
  if (width == taps * source.target.hidden)
    return okStatus();
  return invalidArgument(
      "weight \"" + key + "\": expected " + std::to_string(taps) +
      " taps of the target's width " + std::to_string(source.target.hidden) +
      " in a row, got " + std::to_string(width) + " columns");
}

/// The tokens of the head's columns: column i is token i + d2t[i].
Status readTokens(const DrafterSource &source, DrafterFolder &drafter) {
  EagleConfig &eagle = drafter.eagle;
  if (!source.weights) { // Which tokens they are changes no shape.
    for (int64_t i = 0; i < eagle.draftVocab; ++i)
      eagle.tokens.push_back(int32_t(i));
    return okStatus();
  }
  MTP_ASSIGN_OR_RETURN(TensorView map, source.weights->get("d2t"));
  if (map.type != WeightType::I64 || map.shape.size() != 1 ||
      map.shape[0] != eagle.draftVocab)
    return invalidArgument(
        "weight \"d2t\": expected " + std::to_string(eagle.draftVocab) +
        " numbers of type I64, got " + std::string(toString(map.type)) +
        " of another shape");
  for (int64_t i = 0; i < eagle.draftVocab; ++i) {
    int64_t offset;
    std::memcpy(&offset, map.bytes.data() + size_t(i) * sizeof offset,
                sizeof offset);
    auto fail = [&](const std::string &expected) {
      return outOfRange("weight \"d2t\": expected " + expected +
                        ", got the offset " + std::to_string(offset) +
                        " at column " + std::to_string(i));
    };
    if (offset < -i || offset >= source.target.vocab - i)
      return fail("offsets to tokens below the target's vocab_size " +
                  std::to_string(source.target.vocab));
    int32_t token = int32_t(i + offset);
    if (!eagle.tokens.empty() && token == eagle.tokens.back())
      return fail("every token once");
    if (!eagle.tokens.empty() && token < eagle.tokens.back())
      return fail("ascending tokens");
    eagle.tokens.push_back(token);
  }
  return okStatus();
}

/// `t2d` marks the same tokens; it is redundant, and so a check.
Status checkKeptTokens(const DrafterSource &source,
                       const DrafterFolder &drafter) {
  if (!source.contains("t2d") || drafter.eagle.tokens.empty())
    return okStatus();
  MTP_ASSIGN_OR_RETURN(TensorView map, source.weights->get("t2d"));
  if (map.type != WeightType::Bool || map.shape.size() != 1 ||
      map.shape[0] != source.target.vocab)
    return invalidArgument("weight \"t2d\": expected " +
                           std::to_string(source.target.vocab) +
                           " flags of type BOOL");
  size_t next = 0;
  const std::vector<int32_t> &tokens = drafter.eagle.tokens;
  for (int64_t token = 0; token < map.shape[0]; ++token) {
    bool isKept = next < tokens.size() && tokens[next] == token;
    next += isKept;
    if (isKept != (map.bytes[size_t(token)] != 0))
      return invalidArgument("weight \"t2d\": expected the tokens of \"d2t\", "
                             "got another at " +
                             std::to_string(token));
  }
  return okStatus();
}

Status readVocabulary(DrafterSource &source, DrafterFolder &drafter) {
  int64_t vocab = source.target.vocab;
  drafter.eagle.draftVocab =
      source.fields.integerOr("draft_vocab_size", 1, vocab, vocab);
  MTP_RETURN_IF_ERROR(source.fields.status());
  if (drafter.eagle.draftVocab == vocab && !source.contains("d2t"))
    return okStatus();
  MTP_RETURN_IF_ERROR(readTokens(source, drafter));
  return checkKeptTokens(source, drafter);
}

void readNorms(DrafterSource &source, DrafterFolder &drafter) {
  EagleConfig &eagle = drafter.eagle;
  // The authors' code adds to the state as it is, and has no such key;
  // speculators' class says true where its config is silent.
  eagle.normBeforeResidual =
      source.fields.flagOr("norm_before_residual", isSpeculators(source));
  eagle.normBeforeFuse = source.fields.flagOr(
      "norm_before_fc", source.contains(drafter.root + "input_norm.weight"));
  eagle.hasFuseNorms = source.fields.flagOr(
      "fc_norm", source.contains(drafter.root + "fc_norm.0.weight"));
  eagle.normOutput = source.fields.flagOr("norm_output", false);
  if (eagle.normBeforeFuse && eagle.hasFuseNorms)
    source.fields.fail("fc_norm", "false beside \"norm_before_fc\"");
  drafter.notes.push_back(
      std::string("the first layer adds to the state ") +
      (eagle.normBeforeResidual ? "behind" : "in front of") +
      " its norm (norm_before_residual)");
}

} // namespace

Status checkEqual(const char *key, int64_t own, int64_t target) {
  if (own == target)
    return okStatus();
  return invalidArgument("config key \"" + std::string(key) +
                         "\": expected the target's " + std::to_string(target) +
                         ", got " + std::to_string(own));
}

Status readEagle(DrafterSource &source, DrafterFolder &drafter) {
  MTP_RETURN_IF_ERROR(refuseNorms(source));
  MTP_RETURN_IF_ERROR(readLayers(source, drafter));
  MTP_RETURN_IF_ERROR(checkCommon(source, drafter));
  MTP_RETURN_IF_ERROR(
      checkEqual("hidden_size", drafter.layers.hidden, source.target.hidden));
  findKeys(source, drafter);
  findBiases(source, drafter);
  // The authors' code has a bias unless told otherwise.
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
  MTP_RETURN_IF_ERROR(readTaps(source, drafter));
  MTP_RETURN_IF_ERROR(checkTapWidth(source, drafter));
  MTP_RETURN_IF_ERROR(readVocabulary(source, drafter));
  readNorms(source, drafter);
  noteRope(source, drafter);
  return source.fields.status();
}

} // namespace mtp::importer
