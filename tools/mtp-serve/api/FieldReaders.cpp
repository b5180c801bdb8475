//===- FieldReaders.cpp - Read how a request is sampled -------------------===//

#include "tools/mtp-serve/api/FieldReaders.h"
#include "runtime/core/StrCat.h"
#include "runtime/profile/Acceptance.h"
#include "tools/mtp-serve/api/sampling/ResumedScores.h"

#include <algorithm>

using namespace mtp;
using namespace mtp::serve;
using simdjson::dom::array;
using simdjson::dom::object;

static MaybeError model(std::string_view field, const JsonElement &element,
                        Reading &to) {
  return readText(field, element, to.request.model);
}

static MaybeError temperature(std::string_view field,
                              const JsonElement &element, Reading &to) {
  return readNumber(field, element, 0, 100, to.request.sampling.temperature);
}

static MaybeError topP(std::string_view field, const JsonElement &element,
                       Reading &to) {
  float &value = to.request.sampling.topP;
  MaybeError error = readNumber(field, element, 0, 1, value);
  // A share of 0 keeps the likeliest token, as the smallest share does.
  value = std::max(value, 1e-6f);
  return error;
}

static MaybeError minP(std::string_view field, const JsonElement &element,
                       Reading &to) {
  return readNumber(field, element, 0, 1, to.request.sampling.minP);
}

static MaybeError topK(std::string_view field, const JsonElement &element,
                       Reading &to) {
  int64_t value = 0;
  // Some clients send -1 for "all".
  if (MaybeError error = readInteger(field, element, -1, INT32_MAX, value))
    return error;
  to.request.sampling.topK = uint32_t(std::max<int64_t>(value, 0));
  return std::nullopt;
}

static MaybeError seed(std::string_view field, const JsonElement &element,
                       Reading &to) {
  uint64_t whole = 0;
  int64_t value = 0;
  if (getWhole(element, whole))
    to.request.sampling.seed = whole;
  else if (getWhole(element, value))
    to.request.sampling.seed = uint64_t(value);
  else
    return expected(field, "a whole number of 64 bits", element);
  to.request.hasSeed = true;
  return std::nullopt;
}

/// Reads a whole number in a range into a member of the request.
template <typename T>
static MaybeError readMember(std::string_view field, const JsonElement &element,
                             int64_t least, int64_t most, T &member) {
  int64_t value = 0;
  if (MaybeError error = readInteger(field, element, least, most, value))
    return error;
  member = T(value);
  return std::nullopt;
}

static MaybeError maxTokens(std::string_view field, const JsonElement &element,
                            Reading &to) {
  int64_t value = 0;
  // llama-server: -1 is the rest of the context, and 0 evaluates the prompt.
  // The room in the context is known only with the prompt.
  if (MaybeError error = readInteger(field, element, to.facts.isStrict ? 1 : -1,
                                     INT32_MAX, value))
    return error;
  // The older names count only if the newer is absent, as in vLLM.
  if (field != "max_completion_tokens" && to.request.maxTokens)
    return std::nullopt;
  to.request.maxTokens =
      value < 0 ? GenerationRequest::kRestOfContext : uint32_t(value);
  to.request.maxTokensField = field;
  return std::nullopt;
}

static MaybeError minTokens(std::string_view field, const JsonElement &element,
                            Reading &to) {
  return readMember(field, element, 0, to.facts.maxContext,
                    to.request.minTokens);
}

static MaybeError priority(std::string_view field, const JsonElement &element,
                           Reading &to) {
  return readMember(field, element, INT32_MIN, INT32_MAX, to.request.priority);
}

static MaybeError cacheSalt(std::string_view field, const JsonElement &element,
                            Reading &to) {
  std::string &salt = to.request.cacheSalt;
  if (MaybeError error = readText(field, element, salt))
    return error;
  if (salt.empty() || salt.size() > Request::kMaxSalt)
    return wrongField(std::string(field),
                      strCat("expected 'cache_salt' to have 1 to ",
                             Request::kMaxSalt, " bytes, got ", salt.size()));
  return std::nullopt;
}

static MaybeError kind(std::string_view field, const JsonElement &element,
                       Reading &to) {
  std::string &name = to.request.kind;
  if (MaybeError error = readText(field, element, name))
    return error;
  if (!profile::isKindName(name))
    return expected(field, "1 to 32 letters, digits, '-' and '_'", element);
  return std::nullopt;
}

