//===- GenerationRequest.h - A request to generate --------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_SERVE_API_GENERATIONREQUEST_H
#define MTP_TOOLS_MTP_SERVE_API_GENERATIONREQUEST_H

#include "mtp/session.h"
#include "runtime/grammar/Compile.h"
#include "tools/mtp-serve/api/ApiError.h"
#include "tools/mtp-serve/api/ModelFacts.h"
#include "tools/mtp-serve/api/sampling/AskedScores.h"
#include "tools/mtp-serve/api/tools/ToolUse.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mtp::serve {

/// A prompt as given in a body.
struct PromptSource {
  std::string text;
  /// Used if the prompt is given as ids.
  std::vector<int32_t> ids;
  bool isText = false;
  /// The texts and ids of a mixed prompt, which replace all other members.
  std::vector<PromptSource> parts = {};

  bool hasText() const { return isText || !parts.empty(); }
};

/// The API whose form the answer has: OpenAI's completions and chats,
/// llama-server's completions, Anthropic's messages, or OpenAI's responses.
enum class AnswerForm : uint8_t { OpenAi, Native, Messages, Responses };

/// An answer of which the client has events.
struct BegunAnswer {
  /// The output tokens that these events stand for, including tokens whose text
  /// is held back.
  std::vector<int32_t> tokens;
  /// Log-probabilities of the tokens, for an API whose last events repeat them;
  /// empty for others.
  std::vector<TokenLogprobs> scores;
  /// Why the answer has ended; None if the client does not have its end.
  FinishReason finish = FinishReason::None;
};

/// The content of the field "resume". A gate in front of several servers
/// continues a stream on another server if the first one dies. The gate adds
/// the field to the client's request. The server then writes comments into the
/// stream, which tell the gate the tokens of the events before them. The next
/// server gets these tokens, and its events go on where the client's events
/// end.
struct Resumption {
  /// The seed of the first answer, used if the request has no seed.
  std::optional<uint64_t> seed;
  /// The time in the answer, in seconds since 1970; zero: now.
  uint64_t created = 0;
  /// The number of events that the client has, in APIs that number them.
  uint64_t events = 0;
  /// One element for each of the first answers. An element is empty if the
  /// client has no event of its answer.
  std::vector<std::optional<BegunAnswer>> answers;

  /// Returns what the client has of an answer, or null.
  const BegunAnswer *find(size_t index) const {
    return index < answers.size() && answers[index] ? &*answers[index]
                                                    : nullptr;
  }
};

/// The grammar that a request asks for.
struct GrammarRequest {
  grammar::Source source;
  /// The field that errors of compile() concern, e.g.
  /// "response_format.json_schema.schema".
  std::string field;
  /// JSON without white space between tokens (`disable_any_whitespace`).
  bool isCompact = false;
  /// Whether it is the format of an answer, which calls of tools do not have.
  bool isAnswerFormat = false;
};

/// A body that asks for output. All values were checked against the model,
/// except the length of the prompts.
struct GenerationRequest {
  /// The largest number of sequences for one body.
  static constexpr uint32_t kMaxChoices = 256;
  static constexpr size_t kMaxStops = 16, kMaxStopBytes = 1024;
  /// The value of `maxTokens` for the rest of the context.
  static constexpr uint32_t kRestOfContext = UINT32_MAX;

  /// The name of the model in the request; empty: not given.
  std::string model;
  std::vector<PromptSource> prompts;
  /// A conversation instead of prompts, as JSON for the chat template.
  std::string conversation;
  bool isChat = false;
  /// The system's message of APIs that have a field for it.
  std::string instructions;
  /// The messages of these APIs as JSON, separated by commas; only for the
  /// parser.
  std::string turns;
  /// The last message's text, and whether the message is the assistant's and
  /// has no tool calls. After parsing, the text is set only if the answer
  /// continues it.
  std::optional<std::string> begun;
  bool endsWithAnswer = false;
  /// The fields add_generation_prompt and continue_final_message, if given.
  std::optional<bool> asksGenerationPrompt, continuesLast;
  AnswerForm form = AnswerForm::OpenAi;
  ToolUse tools;
  /// The JSON of a response's `text.format`; empty: not given.
  std::string givenFormat;

  /// Returns whether a grammar restricts the answers.
  bool isRestricted() const { return grammar || tools.isRestricted; }
  /// Returns the number of prompts; a conversation makes one.
  size_t promptCount() const { return isChat ? 1 : prompts.size(); }

  SamplingParams sampling;
  LogitRules rules;
  /// The grammar of the answers, and the constraint that it is compiled to
  /// before the sequences begin.
  std::optional<GrammarRequest> grammar;
  std::shared_ptr<const TokenConstraint> constraint;
  AskedScores scores;
  /// False: each answer gets another seed.
  bool hasSeed = false;
  /// The limit on tokens, which may exceed the context unless the server is
  /// strict. Zero: the prompt is read, and nothing is output.
  std::optional<uint32_t> maxTokens;
  /// The field that gave the limit on tokens: 'max_completion_tokens' if both
  /// are given.
  std::string maxTokensField = "max_tokens";
  std::vector<std::string> stops;
  std::vector<int32_t> stopTokens;
  /// The number of output tokens before which nothing ends an answer.
  uint32_t minTokens = 0;
  /// Scheduling priority; lower values run first.
  int32_t priority = 0;
  /// Prompts share pages only if their salts are equal.
  std::string cacheSalt;
  /// Kind of the request in profiles; empty: none.
  std::string kind;
  /// Seconds for the whole answer; zero: not given.
  float timeout = 0;
  /// The number of the request's key, from 1 on; zero: the server needs no key.
  uint64_t client = 0;
  /// The number of answers to each prompt.
  uint32_t n = 1;
  uint32_t k = Request::kSessions;
  std::optional<float> draftPMin;
  bool echo = false;
  /// Whether strings of special tokens in prompts are tokens.
  bool parsesSpecial = false;
  bool ignoreEos = false;
  bool addSpecialTokens = true;
  bool skipSpecialTokens = true;
  /// Whether answers contain token ids.
  bool returnsIds = false;
  /// Whether /tokenize returns the bytes or the text of each token.
  bool returnsPieces = false;
  bool returnsStrings = false;
  /// Whether answers contain the number of tokens that arrived together.
  bool returnsRounds = false;
  bool streams = false;
  /// Whether an answer ends with its stop string or stop token.
  bool keepsStop = false;
  /// Whether each part of a stream has times, and whether parts without text
  /// report how much of the prompt was read.
  bool timesEach = false;
  bool reportsProgress = false;
  /// Whether a stream has its usage after the last part, or in each part so
  /// far.
  bool includesUsage = false;
  bool hasUsageInAll = false;
  /// Set if the request comes from a gate, which may continue its stream
  /// elsewhere.
  std::optional<Resumption> resume;
  /// The samplers that apply; the others are off.
  struct Samplers {
    bool temperature = true, topK = true, topP = true, minP = true;
  };
  Samplers samplers;
  /// Members of llama-server's last object to write, with / between the names
  /// of nested ones; empty: all members.
  static constexpr size_t kMaxResponseFields = 64;
  std::vector<std::string> responseFields;
  /// Fields of the body that are not known.
  std::vector<std::string> ignored;
};

} // namespace mtp::serve

#endif // MTP_TOOLS_MTP_SERVE_API_GENERATIONREQUEST_H
