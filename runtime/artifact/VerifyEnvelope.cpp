//===- VerifyEnvelope.cpp - Checks of the envelope ------------------------===//

#include "runtime/artifact/DTypes.h"
#include "runtime/artifact/SemanticVerifier.h"
#include "runtime/core/StrCat.h"
#include "runtime/schema/KvPage.h"
#include "runtime/schema/Limits.h"
#include "runtime/schema/LogitRules.h"
#include "runtime/schema/LoopLayout.h"
#include "runtime/schema/PlaceLayout.h"
#include "runtime/schema/PromptLayout.h"
#include "runtime/schema/SamplingLayout.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

using namespace mtp;

/// Maximum number of rounds of a launch.
static constexpr uint32_t kMostRounds = 1024;

static Status verifyLimit(const char *what, uint64_t value, uint64_t low,
                          uint64_t high) {
  if (value >= low && value <= high)
    return okStatus();
  return dataLoss(strCat("envelope.", what, ": expected ", low, " to ", high,
                         ", got ", value));
}

/// Checks the static tree: parents come before their children.
static Status verifyTree(const schema::Envelope &e) {
  uint32_t nodes = vectorSize(e.tree());
  if (nodes > mostNodes(e))
    return dataLoss(strCat("envelope.tree: expected at most ", mostNodes(e),
                           " nodes, got ", nodes));
  for (uint32_t node = 0; node < nodes; ++node) {
    int64_t parent = e.tree()->Get(node), least = node == 0 ? -1 : 0;
    if (parent < least || parent >= int64_t(node))
      return dataLoss(strCat("envelope.tree[", node, "]: expected ", least,
                             " to ", int64_t(node) - 1, ", got ", parent));
  }
  return okStatus();
}

static Status verifyLimits(const schema::Envelope &e) {
  MTP_RETURN_IF_ERROR(verifyLimit("max_k", e.max_k(), 0, kMostK));
  if (e.max_nodes() != 0)
    MTP_RETURN_IF_ERROR(
        verifyLimit("max_nodes", e.max_nodes(), e.max_k() + 1, kMostNodes));
  MTP_RETURN_IF_ERROR(verifyLimit("max_batch", e.max_batch(), 1, kMostSlots));
  if (e.max_rows() != 0)
    MTP_RETURN_IF_ERROR(verifyLimit("max_rows", e.max_rows(), e.max_batch(),
                                    uint64_t(e.max_batch()) * kMostNodes));
  MTP_RETURN_IF_ERROR(
      verifyLimit("max_context", e.max_context(), kLeastContext, kMostContext));
  MTP_RETURN_IF_ERROR(
      verifyLimit("prefill_chunk", e.prefill_chunk(), 1, kMostChunk));
  MTP_RETURN_IF_ERROR(
      verifyLimit("page_tokens", e.page_tokens(), 1, kMostPageTokens));
  if (!std::has_single_bit(e.page_tokens()))
    return dataLoss(
        strCat("envelope.page_tokens: expected a power of two, got ",
               e.page_tokens()));
  MTP_RETURN_IF_ERROR(verifyTree(e));
  return verifyLimit("vocab", e.vocab(), 1, kMostTokens);
}

//===----------------------------------------------------------------------===//
// States
//===----------------------------------------------------------------------===//

namespace {
/// The host's requirements on a state. A dimension of 0 stands for any size.
struct Need {
  std::string name;
  schema::DType dtype;
  std::vector<uint64_t> shape;
  /// Whether the state may be absent.
  bool isOptional = false;
  bool isShared = false;
};
} // namespace

static bool hasShape(const State &state, const Need &need) {
  bool same =
      state.dtype == need.dtype && state.shape.size() == need.shape.size();
  for (size_t d = 0; same && d < need.shape.size(); ++d)
    same = need.shape[d] == 0 || need.shape[d] == state.shape[d];
  return same;
}

