//===- Prompts.cpp - The sequences of a request ---------------------------===//

#include "tools/mtp-serve/api/Prompts.h"
#include "runtime/core/StrCat.h"
#include "runtime/json/JsonTree.h"
#include "runtime/json/JsonWriter.h"
#include "tools/support/PromptText.h"

#include <algorithm>
#include <optional>

using namespace mtp;
using namespace mtp::serve;

/// Limit on the levels of a conversation. It exceeds the usual limit, with
/// which the fields of the conversation were parsed.
static constexpr size_t kMostDepth = 150;

/// OpenAI's default for completions.
static constexpr uint32_t kCompletionTokens = 16;

/// Returns the error for a prompt that is too long. Clients, litellm among
/// them, detect it by the begin of its text, by OpenAI's code and by
/// llama.cpp's numbers.
static ApiError tooLong(std::string field, const ModelFacts &facts,
                        size_t promptTokens, std::string_view message) {
  ApiError error =
      wrongField(std::move(field),
                 strCat("This model's maximum context length is ",
                        facts.maxContext, " tokens. However, ", message));
  error.code = "context_length_exceeded";
  error.promptTokens = promptTokens;
  error.contextTokens = facts.maxContext;
  return error;
}

/// Returns the largest number of output tokens after a prompt of
/// `promptTokens`.
static uint32_t mostTokens(const GenerationRequest &request,
                           const ModelFacts &facts, size_t promptTokens) {
  uint32_t left = facts.maxContext - uint32_t(promptTokens);
  return std::min(left, request.maxTokens.value_or(
                            request.isChat ? left : kCompletionTokens));
}

static MaybeError checkLength(const GenerationRequest &request,
                              const ModelFacts &facts, size_t tokens) {
  const char *field = request.isChat ? "messages" : "prompt";
  if (tokens == 0)
    return wrongField(field, "expected a prompt of at least one token");
  if (tokens >= facts.maxContext)
    return tooLong(field, facts, tokens,
                   strCat("your '", field, "' resulted in ", tokens,
                          " tokens, and at least one is to be generated. "
                          "Please reduce its length."));
  if (facts.isStrict &&
      request.maxTokens.value_or(1) > facts.maxContext - tokens)
    return tooLong(request.maxTokensField, facts, tokens,
                   strCat("you requested ", tokens + *request.maxTokens,
                          " tokens (", tokens, " in the '", field, "', ",
                          *request.maxTokens, " as '", request.maxTokensField,
                          "'). Please reduce the length of either."));
  uint32_t most = mostTokens(request, facts, tokens);
  if (request.minTokens > most)
    return wrongField("min_tokens",
                      strCat("expected 'min_tokens' of at most ", most,
                             ", the '", request.maxTokensField, "', got ",
                             request.minTokens));
  return std::nullopt;
}

static MaybeError prepare(const GenerationRequest &request,
                          const ModelFacts &facts, const PromptSource &source,
                          const std::atomic<bool> *cancelled,
                          PreparedPrompt &prompt) {
  if (source.isText) {
    Result<std::vector<int32_t>> ids = promptIds(
        source.text, {request.addSpecialTokens, /*special=*/false, cancelled},
        facts.generation, *facts.tokenizer);
    if (!ids)
      return errorOf(ids.status(), "prompt");
    prompt.ids = std::move(*ids);
    if (request.echo)
      prompt.text = source.text;
  } else {
    prompt.ids = source.ids;
    if (request.echo && facts.tokenizer) {
      Result<std::string> text = facts.tokenizer->decode(prompt.ids);
      if (!text)
        return errorOf(text.status(), "prompt");
      prompt.text = std::move(*text);
    }
  }
  return checkLength(request, facts, prompt.ids.size());
}