static MaybeError timeout(std::string_view field, const JsonElement &element,
                          Reading &to) {
  MaybeError error = readNumber(field, element, 0, 1e6, to.request.timeout);
  if (!error && to.request.timeout == 0)
    return expected(field, "seconds above 0", element);
  return error;
}

static MaybeError answers(std::string_view field, const JsonElement &element,
                          Reading &to) {
  return readMember(field, element, 1, GenerationRequest::kMaxChoices,
                    to.request.n);
}

static MaybeError drafts(std::string_view field, const JsonElement &element,
                         Reading &to) {
  std::string_view text;
  if (!element.get(text) && text == "auto") {
    to.request.k = Request::kAutomatic;
    return std::nullopt;
  }
  int64_t value = 0;
  uint32_t most = to.facts.maxK;
  if (!getWhole(element, value) || value < 0 || value > most)
    return expected(field,
                    strCat("a whole number of 0 to ", most, " or \"auto\""),
                    element);
  to.request.k = uint32_t(value);
  return std::nullopt;
}

static MaybeError draftPMin(std::string_view field, const JsonElement &element,
                            Reading &to) {
  float least = 0;
  MaybeError error = readNumber(field, element, 0, 1, least);
  // Clients of llama-server send its name to any model.
  if (!error && (field == "draft_p_min" || to.facts.endsDrafts))
    to.request.draftPMin = least;
  return error;
}

static MaybeError stop(std::string_view field, const JsonElement &element,
                       Reading &to) {
  std::vector<std::string> &stops = to.request.stops;
  array list;
  if (element.get(list)) {
    if (MaybeError error = readText(field, element, stops.emplace_back()))
      return expected(field, "a string or an array of strings", element);
  } else {
    for (JsonElement item : list) {
      if (MaybeError error = readText(field, item, stops.emplace_back()))
        return error;
      if (stops.size() > GenerationRequest::kMaxStops)
        return wrongField(std::string(field),
                          strCat("expected 'stop' to have at most ",
                                 GenerationRequest::kMaxStops, " strings, got ",
                                 list.size()));
    }
  }
  for (const std::string &text : stops)
    if (text.empty() || text.size() > GenerationRequest::kMaxStopBytes)
      return wrongField(std::string(field),
                        strCat("expected strings of 'stop' to have 1 to ",
                               GenerationRequest::kMaxStopBytes, " bytes, got ",
                               text.size()));
  if (!to.facts.tokenizer && !stops.empty())
    return wrongField(std::string(field),
                      "expected no 'stop' strings, for the model has no "
                      "tokenizer; give 'stop_token_ids'");
  return std::nullopt;
}

static MaybeError stopTokens(std::string_view field, const JsonElement &element,
                             Reading &to) {
  return readIds(field, element, int64_t(to.facts.vocab) - 1,
                 to.request.stopTokens);
}

static MaybeError streamOptions(std::string_view field,
                                const JsonElement &element, Reading &to) {
  object options;
  if (element.get(options))
    return expected(field, "an object", element);
  for (auto [key, value] : options) {
    std::string name = strCat(field, ".", key);
    bool isEach = key == "continuous_usage_stats";
    if (value.is_null() || key == "include_obfuscation")
      continue;
    if (key != "include_usage" && !isEach) {
      if (MaybeError error = ignoreField(name, to))
        return error;
      continue;
    }
    bool &flag = isEach ? to.request.hasUsageInAll : to.request.includesUsage;
    if (MaybeError error = readFlag(name, value, flag))
      return error;
  }
  return std::nullopt;
}

namespace {
/// A sampler of llama-server: its name, its letter, and the flag that turns it
/// off, or null if this server has it as a parameter that is off.
struct SamplerName {
  std::string_view name;
  char letter;
  bool GenerationRequest::Samplers::*flag;
};
} // namespace

/// llama-server's samplers in its order, which the others must follow.
static constexpr SamplerName kSamplers[] = {
    {"penalties", 'e', nullptr},
    {"dry", 'd', nullptr},
    {"top_n_sigma", 's', nullptr},
    {"top_k", 'k', &GenerationRequest::Samplers::topK},
    {"typ_p", 'y', nullptr},
    {"top_p", 'p', &GenerationRequest::Samplers::topP},
    {"min_p", 'm', &GenerationRequest::Samplers::minP},
    {"xtc", 'x', nullptr},
    {"temperature", 't', &GenerationRequest::Samplers::temperature},
};

