//===- GenerationRequest.cpp - Parse request bodies -----------------------===//

#include "tools/mtp-serve/api/GenerationRequest.h"
#include "runtime/core/StrCat.h"
#include "runtime/json/JsonWriter.h"
#include "tools/mtp-serve/api/JsonFields.h"
#include "tools/mtp-serve/api/Messages.h"

#include <algorithm>
#include <set>
#include <span>

using namespace mtp;
using namespace mtp::serve;
using simdjson::dom::array;
using simdjson::dom::object;

namespace {
/// The operands of a field's reader.
struct Reading {
  GenerationRequest &request;
  const ModelFacts &facts;
};

using FieldReader = MaybeError (*)(std::string_view field,
                                   const JsonElement &element, Reading &to);

struct Field {
  std::string_view name;
  FieldReader read;
};
} // namespace

//===----------------------------------------------------------------------===//
// Supported fields
//===----------------------------------------------------------------------===//

template <bool GenerationRequest::*Member>
static MaybeError flag(std::string_view field, const JsonElement &element,
                       Reading &to) {
  return readFlag(field, element, to.request.*Member);
}

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
  if (MaybeError error = readNumber(field, element, 0, 1, value))
    return error;
  // A share of 0 keeps the likeliest token, as the smallest share does.
  value = std::max(value, 1e-6f);
  return std::nullopt;
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
  uint32_t value = 0;
  if (MaybeError error =
          // The room in the context is known only with the prompt.
      readMember(field, element, 1, INT32_MAX, value))
    return error;
  // The older name counts only if the newer is absent, as in vLLM.
  if (field == "max_tokens" && to.request.maxTokens)
    return std::nullopt;
  to.request.maxTokens = value;
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

static MaybeError timeout(std::string_view field, const JsonElement &element,
                          Reading &to) {
  if (MaybeError error = readNumber(field, element, 0, 1e6, to.request.timeout))
    return error;
  if (to.request.timeout == 0)
    return expected(field, "seconds above 0", element);
  return std::nullopt;
}

static MaybeError answers(std::string_view field, const JsonElement &element,
                          Reading &to) {
  int64_t value = 0;
  if (MaybeError error =
          readInteger(field, element, 1, GenerationRequest::kMaxChoices, value))
    return error;
  to.request.n = uint32_t(value);
  return std::nullopt;
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
    if (key != "include_usage" && !isEach)
      return wrongField(
          name, strCat("expected no '", name, "', which is not known here"));
    bool &flag = isEach ? to.request.hasUsageInAll : to.request.includesUsage;
    if (MaybeError error = readFlag(name, value, flag))
      return error;
  }
  return std::nullopt;
}

