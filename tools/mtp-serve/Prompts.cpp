//===- Prompts.cpp - The sequences of a request ---------------------------===//

#include "tools/mtp-serve/Prompts.h"
#include "runtime/core/StrCat.h"
#include "tools/support/PromptText.h"

#include <algorithm>

using namespace mtp;
using namespace mtp::serve;

/// What OpenAI's completions have where the body says nothing.
static constexpr uint32_t kCompletionTokens = 16;

static ApiError tooLong(std::string field, std::string message) {
  ApiError error = wrongField(std::move(field), std::move(message));
  error.code = "context_length_exceeded";
  return error;
}

/// Output tokens at most, behind a prompt of so many.
static uint32_t mostTokens(const GenerationRequest &request,
                           const ModelFacts &facts, size_t promptTokens) {
  uint32_t left = facts.maxContext - uint32_t(promptTokens);
  return request.maxTokens.value_or(
      request.isChat ? left : std::min(kCompletionTokens, left));
}

static MaybeError checkLength(const GenerationRequest &request,
                              const ModelFacts &facts, size_t tokens) {
  const char *field = request.isChat ? "messages" : "prompt";
  if (tokens == 0)
    return wrongField(field, "expected a prompt of at least one token");
  if (tokens >= facts.maxContext)
    return tooLong(field,
                   strCat("expected a prompt of less than ", facts.maxContext,
                          " tokens, the context, got ", tokens));
  if (request.maxTokens.value_or(1) > facts.maxContext - tokens)
    return tooLong(request.maxTokensField,
                   strCat("expected '", request.maxTokensField, "' of at most ",
                          facts.maxContext - tokens, ", which a prompt of ",
                          tokens, " tokens leaves of the context, got ",
                          *request.maxTokens));
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
                          PreparedPrompt &prompt) {
  if (source.isText) {
    Result<std::vector<int32_t>> ids =
        promptIds(source.text, {request.addSpecialTokens}, facts.generation,
                  *facts.tokenizer);
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

/// The prompt that the model's template makes of a conversation.
static MaybeError prepareChat(const GenerationRequest &request,
                              const ModelFacts &facts, PreparedPrompt &prompt) {
  Result<ChatPrompt> rendered =
      facts.chat->renderFor(*facts.tokenizer, request.conversation);
  if (!rendered)
    return errorOf(rendered.status(), "messages");
  EncodeOptions options;
  options.addSpecial = false;
  options.parseSpecial = true;
  options.literals = rendered->literals;
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
                                 std::vector<PreparedPrompt> &prompts) {
  if (request.isChat)
    return prepareChat(request, facts, prompts.emplace_back());
  for (const PromptSource &source : request.prompts)
    if (MaybeError error =
            prepare(request, facts, source, prompts.emplace_back()))
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
  sequence.maxTokens = mostTokens(request, facts, prompt.ids.size());
  sequence.minTokens = request.minTokens;
  sequence.priority = request.priority;
  sequence.group = request.client;
  sequence.cacheSalt = request.cacheSalt;
  sequence.stopTokens = request.stopTokens;
  sequence.ignoreEos = request.ignoreEos;
  sequence.k = request.k;
  return sequence;
}