/// Reads the names of samplers, or a text of their letters. Samplers that are
/// not among them are off.
static MaybeError samplers(std::string_view field, const JsonElement &element,
                           Reading &to) {
  array list;
  std::vector<std::string> names;
  std::string_view letters;
  if (!element.get(letters)) {
    for (char letter : letters)
      names.emplace_back(1, letter);
  } else {
    if (element.get(list))
      return expected(field, "an array of samplers", element);
    for (JsonElement item : list)
      if (MaybeError error = readText(field, item, names.emplace_back()))
        return error;
  }
  to.request.samplers = {false, false, false, false};
  const SamplerName *last = std::ranges::begin(kSamplers);
  for (const std::string &name : names) {
    auto found = std::ranges::find_if(kSamplers, [&](const SamplerName &s) {
      return s.name == name || std::string_view(&s.letter, 1) == name;
    });
    if (found == std::ranges::end(kSamplers) || found < last)
      return wrongField(
          std::string(field),
          strCat("expected samplers of llama-server in its order (top_k, "
                 "top_p, min_p, temperature), got '",
                 name, found < last ? "' out of order" : "'"));
    if (found->flag)
      to.request.samplers.*found->flag = true;
    last = found;
  }
  return std::nullopt;
}

/// Reads the members that llama-server's last object is to have.
static MaybeError responseFields(std::string_view field,
                                 const JsonElement &element, Reading &to) {
  array list;
  std::vector<std::string> &names = to.request.responseFields;
  if (element.get(list) || list.size() > GenerationRequest::kMaxResponseFields)
    return expected(field,
                    strCat("an array of at most ",
                           GenerationRequest::kMaxResponseFields, " strings"),
                    element);
  for (JsonElement item : list)
    if (MaybeError error = readText(field, item, names.emplace_back()))
      return error;
  if (to.request.form != AnswerForm::Native && !names.empty())
    return wrongField(
        std::string(field),
        strCat("expected no '", field, "', which only /completion takes"));
  return std::nullopt;
}

MaybeError serve::ignoreField(std::string_view field, Reading &to) {
  if (to.facts.isStrict)
    return wrongField(std::string(field), strCat("expected no '", field,
                                                 "', which is not known here"));
  to.request.ignored.emplace_back(field);
  return std::nullopt;
}

const Field *serve::findField(std::span<const Field> fields,
                              std::string_view name) {
  auto found = std::ranges::find(fields, name, &Field::name);
  return found == fields.end() ? nullptr : &*found;
}

//===----------------------------------------------------------------------===//
// Streams that another server has begun
//===----------------------------------------------------------------------===//

/// Reads how an answer has ended.
static MaybeError readFinish(std::string_view field, const JsonElement &element,
                             FinishReason &finish) {
  std::string_view name;
  if (element.get(name) || (name != "stop" && name != "length"))
    return expected(field, "'stop' or 'length'", element);
  finish = name == "stop" ? FinishReason::Stop : FinishReason::Length;
  return std::nullopt;
}

static MaybeError errorIn(const std::string &field, const Status &status) {
  if (status.isOk())
    return std::nullopt;
  return wrongField(field, std::string(status.message()));
}

/// Reads {"tokens": [1, 2], "finish": "stop"}, or null.
static MaybeError readAnswer(const std::string &field,
                             const JsonElement &element, const Reading &to,
                             std::optional<BegunAnswer> &answer) {
  if (element.is_null())
    return std::nullopt;
  object members;
  if (element.get(members))
    return expected(field, "an object or null", element);
  answer.emplace();
  for (auto [key, value] : members) {
    std::string name = strCat(field, ".", key);
    MaybeError error;
    if (key == "tokens")
      error = readIds(name, value, int64_t(to.facts.vocab) - 1, answer->tokens);
    else if (key == "scores")
      error = errorIn(name,
                      readResumedScores(value, to.facts.vocab, answer->scores));
    else if (key == "finish")
      error = readFinish(name, value, answer->finish);
    else
      error = wrongField(name,
                         strCat("expected 'tokens', 'scores' or 'finish' in '",
                                field, "', got '", key, "'"));
    if (error)
      return error;
  }
  if (MaybeError error =
          errorIn(strCat(field, ".scores"),
                  pairResumedScores(answer->tokens, answer->scores)))
    return error;
  if (answer->tokens.size() > to.facts.maxContext)
    return wrongField(strCat(field, ".tokens"),
                      strCat("expected at most ", to.facts.maxContext,
                             " tokens, got ", answer->tokens.size()));
  return std::nullopt;
}

