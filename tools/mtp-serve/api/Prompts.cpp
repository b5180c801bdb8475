//===- Prompts.cpp - The sequences of a request ---------------------------===//

#include "tools/mtp-serve/api/Prompts.h"
#include "runtime/constraint/GrammarConstraint.h"
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
  bool isShort = !request.isChat && request.form == AnswerForm::OpenAi;
  return std::min(
      left, request.maxTokens.value_or(isShort ? kCompletionTokens : left));
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

/// Encodes the parts of a mixed prompt. Only a text at the begin gets start
/// tokens, as in llama-server.
static MaybeError encodeParts(const GenerationRequest &request,
                              const ModelFacts &facts,
                              const PromptSource &source,
                              PromptTextOptions options,
                              std::vector<int32_t> &ids) {
  options.addsStart = request.addSpecialTokens && source.parts.front().isText;
  for (const PromptSource &part : source.parts) {
    if (part.isText) {
      Result<std::vector<int32_t>> more =
          promptIds(part.text, options, facts.generation, *facts.tokenizer);
      if (!more)
        return errorOf(more.status(), "prompt");
      ids.insert(ids.end(), more->begin(), more->end());
    } else {
      ids.insert(ids.end(), part.ids.begin(), part.ids.end());
    }
    options.addsStart = false;
  }
  return std::nullopt;
}

static MaybeError prepare(const GenerationRequest &request,
                          const ModelFacts &facts, const PromptSource &source,
                          const std::atomic<bool> *cancelled,
                          PreparedPrompt &prompt) {
  bool needsText = request.echo || request.form == AnswerForm::Native;
  PromptTextOptions options = {request.addSpecialTokens, request.parsesSpecial,
                               cancelled};
  if (source.isText) {
    Result<std::vector<int32_t>> ids =
        promptIds(source.text, options, facts.generation, *facts.tokenizer);
    if (!ids)
      return errorOf(ids.status(), "prompt");
    prompt.ids = std::move(*ids);
    if (needsText)
      prompt.text = source.text;
    return checkLength(request, facts, prompt.ids.size());
  }
  prompt.ids = source.ids;
  if (!source.parts.empty())
    if (MaybeError error =
            encodeParts(request, facts, source, options, prompt.ids))
      return error;
  if (needsText && facts.tokenizer) {
    Result<std::string> text = facts.tokenizer->decode(prompt.ids);
    if (!text)
      return errorOf(text.status(), "prompt");
    prompt.text = std::move(*text);
  }
  return checkLength(request, facts, prompt.ids.size());
}

//===----------------------------------------------------------------------===//
// Conversations
//===----------------------------------------------------------------------===//

namespace {
/// The JSON of a conversation in parts.
struct Conversation {
  std::vector<std::string> messages;
  /// The other variables, with a comma before each.
  std::string rest;

  /// Returns the JSON with the first `count` messages.
  std::string first(size_t count, std::string_view more = "") const;
};
} // namespace

std::string Conversation::first(size_t count, std::string_view more) const {
  std::string some = "{\"messages\": [";
  for (size_t i = 0; i < count; ++i)
    some += (i > 0 ? ", " : "") + messages[i];
  return strCat(some, "]", rest, more, "}");
}

/// Splits a conversation. Leaves out the variable `without`.
static std::optional<Conversation> split(const std::string &json,
                                         std::string_view without = "") {
  JsonTree parsed;
  simdjson::dom::object variables;
  simdjson::dom::array messages;
  if (!parsed.parse(json, {.depth = kMostDepth}).isOk() ||
      parsed.root().get(variables) ||
      variables.at_key("messages").get(messages))
    return std::nullopt;
  Conversation conversation;
  for (simdjson::dom::element message : messages)
    conversation.messages.push_back(simdjson::minify(message));
  for (auto [key, value] : variables)
    if (key != "messages" && key != without) {
      JsonWriter name(JsonWriter::Layout::OneLine);
      name.value(key);
      conversation.rest +=
          ", " + name.text() + ": " + std::string(simdjson::minify(value));
    }
  return conversation;
}