static Status verifyState(const Artifact &artifact, const Need &need) {
  std::optional<uint32_t> index = artifact.findState(need.name);
  if (!index && need.isOptional)
    return okStatus();
  if (!index)
    return dataLoss(strCat("states: expected one named '", need.name, "'"));
  const State &state = artifact.states[*index];
  std::string where = strCat("states[", *index, "] '", need.name, "': ");
  if (!hasShape(state, need))
    return dataLoss(
        strCat(where, "expected ", tensorTypeName(need.dtype, need.shape),
               " (0: any), got ", tensorTypeName(state.dtype, state.shape)));
  if (state.rule.shared != need.isShared)
    return dataLoss(strCat(where, "expected one ",
                           need.isShared ? "for all slots" : "per slot"));
  if (state.rule.input)
    return dataLoss(strCat(where, "expected no input of requests"));
  return okStatus();
}

/// Returns the needs for the states of prompts.
static std::vector<Need> promptNeeds(const Artifact &artifact) {
  const schema::Envelope &e = *artifact.envelope;
  uint64_t chunk = e.prefill_chunk(), places = uint64_t(artifact.ahead) + 1;
  auto shared = [](const char *name, std::vector<uint64_t> shape) {
    return Need{name, schema::DType::I32, std::move(shape), true, true};
  };
  return {shared("prompt_tokens", {places, chunk}),
          shared("prompt_positions", {places, chunk}),
          shared("prompt_slots", {chunk}),
          shared("prompt_sequences", {kPromptWords, e.max_batch()})};
}

/// Returns how many positions ahead a prefill reads, from the shape of
/// `prompt_tokens`. If the shape is wrong, returns more than is allowed.
static uint64_t placesAhead(const State &promptTokens) {
  constexpr uint64_t kNone = UINT32_MAX;
  const std::vector<uint64_t> &shape = promptTokens.shape;
  return shape.empty() || shape[0] == 0 ? kNone : shape[0] - 1;
}

/// Checks the states for several rounds per launch: all of them exist, or none.
static Status verifyRing(Artifact &artifact) {
  using schema::DType;
  std::optional<uint32_t> ring = artifact.findState("ring");
  if (!ring)
    return okStatus();
  uint64_t s = artifact.envelope->max_batch();
  uint64_t entry = uint64_t(artifact.envelope->max_k()) + 2;
  for (const Need &need : {Need{"ring", DType::I32, {s, 0, entry}},
                           Need{"loop", DType::I32, {s, kLoopWords}},
                           Need{"stop_tokens", DType::I32, {s, kStopTokens}}})
    MTP_RETURN_IF_ERROR(verifyState(artifact, need));
  uint64_t rounds = artifact.states[*ring].shape[1], most = kMostRounds;
  // The confidences of a launch have a place for each round.
  if (artifact.findState("shown_confidence"))
    most = kRingRounds;
  if (rounds < 1 || rounds > most)
    return dataLoss(strCat("states[", *ring, "] 'ring': expected 1 to ", most,
                           " rounds, got ", rounds));
  artifact.maxRounds = uint32_t(rounds);
  return okStatus();
}