static MaybeError readAnswers(const std::string &field,
                              const JsonElement &element, const Reading &to,
                              Resumption &resumption) {
  array list;
  if (element.get(list) || list.size() > GenerationRequest::kMaxChoices)
    return expected(field,
                    strCat("an array of at most ",
                           GenerationRequest::kMaxChoices, " answers"),
                    element);
  for (JsonElement item : list) {
    std::string name = strCat(field, "[", resumption.answers.size(), "]");
    if (MaybeError error =
            readAnswer(name, item, to, resumption.answers.emplace_back()))
      return error;
  }
  return std::nullopt;
}

static MaybeError readResumeMember(std::string_view key,
                                   const std::string &name,
                                   const JsonElement &value, const Reading &to,
                                   Resumption &resumption) {
  if (key == "answers")
    return readAnswers(name, value, to, resumption);
  uint64_t number = 0;
  if (!getWhole(value, number))
    return expected(name, "a whole number of 0 or more", value);
  if (key == "seed")
    resumption.seed = number;
  else if (key == "created")
    resumption.created = number;
  else if (key == "events")
    resumption.events = number;
  else
    return wrongField(name, strCat("expected 'seed', 'created', 'events' or "
                                   "'answers' in 'resume', got '",
                                   key, "'"));
  return std::nullopt;
}

/// Reads the field "resume". A server without --replica ignores the field, like
/// an unknown one.
static MaybeError resume(std::string_view field, const JsonElement &element,
                         Reading &to) {
  if (!to.facts.isReplica)
    return ignoreField(field, to);
  object members;
  if (element.get(members))
    return expected(field, "an object", element);
  Resumption &resumption = to.request.resume.emplace();
  for (auto [key, value] : members)
    if (MaybeError error = readResumeMember(key, strCat(field, ".", key), value,
                                            to, resumption))
      return error;
  return std::nullopt;
}

static constexpr Field kSamplingFields[] = {
    {"model", model},
    {"max_tokens", maxTokens},
    {"max_completion_tokens", maxTokens},
    {"n_predict", maxTokens},
    {"num_predict", maxTokens},
    {"max_new_tokens", maxTokens},
    {"max_output_tokens", maxTokens},
    {"temperature", temperature},
    {"top_p", topP},
    {"top_k", topK},
    {"min_p", minP},
    {"seed", seed},
    {"stop", stop},
    {"stop_sequences", stop},
    {"stop_token_ids", stopTokens},
    {"n", answers},
    {"n_cmpl", answers},
    {"k", drafts},
    {"draft_p_min", draftPMin},
    {"speculative.p_min", draftPMin},
    {"min_tokens", minTokens},
    {"priority", priority},
    {"timeout", timeout},
    {"cache_salt", cacheSalt},
    {"kind", kind},
    {"ignore_eos", readFlagField<&GenerationRequest::ignoreEos>},
    {"skip_special_tokens",
     readFlagField<&GenerationRequest::skipSpecialTokens>},
    {"return_token_ids", readFlagField<&GenerationRequest::returnsIds>},
    {"return_tokens", readFlagField<&GenerationRequest::returnsIds>},
    {"return_round_tokens", readFlagField<&GenerationRequest::returnsRounds>},
    {"stream", readFlagField<&GenerationRequest::streams>},
    {"stream_options", streamOptions},
    {"include_stop_str_in_output",
     readFlagField<&GenerationRequest::keepsStop>},
    {"timings_per_token", readFlagField<&GenerationRequest::timesEach>},
    {"return_progress", readFlagField<&GenerationRequest::reportsProgress>},
    {"samplers", samplers},
    {"response_fields", responseFields},
    {"resume", resume},
};

std::span<const Field> serve::samplingFields() { return kSamplingFields; }

//===----------------------------------------------------------------------===//
// Log-probabilities
//===----------------------------------------------------------------------===//