/// Returns the index of the first message with which the template fails: the
/// messages before it make a prompt, the messages up to it do not. Returns
/// nothing if no such message is found, for example if the template fails at
/// any single first message.
static std::optional<size_t> failingMessage(const ModelFacts &facts,
                                            const std::string &conversation) {
  std::optional<Conversation> whole = split(conversation);
  if (!whole)
    return std::nullopt;
  // The search must not cost more than the failed rendering.
  RenderOptions few;
  few.maxSteps /= 20;
  auto fails = [&](size_t count) {
    return !facts.chat->renderFor(*facts.tokenizer, whole->first(count), few)
                .isOk();
  };
  size_t well = 0, bad = whole->messages.size();
  // Usually it is the last one.
  for (size_t next = bad > 1 ? bad - 1 : 0; well + 1 < bad;
       next = (well + bad) / 2)
    (fails(next) ? bad : well) = next;
  bool isFound = bad == 1 && whole->messages.size() == 1 ? fails(1) : well > 0;
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

/// Returns where `part` begins near the end of a text, or npos. The time is
/// bounded for any text.
static size_t findNearEnd(std::string_view text, std::string_view part) {
  constexpr size_t kMostAfter = 256;
  for (size_t after = 0;
       after <= kMostAfter && part.size() + after <= text.size(); ++after) {
    size_t at = text.size() - part.size() - after;
    if (text.substr(at, part.size()) == part)
      return at;
  }
  return text.npos;
}

/// Cuts a rendered conversation after the last message's text, as transformers
/// does. Templates may trim the text. Returns false if it is not at the end.
static bool cutAfter(ChatPrompt &prompt, std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  size_t first = text.find_first_not_of(kSpace);
  if (first == text.npos)
    return false;
  text.remove_prefix(first);
  std::string_view trimmed = text.substr(0, text.find_last_not_of(kSpace) + 1);
  size_t at = findNearEnd(prompt.text, trimmed);
  if (at == prompt.text.npos)
    return false;
  bool isWhole = std::string_view(prompt.text).substr(at).starts_with(text);
  prompt.text.resize(at + (isWhole ? text : trimmed).size());
  while (!prompt.literals.empty() &&
         prompt.literals.back() >= prompt.text.size())
    prompt.literals.pop_back();
  return true;
}

/// Renders a conversation whose last message the answer continues. If the
/// template does not show its text, the text follows the begin of an answer, as
/// in llama-server.
static Result<ChatPrompt> renderBegun(const GenerationRequest &request,
                                      const ModelFacts &facts) {
  constexpr std::string_view kPrompt = "add_generation_prompt";
  std::optional<Conversation> whole = split(request.conversation, kPrompt);
  if (!whole)
    return invalidArgument("expected messages, got none");
  size_t count = whole->messages.size();
  MTP_ASSIGN_OR_RETURN(
      ChatPrompt closed,
      facts.chat->renderFor(
          *facts.tokenizer,
          whole->first(count, strCat(", \"", kPrompt, "\": false"))));
  if (cutAfter(closed, *request.begun))
    return closed;
  MTP_ASSIGN_OR_RETURN(
      ChatPrompt open,
      facts.chat->renderFor(
          *facts.tokenizer,
          whole->first(count - 1, strCat(", \"", kPrompt, "\": true"))));
  // No special token begins in the message's text.
  for (size_t i = 0; i < request.begun->size(); ++i)
    open.literals.push_back(open.text.size() + i);
  open.text += *request.begun;
  return open;
}

MaybeError serve::renderChat(const GenerationRequest &request,
                             const ModelFacts &facts, ChatPrompt &prompt) {
  Result<ChatPrompt> rendered =
      request.begun
          ? renderBegun(request, facts)
          : facts.chat->renderFor(*facts.tokenizer, request.conversation);
  if (!rendered)
    return templateError(rendered.status(), facts, request);
  prompt = std::move(*rendered);
  return std::nullopt;
}

MaybeError serve::encodeChat(const GenerationRequest &request,
                             const ModelFacts &facts,
                             const std::atomic<bool> *cancelled,
                             PreparedPrompt &prompt) {
  ChatPrompt rendered;
  if (MaybeError error = renderChat(request, facts, rendered))
    return error;
  EncodeOptions options;
  options.addSpecial = false;
  options.parseSpecial = true;
  options.literals = rendered.literals;
  options.cancelled = cancelled;
  Result<std::vector<int32_t>> ids =
      facts.tokenizer->encode(rendered.text, options);
  if (!ids)
    return errorOf(ids.status(), "messages");
  prompt.ids = std::move(*ids);
  prompt.text = std::move(rendered.text);
  return std::nullopt;
}

bool serve::hasTexts(const GenerationRequest &request) {
  return request.isChat ||
         std::ranges::any_of(request.prompts, &PromptSource::hasText);
}

MaybeError serve::preparePrompts(const GenerationRequest &request,
                                 const ModelFacts &facts,
                                 std::vector<PreparedPrompt> &prompts,
                                 const std::atomic<bool> *cancelled) {
  if (request.isChat) {
    PreparedPrompt &prompt = prompts.emplace_back();
    if (MaybeError error = encodeChat(request, facts, cancelled, prompt))
      return error;
    return checkLength(request, facts, prompt.ids.size());
  }
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
  sequence.rules = request.rules;
  sequence.constraint = request.constraint;
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
  sequence.kind = request.kind;
  sequence.stopTokens = request.stopTokens;
  sequence.ignoreEos = request.ignoreEos;
  sequence.k = request.k;
  sequence.draftPMin = request.draftPMin;
  const AskedScores &scores = request.scores;
  sequence.logprobs = {scores.output, scores.prompt, scores.mode};
  // An echoed prompt has the log-probabilities of the output.
  if (request.echo && scores.output)
    sequence.logprobs.prompt =
        std::max(*scores.output, scores.prompt.value_or(0));
  return sequence;
}

MaybeError serve::continueSequence(const Resumption &resumption, size_t index,
                                   Request &sequence) {
  const BegunAnswer *begun = resumption.find(index);
  if (!begun)
    return std::nullopt;
  const std::vector<int32_t> &tokens = begun->tokens;
  if (tokens.size() > sequence.maxTokens)
    return wrongField(strCat("resume.answers[", index, "].tokens"),
                      strCat("expected at most ", sequence.maxTokens,
                             " tokens, the answer's limit, got ",
                             tokens.size()));
  auto count = uint32_t(tokens.size());
  sequence.prompt.insert(sequence.prompt.end(), tokens.begin(), tokens.end());
  sequence.maxTokens -= count;
  sequence.rules.begunTokens = count;
  // The client has the prompt's log-probabilities.
  sequence.logprobs.prompt.reset();
  if (sequence.constraint && count > 0)
    sequence.constraint = continueConstraint(sequence.constraint, tokens);
  sequence.minTokens -= std::min(sequence.minTokens, count);
  return std::nullopt;
}