/// Ignores a field that does not affect the answer.
static MaybeError ignored(std::string_view, const JsonElement &, Reading &) {
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Fields that are accepted only with a value that changes nothing
//===----------------------------------------------------------------------===//

static bool isNumber(const JsonElement &element, double number) {
  double value = 0;
  return !element.get(value) && value == number;
}

static bool isFalse(const JsonElement &element) {
  bool value = true;
  return !element.get(value) && !value;
}

static bool isEmpty(const JsonElement &element) {
  object dict;
  array list;
  std::string_view text;
  return (!element.get(dict) && dict.size() == 0) ||
         (!element.get(list) && list.size() == 0) ||
         (!element.get(text) && text.empty());
}

static bool isText(const JsonElement &element, std::string_view expected) {
  std::string_view text;
  return !element.get(text) && text == expected;
}

static bool isPlainFormat(const JsonElement &element) {
  JsonElement type;
  return !element.at_key("type").get(type) && isText(type, "text");
}

template <bool (*isNeutral)(const JsonElement &)>
static MaybeError unlessNeutral(std::string_view field,
                                const JsonElement &element, Reading &) {
  if (isNeutral(element))
    return std::nullopt;
  return wrongField(
      std::string(field),
      strCat("expected no '", field, "', which this server does not support"));
}

static bool isZero(const JsonElement &element) { return isNumber(element, 0); }
static bool isOne(const JsonElement &element) { return isNumber(element, 1); }
static bool isFalseOrZero(const JsonElement &element) {
  return isFalse(element) || isZero(element);
}

static constexpr Field kCommonFields[] = {
    {"model", model},
    {"max_tokens", maxTokens},
    {"max_completion_tokens", maxTokens},
    {"temperature", temperature},
    {"top_p", topP},
    {"top_k", topK},
    {"min_p", minP},
    {"seed", seed},
    {"stop", stop},
    {"stop_token_ids", stopTokens},
    {"n", answers},
    {"k", drafts},
    {"ignore_eos", flag<&GenerationRequest::ignoreEos>},
    {"skip_special_tokens", flag<&GenerationRequest::skipSpecialTokens>},
    {"return_token_ids", flag<&GenerationRequest::returnsIds>},
    {"return_round_tokens", flag<&GenerationRequest::returnsRounds>},
    {"stream", flag<&GenerationRequest::streams>},
    {"stream_options", streamOptions},
    {"user", ignored},
    {"metadata", ignored},
    {"store", ignored},
    {"safety_identifier", ignored},
    {"prompt_cache_key", ignored},
    {"service_tier", ignored},
    {"best_of", unlessNeutral<isOne>},
    {"cache_salt", cacheSalt},
    {"frequency_penalty", unlessNeutral<isZero>},
    {"presence_penalty", unlessNeutral<isZero>},
    {"repetition_penalty", unlessNeutral<isOne>},
    {"length_penalty", unlessNeutral<isOne>},
    {"use_beam_search", unlessNeutral<isFalse>},
    {"logit_bias", unlessNeutral<isEmpty>},
    {"logprobs", unlessNeutral<isFalse>},
    {"min_tokens", minTokens},
    {"priority", priority},
    {"timeout", timeout},
    {"prompt_logprobs", unlessNeutral<isFalse>},
    {"response_format", unlessNeutral<isPlainFormat>},
    {"top_logprobs", unlessNeutral<isFalseOrZero>},
};

//===----------------------------------------------------------------------===//
// Completions
//===----------------------------------------------------------------------===//

static MaybeError addPrompt(std::string_view field, const JsonElement &element,
                            Reading &to) {
  PromptSource prompt;
  prompt.isText = element.is_string();
  MaybeError error =
      prompt.isText
          ? readText(field, element, prompt.text)
          : readIds(field, element, int64_t(to.facts.vocab) - 1, prompt.ids);
  if (error)
    return error;
  if (prompt.isText && !to.facts.tokenizer)
    return wrongField(std::string(field),
                      "expected 'prompt' to be token ids, for the model has "
                      "no tokenizer, got a string");
  to.request.prompts.push_back(std::move(prompt));
  return std::nullopt;
}

/// Reads a text, ids, or an array of either.
static MaybeError prompts(std::string_view field, const JsonElement &element,
                          Reading &to) {
  array list;
  JsonElement first;
  if (element.get(list) || list.at(0).get(first) || first.is_number()) {
    if (!element.is_string() && !element.is_array())
      return expected(field, "a string, token ids, or an array of these",
                      element);
    return addPrompt(field, element, to);
  }
  for (JsonElement item : list) {
    if (to.request.prompts.size() == GenerationRequest::kMaxChoices)
      return wrongField(std::string(field),
                        strCat("expected at most ",
                               GenerationRequest::kMaxChoices, " prompts, got ",
                               list.size()));
    if (MaybeError error = addPrompt(field, item, to))
      return error;
  }
  return std::nullopt;
}

static constexpr Field kCompletionFields[] = {
    {"prompt", prompts},
    {"echo", flag<&GenerationRequest::echo>},
    {"add_special_tokens", flag<&GenerationRequest::addSpecialTokens>},
    {"suffix", unlessNeutral<isEmpty>},
};

//===----------------------------------------------------------------------===//
// Conversations
//===----------------------------------------------------------------------===//

static bool isOnlyText(const JsonElement &element) {
  array list;
  if (element.get(list))
    return false;
  for (JsonElement item : list)
    if (!isText(item, "text"))
      return false;
  return true;
}

static bool isNoTool(const JsonElement &element) {
  return isText(element, "none") || isText(element, "auto");
}

/// Adds a variable of the template to the conversation's JSON.
static void addVariable(GenerationRequest &request, std::string_view name,
                        const std::string &json) {
  JsonWriter quoted(JsonWriter::Layout::OneLine);
  quoted.value(name);
  request.conversation += request.conversation.empty() ? "" : ", ";
  request.conversation += quoted.text() + ": " + json;
}

static MaybeError variable(std::string_view field, const JsonElement &element,
                           Reading &to) {
  addVariable(to.request, field, simdjson::minify(element));
  return std::nullopt;
}

static MaybeError generationPrompt(std::string_view field,
                                   const JsonElement &element, Reading &to) {
  bool value = true;
  if (MaybeError error = readFlag(field, element, value))
    return error;
  return variable(field, element, to);
}

/// Adds variables whose names are not the server's own.
static MaybeError variables(std::string_view field, const JsonElement &element,
                            Reading &to) {
  object more;
  if (element.get(more))
    return expected(field, "an object", element);
  constexpr std::string_view kOwn[] = {"messages", "tools", "documents",
                                       "add_generation_prompt",
                                       "reasoning_effort"};
  std::set<std::string_view> seen;
  for (auto [key, value] : more) {
    std::string name = strCat(field, ".", key);
    if (std::ranges::count(kOwn, key) > 0 || !seen.insert(key).second)
      return wrongField(name, strCat("expected no '", name,
                                     "', which is a field or given twice"));
    addVariable(to.request, key, simdjson::minify(value));
  }
  return std::nullopt;
}

static MaybeError messages(std::string_view field, const JsonElement &element,
                           Reading &to) {
  array list;
  if (element.get(list) || list.size() == 0)
    return expected(field, "an array of messages", element);
  JsonWriter json(JsonWriter::Layout::OneLine);
  if (MaybeError error = writeMessages(list, json))
    return error;
  addVariable(to.request, field, json.text());
  to.request.isChat = true;
  return std::nullopt;
}

static constexpr Field kChatFields[] = {
    {"messages", messages},
    {"add_generation_prompt", generationPrompt},
    {"chat_template_kwargs", variables},
    {"reasoning_effort", variable},
    {"parallel_tool_calls", ignored},
    {"continue_final_message", unlessNeutral<isFalse>},
    {"modalities", unlessNeutral<isOnlyText>},
    {"tools", unlessNeutral<isEmpty>},
    {"tool_choice", unlessNeutral<isNoTool>},
    {"functions", unlessNeutral<isEmpty>},
    {"function_call", unlessNeutral<isNoTool>},
};

//===----------------------------------------------------------------------===//
// A body
//===----------------------------------------------------------------------===//

static const Field *find(std::span<const Field> fields, std::string_view name) {
  auto found = std::ranges::find(fields, name, &Field::name);
  return found == fields.end() ? nullptr : &*found;
}

/// Sets the values that the model's authors recommend, for fields that the body
/// leaves out.
static void setDefaults(const GenerationInfo &model,
                        GenerationRequest &request) {
  request.sampling.temperature = model.temperature;
  request.sampling.topK = model.topK;
  request.sampling.topP = model.topP;
  request.sampling.minP = model.minP;
}

static MaybeError readFields(const object &body, std::span<const Field> own,
                             Reading &to) {
  setDefaults(to.facts.generation, to.request);
  std::set<const Field *> seen;
  for (auto [key, value] : body) {
    const Field *field = find(own, key);
    if (!field)
      field = find(kCommonFields, key);
    if (!field)
      return wrongField(std::string(key), strCat("expected no '", key,
                                                 "', which is not known here"));
    if (!seen.insert(field).second)
      return wrongField(std::string(key),
                        strCat("expected one '", key, "', got another"));
    // Null counts as left out.
    if (value.is_null())
      continue;
    if (MaybeError error = field->read(key, value, to))
      return error;
  }
  return std::nullopt;
}

static MaybeError checkWhole(const ModelFacts &facts,
                             const GenerationRequest &request) {
  bool isKnown = request.model.empty() ||
                 std::ranges::count(facts.names, request.model) > 0;
  if (!isKnown) {
    ApiError error =
        wrongField("model", strCat("expected the model '", facts.names.front(),
                                   "', got '", request.model, "'"));
    error.status = 404;
    error.code = "model_not_found";
    return error;
  }
  if (request.promptCount() * request.n > GenerationRequest::kMaxChoices)
    return wrongField("n", strCat("expected prompts times 'n' to be at most ",
                                  GenerationRequest::kMaxChoices, ", got ",
                                  request.promptCount() * request.n));
  if ((request.includesUsage || request.hasUsageInAll) && !request.streams)
    return wrongField("stream_options",
                      "expected 'stream_options' with 'stream' alone");
  return std::nullopt;
}

MaybeError serve::parseCompletion(std::string_view body,
                                  const ModelFacts &facts,
                                  GenerationRequest &request) {
  JsonBody json;
  if (MaybeError error = json.parse(body))
    return error;
  Reading reading{request, facts};
  if (MaybeError error = readFields(json.object(), kCompletionFields, reading))
    return error;
  if (request.prompts.empty())
    return wrongField("prompt", "expected a 'prompt', got none");
  return checkWhole(facts, request);
}

MaybeError serve::parseChat(std::string_view body, const ModelFacts &facts,
                            GenerationRequest &request) {
  if (!facts.chat || !facts.tokenizer)
    return wrongField(
        "messages",
        strCat("expected a model with a ",
               facts.tokenizer ? "chat template" : "tokenizer",
               ", got one without: /v1/completions takes prompts, and "
               "mtp-serve --chat-template a template"));
  JsonBody json;
  if (MaybeError error = json.parse(body))
    return error;
  Reading reading{request, facts};
  if (MaybeError error = readFields(json.object(), kChatFields, reading))
    return error;
  if (!request.isChat)
    return wrongField("messages", "expected 'messages', got none");
  request.conversation = "{" + request.conversation + "}";
  return checkWhole(facts, request);
}
