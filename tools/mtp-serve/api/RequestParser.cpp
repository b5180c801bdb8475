//===- RequestParser.cpp - Parse request bodies ---------------------------===//

#include "tools/mtp-serve/api/RequestParser.h"
#include "runtime/core/StrCat.h"
#include "tools/mtp-serve/api/FieldReaders.h"
#include "tools/mtp-serve/api/KnownFields.h"
#include "tools/mtp-serve/api/Turns.h"

#include <algorithm>
#include <set>

using namespace mtp;
using namespace mtp::serve;
using simdjson::dom::object;

/// Sets the values that the model's authors recommend, for fields that the body
/// leaves out.
static void setDefaults(const GenerationInfo &model,
                        GenerationRequest &request) {
  request.sampling.temperature = model.temperature;
  request.sampling.topK = model.topK;
  request.sampling.topP = model.topP;
  request.sampling.minP = model.minP;
  request.rules.repetitionPenalty = model.repetitionPenalty;
}

/// Returns whether a field has the text to answer, in some API.
static bool hasInput(std::string_view name) {
  constexpr std::string_view kNames[] = {"prompt", "messages", "input",
                                         "instructions", "system"};
  return std::ranges::count(kNames, name) > 0;
}

/// Reads one field with its reader, else by the table of known fields.
static MaybeError readField(std::string_view name, const JsonElement &value,
                            const Field *field, Reading &to) {
  if (!field && hasInput(name) && !value.is_null())
    return wrongField(
        std::string(name),
        strCat("expected no '", name, "', which is a field of another path"));
  // These fields are read together.
  if (!field && isGrammarField(name))
    return std::nullopt;
  if (!field && !isKnownField(name))
    return ignoreField(name, to);
  // Null counts as left out.
  if (value.is_null())
    return std::nullopt;
  return field ? field->read(name, value, to) : checkKnownField(name, value);
}

/// Gives the samplers that are off the values that change nothing.
static void turnOff(GenerationRequest &request) {
  SamplingParams &sampling = request.sampling;
  // A temperature of 0 picks the likeliest token, which is no sampler's work.
  if (!request.samplers.temperature && sampling.temperature > 0)
    sampling.temperature = 1;
  if (!request.samplers.topK)
    sampling.topK = 0;
  if (!request.samplers.topP)
    sampling.topP = 1;
  if (!request.samplers.minP)
    sampling.minP = 0;
}

/// Reads the fields that describe a grammar.
static MaybeError readGrammar(const object &body, Reading &to) {
  std::optional<GrammarRequest> &grammar = to.request.grammar;
  if (MaybeError error = readGrammarFields(body, grammar))
    return error;
  if (!grammar || to.facts.hasGrammars)
    return std::nullopt;
  return wrongField(
      grammar->field,
      strCat("expected no '", grammar->field,
             to.facts.hasLogitRules
                 ? "', as the model has no tokenizer or no end tokens"
                 : "', as the model was imported with "
                   "--without-logit-rules"));
}

/// Reads all fields. If a name is in several lists, the first list counts.
static MaybeError
readFields(const object &body,
           std::initializer_list<std::span<const Field>> lists, Reading &to) {
  setDefaults(to.facts.generation, to.request);
  std::set<std::string_view> seen;
  for (auto [key, value] : body) {
    const Field *field = nullptr;
    for (std::span<const Field> list : lists)
      if (!field)
        field = findField(list, key);
    if (!seen.insert(key).second)
      return wrongField(std::string(key),
                        strCat("expected one '", key, "', got another"));
    if (MaybeError error = readField(key, value, field, to))
      return error;
  }
  turnOff(to.request);
  if (MaybeError error = settlePenalties(to))
    return error;
  return readGrammar(body, to);
}

/// Checks that a stream with room for the begun answers is asked for.
static MaybeError checkResume(const GenerationRequest &request) {
  if (!request.resume || request.resume->answers.empty())
    return std::nullopt;
  size_t count = request.promptCount() * request.n;
  if (request.resume->answers.size() > count)
    return wrongField("resume.answers",
                      strCat("expected at most ", count, " answers, got ",
                             request.resume->answers.size()));
  if (!request.streams)
    return wrongField("resume.answers",
                      "expected begun answers with 'stream' alone");
  return std::nullopt;
}

