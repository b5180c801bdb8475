//===- SharedReader.cpp - Code that drafter readers share -----------------===//
//
// Layers with a plain config, taps of the target's residual streams, and heads
// with a reduced vocabulary.
//
//===----------------------------------------------------------------------===//

#include "compiler/Import/config/ConfigFamilies.h"
#include "compiler/Import/drafters/DrafterReaders.h"
#include "runtime/core/StrCat.h"

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

Result<int64_t> columnsOf(const WeightSet &weights, const std::string &key) {
  MTP_ASSIGN_OR_RETURN(TensorView tensor, weights.get(key));
  if (tensor.shape.size() != 2)
    return invalidArgument("weight \"" + key +
                           "\": expected a matrix, got a tensor of " +
                           std::to_string(tensor.shape.size()) + " dimensions");
  return tensor.shape[1];
}

/// Reads the token of each column of the head: column i is token i + d2t[i], or
/// token d2t[i] in GGUF.
Status readTokens(const DrafterSource &source, DrafterFolder &drafter) {
  EagleConfig &eagle = drafter.eagle;
  if (!source.weights) { // The choice of tokens changes no shape.
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
  bool hasTokens = source.fields.flagOr("d2t_holds_tokens", false);
  for (int64_t i = 0; i < eagle.draftVocab; ++i) {
    int64_t offset;
    std::memcpy(&offset, map.bytes.data() + size_t(i) * sizeof offset,
                sizeof offset);
    if (hasTokens && __builtin_sub_overflow(offset, i, &offset))
      offset = -1 - i;
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

/// Checks that the redundant `t2d` marks the tokens of `d2t`.
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

/// Checks that a target with `layers` layers has the taps. `where` names the
/// source of the taps in messages, and `meaning` says how they are counted.
Status checkTaps(const std::vector<int64_t> &taps, int64_t layers,
                 const std::string &where, const std::string &meaning) {
  for (int64_t tap : taps)
    if (tap < 0 || tap > layers)
      return outOfRange(strCat(where, "streams of a target of ", layers,
                               " layers, ", meaning,
                               ", got the one that enters layer ", tap));
  if (taps.size() > size_t(kMostTaps))
    return outOfRange(where + "at most " + std::to_string(kMostTaps) +
                      " taps, got " + std::to_string(taps.size()));
  return okStatus();
}

} // namespace

bool isSpeculators(const DrafterSource &source) {
  return source.fields.has("transformer_layer_config");
}

Status refuseRecurrence(const DrafterFolder &drafter) {
  if (!drafter.layers.recurrence())
    return okStatus();
  return unimplemented("config key \"model_type\": expected a drafter without "
                       "recurrent layers, whose states only a target's rows "
                       "carry on, got \"" +
                       drafter.layers.family + "\"");
}

Status readLayers(DrafterSource &source, DrafterFolder &drafter) {
  std::optional<ConfigFields> inner =
      source.fields.child("transformer_layer_config");
  ConfigFields &fields = inner ? *inner : source.fields;
  bool isBlock = drafter.isBlock();
  std::string family = isBlock ? "qwen3" : "llama";
  std::string type = fields.textOr("model_type", family);
  // Some configs name their drafting method as their type.
  for (const char *method : {"eagle", "dflash", "dspark"})
    if (type.find(method) != type.npos)
      type = family;
  MTP_RETURN_IF_ERROR(
      readFamily(fields, type, drafter.layers, /*seesAhead=*/isBlock));
  MTP_RETURN_IF_ERROR(refuseRecurrence(drafter));
  drafter.format = inner ? "the speculators' format" : "the authors' format";
  if (source.contains("model.fc.weight"))
    drafter.format = "an engine's conversion";
  return okStatus();
}

void findBiases(const DrafterSource &source, DrafterFolder &drafter) {
  const AttentionConfig *first = drafter.layers.attention();
  if (!source.weights || !first || !first->gqa)
    return;
  std::string attention =
      drafter.root + drafter.layerPrefixes.front() + "self_attn.";
  for (LayerConfig &layer : drafter.layers.layers) {
    GqaConfig &gqa = *layer.mixer.attention->gqa;
    gqa.hasQkvBias = source.contains(attention + "q_proj.bias");
    gqa.hasOutputBias = source.contains(attention + "o_proj.bias");
    gqa.hasQkNorm = source.contains(attention + "q_norm.weight");
  }
}

void noteRope(const DrafterSource &source, DrafterFolder &drafter) {
  const AttentionConfig *first = drafter.layers.attention(),
                        *targets = source.target.attention();
  if (!first || !targets)
    return;
  const RopeConfig &own = first->rope, &other = targets->rope;
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
  if (drafter.layers.moe())
    return unimplemented("expected a drafter of dense layers, got experts");
  if (source.fields.has("target_hidden_size"))
    MTP_RETURN_IF_ERROR(
        checkEqual("target_hidden_size",
                   source.fields.integer("target_hidden_size", 1, kMostTokens),
                   target.hidden));
  return source.fields.status();
}

Status readTaps(DrafterSource &source, DrafterFolder &drafter,
                const TapDefaults &absent) {
  ConfigFields &fields = source.fields;
  int64_t layers = int64_t(source.target.layers.size());
  std::vector<int64_t> &taps = drafter.eagle.taps;
  std::string key, meaning = "counted by the layers that they enter";
  auto read = [&](ConfigFields &from, const char *name, const char *prefix) {
    if (!taps.empty() || !from.has(name))
      return;
    taps = from.integers(name, -1, kMostTokens);
    key = std::string(prefix) + name;
    // Layers are named by their output; the embedding is -1.
    if (std::string_view(name) == "target_layer_ids") {
      meaning = "counted by the layers that put them out";
      for (int64_t &tap : taps)
        ++tap;
    }
  };
  read(fields, "eagle_aux_hidden_state_layer_ids", "");
  read(fields, "aux_hidden_state_layer_ids", "");
  if (std::optional<ConfigFields> inner = fields.child("eagle_config")) {
    inner->expectFlag("use_aux_hidden_state", true);
    read(*inner, "eagle_aux_hidden_state_layer_ids", "eagle_config.");
    fields.adopt(*inner);
  }
  if (std::optional<ConfigFields> inner = fields.child("dflash_config")) {
    read(*inner, "target_layer_ids", "dflash_config.");
    read(*inner, "layer_ids", "dflash_config.");
    fields.adopt(*inner);
  }
  read(fields, "target_layer_ids", "");
  MTP_RETURN_IF_ERROR(fields.status());
  std::string where = "config key \"" + key + "\": expected ";
  if (taps.empty()) {
    taps = absent.taps;
    key = "none: " + std::string(absent.meaning);
    where = "taps, which no key of the config names and are then " +
            std::string(absent.meaning) + ": expected ";
  }
  MTP_RETURN_IF_ERROR(checkTaps(taps, layers, where, meaning));
  drafter.notes.push_back("taps: the residual streams that enter layers " +
                          list(taps) + " (" + key + ", " + meaning + ")");
  return okStatus();
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

Status checkEqual(const char *key, int64_t own, int64_t target) {
  if (own == target)
    return okStatus();
  return invalidArgument("config key \"" + std::string(key) +
                         "\": expected the target's " + std::to_string(target) +
                         ", got " + std::to_string(own));
}

} // namespace mtp::importer