/// Reads a number of likeliest tokens. False asks for none.
static MaybeError readCount(std::string_view field, const JsonElement &element,
                            std::optional<uint32_t> &count) {
  bool flag = true;
  int64_t value = 0;
  if (!element.get(flag) && !flag)
    return std::nullopt;
  if (MaybeError error = readInteger(field, element, 0,
                                     int64_t(LogprobsRequest::kMost), value))
    return error;
  count = uint32_t(value);
  return std::nullopt;
}

static MaybeError completionCount(std::string_view field,
                                  const JsonElement &element, Reading &to) {
  return readCount(field, element, to.request.scores.output);
}

static MaybeError promptCount(std::string_view field,
                              const JsonElement &element, Reading &to) {
  return readCount(field, element, to.request.scores.prompt);
}

static MaybeError topCount(std::string_view field, const JsonElement &element,
                           Reading &to) {
  return readCount(field, element, to.request.scores.top);
}

static MaybeError chatFlag(std::string_view field, const JsonElement &element,
                           Reading &to) {
  return readFlag(field, element, to.request.scores.isOn);
}

/// Reads llama-server's count, of which 0 asks for none.
static MaybeError nativeCount(std::string_view field,
                              const JsonElement &element, Reading &to) {
  std::optional<uint32_t> count;
  if (MaybeError error = readCount(field, element, count))
    return error;
  std::optional<uint32_t> &output = to.request.scores.output;
  if (count.value_or(0) > 0)
    output = std::max(*count, output.value_or(0));
  return std::nullopt;
}

static MaybeError showsShares(std::string_view field,
                              const JsonElement &element, Reading &to) {
  return readFlag(field, element, to.request.scores.showsShares);
}

static MaybeError namesIds(std::string_view field, const JsonElement &element,
                           Reading &to) {
  return readFlag(field, element, to.request.scores.namesIds);
}

static MaybeError logprobsMode(std::string_view field,
                               const JsonElement &element, Reading &to) {
  std::string_view name;
  if (!element.get(name) && name == "raw_logprobs")
    to.request.scores.mode = LogprobsMode::Raw;
  else if (!element.get(name) && name == "processed_logprobs")
    to.request.scores.mode = LogprobsMode::Processed;
  else
    return expected(field, "\"raw_logprobs\" or \"processed_logprobs\"",
                    element);
  return std::nullopt;
}

static constexpr Field kCompletionFields[] = {
    {"logprobs", completionCount},
    {"prompt_logprobs", promptCount},
    {"logprobs_mode", logprobsMode},
    {"n_probs", nativeCount},
    {"post_sampling_probs", showsShares},
    {"return_tokens_as_token_ids", namesIds},
};

static constexpr Field kChatFields[] = {
    {"logprobs", chatFlag},           {"top_logprobs", topCount},
    {"prompt_logprobs", promptCount}, {"logprobs_mode", logprobsMode},
    {"n_probs", nativeCount},         {"return_tokens_as_token_ids", namesIds},
};

std::span<const Field> serve::completionScoreFields() {
  return kCompletionFields;
}
std::span<const Field> serve::chatScoreFields() { return kChatFields; }

static constexpr Field kResponseFields[] = {{"top_logprobs", topCount}};

std::span<const Field> serve::responseScoreFields() { return kResponseFields; }

MaybeError serve::settleScores(const ModelFacts &facts,
                               GenerationRequest &request) {
  AskedScores &scores = request.scores;
  if (scores.isOn)
    scores.output = std::max(scores.top.value_or(0), scores.output.value_or(0));
  else if (request.form == AnswerForm::Responses)
    scores.top.reset(); // OpenAI ignores it unless the body includes them.
  else if (scores.top.value_or(0) > 0)
    return wrongField("top_logprobs",
                      "expected 'top_logprobs' with 'logprobs': true alone");
  if (scores.prompt && request.streams)
    return wrongField("prompt_logprobs",
                      "expected no 'prompt_logprobs' in a stream, as in vLLM");
  bool scoresEcho = request.echo && scores.output;
  if ((scores.prompt || scoresEcho) && !facts.scoresPrompts) {
    const char *field = scores.prompt ? "prompt_logprobs" : "echo";
    return wrongField(
        field, strCat("expected no '", field, "'",
                      scores.prompt ? "" : " with log-probabilities",
                      ", as the artifact cannot score prompts: compile the "
                      "model again, or give another one"));
  }
  // llama-server's shares count only tokens that may be drawn.
  if (scores.showsShares)
    scores.mode = LogprobsMode::Processed;
  return std::nullopt;
}