/// Returns the index of the first message with which the template fails: the
/// messages before it make a prompt, the messages up to it do not. Returns
/// nothing if no such message is found, for example if the template fails at
/// any single first message.
static std::optional<size_t> failingMessage(const ModelFacts &facts,
                                            const std::string &conversation) {
  JsonTree parsed;
  simdjson::dom::object variables;
  simdjson::dom::array messages;
  if (!parsed.parse(conversation, {.depth = kMostDepth}).isOk() ||
      parsed.root().get(variables) ||
      variables.at_key("messages").get(messages))
    return std::nullopt;
  std::vector<std::string> texts;
  for (simdjson::dom::element message : messages)
    texts.push_back(simdjson::minify(message));
  std::string rest;
  for (auto [key, value] : variables)
    if (key != "messages") {
      JsonWriter name(JsonWriter::Layout::OneLine);
      name.value(key);
      rest += ", " + name.text() + ": " + std::string(simdjson::minify(value));
    }
  // The search must not cost more than the failed rendering.
  RenderOptions few;
  few.maxSteps /= 20;
  auto fails = [&](size_t count) {
    std::string some = "{\"messages\": [";
    for (size_t i = 0; i < count; ++i)
      some += (i > 0 ? ", " : "") + texts[i];
    some += "]" + rest + "}";
    return !facts.chat->renderFor(*facts.tokenizer, some, few).isOk();
  };
  size_t well = 0, bad = texts.size();
  // Usually it is the last one.
  for (size_t next = bad > 1 ? bad - 1 : 0; well + 1 < bad;
       next = (well + bad) / 2)
    (fails(next) ? bad : well) = next;
  bool isFound = bad == 1 && texts.size() == 1 ? fails(1) : well > 0;
  return isFound ? std::optional(bad - 1) : std::nullopt;
}

static ApiError templateError(const Status &status, const ModelFacts &facts,
                              const GenerationRequest &request) {
  ApiError error = errorOf(status, "messages");
  if (std::optional<size_t> index =
          failingMessage(facts, request.conversation)) {
    error.param = strCat("messages[", *index, "]");
    error.message = strCat(error.param, ": ", error.message);
  }
  return error;
}

/// Makes the prompt of a conversation by the model's template.
static MaybeError prepareChat(const GenerationRequest &request,
                              const ModelFacts &facts,
                              const std::atomic<bool> *cancelled,
                              PreparedPrompt &prompt) {
  Result<ChatPrompt> rendered =
      facts.chat->renderFor(*facts.tokenizer, request.conversation);
  if (!rendered)
    return templateError(rendered.status(), facts, request);
  EncodeOptions options;
  options.addSpecial = false;
  options.parseSpecial = true;
  options.literals = rendered->literals;
  options.cancelled = cancelled;
  Result<std::vector<int32_t>> ids =
      facts.tokenizer->encode(rendered->text, options);
  if (!ids)
    return errorOf(ids.status(), "messages");
  prompt.ids = std::move(*ids);
  prompt.text = std::move(rendered->text);
  return checkLength(request, facts, prompt.ids.size());
}

bool serve::hasTexts(const GenerationRequest &request) {
  return request.isChat ||
         std::ranges::any_of(request.prompts, &PromptSource::isText);
}

MaybeError serve::preparePrompts(const GenerationRequest &request,
                                 const ModelFacts &facts,
                                 std::vector<PreparedPrompt> &prompts,
                                 const std::atomic<bool> *cancelled) {
  if (request.isChat)
    return prepareChat(request, facts, cancelled, prompts.emplace_back());
  for (const PromptSource &source : request.prompts)
    if (MaybeError error =
            prepare(request, facts, source, cancelled, prompts.emplace_back()))
      return error;
  return std::nullopt;
}

Request serve::sequenceOf(const GenerationRequest &request,
                          const ModelFacts &facts, const PreparedPrompt &prompt,
                          uint32_t number, uint64_t seed) {
  Request sequence;
  sequence.prompt = prompt.ids;
  sequence.sampling = request.sampling;
  sequence.sampling.seed =
      (request.hasSeed ? request.sampling.seed : seed) + number;
  // A prompt is read by generating one token, which the answer leaves out if
  // none was asked for.
  sequence.maxTokens =
      std::max(1u, mostTokens(request, facts, prompt.ids.size()));
  sequence.minTokens = request.minTokens;
  sequence.priority = request.priority;
  sequence.group = request.client;
  sequence.cacheSalt = request.cacheSalt;
  sequence.stopTokens = request.stopTokens;
  sequence.ignoreEos = request.ignoreEos;
  sequence.k = request.k;
  return sequence;
}
