//===- RequestParser.cpp - Parse request bodies ---------------------------===//

#include "tools/mtp-serve/api/RequestParser.h"
#include "runtime/core/StrCat.h"
#include "tools/mtp-serve/api/FieldReaders.h"
#include "tools/mtp-serve/api/KnownFields.h"

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
}

/// Reads one field with its reader, else by the table of known fields.
static MaybeError readField(std::string_view name, const JsonElement &value,
                            const Field *field, Reading &to) {
  if (!field && !isKnownField(name))
    return ignoreField(name, to);
  // Null counts as left out.
  if (value.is_null())
    return std::nullopt;
  return field ? field->read(name, value, to) : checkKnownField(name, value);
}

static MaybeError readFields(const object &body, std::span<const Field> own,
                             Reading &to) {
  setDefaults(to.facts.generation, to.request);
  std::set<std::string_view> seen;
  for (auto [key, value] : body) {
    const Field *field = findField(own, key);
    if (!field)
      field = findField(samplingFields(), key);
    if (!seen.insert(key).second)
      return wrongField(std::string(key),
                        strCat("expected one '", key, "', got another"));
    if (MaybeError error = readField(key, value, field, to))
      return error;
  }
  return std::nullopt;
}

static MaybeError checkWhole(const ModelFacts &facts,
                             const GenerationRequest &request) {
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
  return std::nullopt;
}

MaybeError serve::parseCompletion(std::string_view body,
                                  const ModelFacts &facts,
                                  GenerationRequest &request) {
  JsonBody json;
  if (MaybeError error = json.parse(body))
    return error;
  Reading reading{request, facts};
  if (MaybeError error = readFields(json.object(), promptFields(), reading))
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
  if (MaybeError error =
          readFields(json.object(), conversationFields(), reading))
    return error;
  if (!request.isChat)
    return wrongField("messages", "expected 'messages', got none");
  request.conversation = "{" + request.conversation + "}";
  if (MaybeError error = settleContinuation(request))
    return error;
  return checkWhole(facts, request);
}