static Status verifyStates(Artifact &artifact) {
  const schema::Envelope &e = *artifact.envelope;
  using schema::DType;
  uint64_t s = e.max_batch(), tokens = uint64_t(e.max_k()) + 1;
  uint64_t pages = pagesPerSlot(e.max_context(), e.page_tokens());
  std::optional<uint32_t> prompt = artifact.findState("prompt_tokens");
  if (!prompt)
    return dataLoss("states: expected one named 'prompt_tokens'");
  uint64_t ahead = placesAhead(artifact.states[*prompt]);
  if (ahead > kMostPlacesAhead)
    return dataLoss(strCat("states: expected 'prompt_tokens' of a chunk with "
                           "at most ",
                           kMostPlacesAhead, " places ahead"));
  artifact.ahead = uint32_t(ahead);
  std::vector<Need> needs = promptNeeds(artifact);
  needs.push_back({"active", DType::I32, {s}, true, true});
  needs.push_back({"length", DType::I32, {s}, true});
  needs.push_back({"page_table", DType::I32, {s, pages}, true});
  needs.push_back({"sampling", DType::I32, {s, kSamplingWords}, true});
  needs.push_back({"draft_limit", DType::I32, {s}, true});
  needs.push_back(
      {"shown_confidence", DType::F32, {s, kRingRounds, e.max_k()}, true});
  needs.push_back(
      {"drafter_places", DType::I32, {s, e.max_k(), kPlaceWords}, true});
  needs.push_back({"logit_rules", DType::I32, {s, kRuleWords}, true});
  needs.push_back(
      {"token_counts", DType::I32, {s, countWords(e.vocab())}, true});
  needs.push_back({"logit_bias", DType::I32, {s, e.vocab()}, true});
  needs.push_back(
      {"logit_masks",
       DType::I32,
       {s, std::min<uint64_t>(mostNodes(e), kMostMasks), maskWords(e.vocab())},
       true});
  needs.push_back({"host_drafts", DType::I32, {s, mostNodes(e)}, true});
  needs.push_back({"out_tokens", DType::I32, {s, tokens}});
  needs.push_back({"out_count", DType::I32, {s}});
  for (const Need &need : needs)
    MTP_RETURN_IF_ERROR(verifyState(artifact, need));
  return verifyRing(artifact);
}

//===----------------------------------------------------------------------===//
// Generation
//===----------------------------------------------------------------------===//

static Status verifyGeneration(const Artifact &artifact) {
  const schema::Generation *generation = artifact.generation;
  uint32_t vocab = artifact.envelope->vocab();
  if (!generation)
    return okStatus();
  if (generation->bos() < -1 || generation->bos() >= int64_t(vocab))
    return dataLoss(strCat("generation.bos: token ", generation->bos(),
                           " is outside the vocabulary of ", vocab));
  for (uint32_t i = 0; i < vectorSize(generation->eos()); ++i) {
    int32_t token = generation->eos()->Get(i);
    if (token < 0 || uint32_t(token) >= vocab)
      return dataLoss(strCat("generation.eos[", i, "]: token ", token,
                             " is outside the vocabulary of ", vocab));
  }
  // Requests have the same limits: a default out of range would make all fail.
  auto check = [](const char *key, float value, bool isInRange,
                  const char *range) {
    return isInRange ? okStatus()
                     : dataLoss(strCat("generation.", key, ": expected ", range,
                                       ", got ", value));
  };
  float temperature = generation->temperature(), topP = generation->top_p(),
        minP = generation->min_p();
  MTP_RETURN_IF_ERROR(check("temperature", temperature,
                            std::isfinite(temperature) && temperature >= 0,
                            "0 or more"));
  MTP_RETURN_IF_ERROR(check("top_p", topP, topP > 0 && topP <= 1,
                            "a number above 0 and up to 1"));
  MTP_RETURN_IF_ERROR(
      check("min_p", minP, minP >= 0 && minP <= 1, "a number of 0 to 1"));
  float repetition = generation->repetition_penalty();
  MTP_RETURN_IF_ERROR(check("repetition_penalty", repetition,
                            std::isfinite(repetition) && repetition > 0,
                            "a number above 0"));
  if (repetition != 1 && !artifact.findState(kLogitRules))
    return dataLoss(strCat("generation.repetition_penalty: expected 1 in an "
                           "artifact without the state 'logit_rules', got ",
                           repetition));
  if (generation->top_k() > uint32_t(INT32_MAX))
    return dataLoss(strCat("generation.top_k: expected a number below 2^31, "
                           "got ",
                           generation->top_k()));
  return okStatus();
}

Status mtp::verifyEnvelope(Artifact &artifact) {
  if (!artifact.envelope)
    return okStatus();
  MTP_RETURN_IF_ERROR(verifyLimits(*artifact.envelope));
  MTP_RETURN_IF_ERROR(verifyStates(artifact));
  return verifyGeneration(artifact);
}