static MaybeError checkWhole(const ModelFacts &facts,
                             GenerationRequest &request) {
  bool isKnown = request.model.empty() ||
                 std::ranges::count(facts.names, request.model) > 0;
  if (facts.isStrict && !isKnown) {
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
  if (MaybeError error = checkResume(request))
    return error;
  return settleScores(facts, request);
}

MaybeError serve::parseCompletion(std::string_view body,
                                  const ModelFacts &facts,
                                  GenerationRequest &request) {
  JsonBody json;
  if (MaybeError error = json.parse(body))
    return error;
  Reading reading{request, facts};
  if (MaybeError error = readFields(json.object(),
                                    {promptFields(), completionScoreFields(),
                                     samplingFields(), ruleFields()},
                                    reading))
    return error;
  if (request.prompts.empty())
    return wrongField("prompt", "expected a 'prompt', got none");
  return checkWhole(facts, request);
}

MaybeError serve::parseNative(std::string_view body, const ModelFacts &facts,
                              GenerationRequest &request) {
  request.form = AnswerForm::Native;
  request.parsesSpecial = true;
  return parseCompletion(body, facts, request);
}

/// Decides whether the answer continues the last message. llama-server
/// continues an assistant's text by default; vLLM's fields overrule that.
static MaybeError settleContinuation(GenerationRequest &request) {
  bool asks = request.asksGenerationPrompt.value_or(false);
  if (request.continuesLast.value_or(false) && asks)
    return wrongField("continue_final_message",
                      "expected 'continue_final_message' or "
                      "'add_generation_prompt', got both");
  bool isDefault = request.endsWithAnswer && !request.begun->empty() &&
                   !request.asksGenerationPrompt;
  if (!request.continuesLast.value_or(isDefault))
    request.begun = std::nullopt;
  return std::nullopt;
}

/// Reads a conversation whose fields are in `own`, or are fields of chats.
static MaybeError parseTalk(std::string_view body, const ModelFacts &facts,
                            std::span<const Field> own, const char *field,
                            GenerationRequest &request) {
  if (!facts.chat || !facts.tokenizer)
    return wrongField(
        field, strCat("expected a model with a ",
                      facts.tokenizer ? "chat template" : "tokenizer",
                      ", got one without: /v1/completions takes prompts, and "
                      "mtp-serve --chat-template a template"));
  JsonBody json;
  if (MaybeError error = json.parse(body))
    return error;
  Reading reading{request, facts};
  // Messages have no log-probabilities.
  std::span<const Field> scores;
  if (request.form == AnswerForm::OpenAi)
    scores = chatScoreFields();
  else if (request.form == AnswerForm::Responses)
    scores = responseScoreFields();
  request.tools.facts = facts.tools;
  if (MaybeError error = readFields(json.object(),
                                    {own, toolFields(), conversationFields(),
                                     scores, samplingFields(), ruleFields()},
                                    reading))
    return error;
  if (!request.isChat)
    return wrongField(field, strCat("expected '", field, "', got none"));
  if (!request.turns.empty())
    joinTurns(request);
  if (MaybeError error = settleTools(request, facts))
    return error;
  request.conversation = "{" + request.conversation + "}";
  if (MaybeError error = settleContinuation(request))
    return error;
  if (request.form != AnswerForm::OpenAi && request.n != 1)
    return wrongField("n", strCat("expected 'n' to be 1, got ", request.n));
  return checkWhole(facts, request);
}

MaybeError serve::parseChat(std::string_view body, const ModelFacts &facts,
                            GenerationRequest &request) {
  return parseTalk(body, facts, {}, "messages", request);
}

MaybeError serve::parseCountedMessages(std::string_view body,
                                       const ModelFacts &facts,
                                       GenerationRequest &request) {
  request.form = AnswerForm::Messages;
  return parseTalk(body, facts, messagesFields(), "messages", request);
}

MaybeError serve::parseMessages(std::string_view body, const ModelFacts &facts,
                                GenerationRequest &request) {
  if (MaybeError error = parseCountedMessages(body, facts, request))
    return error;
  if (!request.maxTokens)
    return wrongField("max_tokens", "expected 'max_tokens', got none");
  return std::nullopt;
}

MaybeError serve::parseResponses(std::string_view body, const ModelFacts &facts,
                                 GenerationRequest &request) {
  request.form = AnswerForm::Responses;
  return parseTalk(body, facts, responsesFields(), "input", request);
}
