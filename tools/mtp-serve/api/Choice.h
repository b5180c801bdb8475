//===- Choice.h - One answer as it is generated -----------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_SERVE_API_CHOICE_H
#define MTP_TOOLS_MTP_SERVE_API_CHOICE_H

#include "mtp/session.h"
#include "mtp/stream_decoder.h"
#include "runtime/chat/ReasoningSplitter.h"
#include "runtime/chat/StopStrings.h"
#include "tools/mtp-serve/api/Answers.h"
#include "tools/mtp-serve/api/tools/CallPieces.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace mtp::serve {

struct ChoiceOptions {
  /// Null: the answer has no text.
  const Tokenizer *tokenizer = nullptr;
  bool skipsSpecial = true;
  bool keepsIds = false;
  bool keepsRounds = false;
  std::vector<std::string> stops;
  /// Whether all tokens are left out, and whether the text ends with the stop
  /// string or stop token.
  bool isSilent = false;
  bool keepsStop = false;
  /// The number of first tokens whose text is not searched for stop strings.
  uint32_t minTokens = 0;
  /// How an answer in a conversation marks reasoning. `prompt` is the text of
  /// the prompt, in which the reasoning may already begin.
  ReasoningFormat reasoning = ReasoningFormat::None;
  std::string_view prompt;
  /// The tools that the answer may call; null: none.
  const ToolUse *tools = nullptr;
};

/// The new part of an answer, which waits for a reader.
struct PendingAnswer {
  std::string text, reasoning;
  /// The answer after `text`, from its first call on.
  CallPieces pieces;
  std::vector<int32_t> ids;
  /// The numbers of tokens and drafts of each Choice::take().
  AnswerRounds rounds;
  ScoreQueue scores;

  /// Takes the text or reasoning text since the last call: at most `most`
  /// bytes, in whole characters.
  std::string takeText(size_t most);
  std::string takeReasoning(size_t most);
  std::vector<int32_t> takeIds();
  AnswerRounds takeRounds();

  /// Returns the number of bytes that were not taken yet.
  size_t bytes() const {
    return text.size() + reasoning.size() + pieces.bytes() +
           (ids.size() + 2 * rounds.tokens.size()) * sizeof(int32_t) +
           scores.bytes();
  }
  /// Returns whether there is new text, or there are new ids or scores.
  bool hasNews() const {
    return !text.empty() || !reasoning.empty() || !pieces.isEmpty() ||
           !ids.empty() || scores.hasNews();
  }
};

/// Turns the tokens of one sequence into text, up to a stop string. Text that
/// was not taken yet waits here: at most the text of the context's tokens.
class Choice {
public:
  explicit Choice(ChoiceOptions options);

  /// Inserts text before the output, for `echo`. It is not searched for stops.
  void prepend(const std::string &text) { news.text += text; }

  /// Adds tokens; tokens after a stop string are dropped. `drafted` is the
  /// number of drafts made for them. `logprobs` has an element for each token,
  /// or none.
  Status take(std::span<const int32_t> tokens, uint32_t drafted = 0,
              std::span<const TokenLogprobs> logprobs = {});

  /// Sets the cost of the tokens so far. After a stop string was found, end()
  /// no longer changes it.
  void setStatistics(Statistics statistics) { numbers = std::move(statistics); }

  /// Ends the sequence; no more tokens follow. `stopToken` is the token that
  /// ended it, if one did.
  void end(FinishReason reason, Statistics statistics,
           std::optional<int32_t> stopToken = std::nullopt);

  /// Returns whether a stop string was found, or the only call is complete. The
  /// rest of the sequence is not needed then.
  bool hasStopped() const {
    return stops.stopped() || thoughtStops.stopped() ||
           (parts.calls && parts.calls->hasAll());
  }
  /// Returns whether no more text follows: the sequence has ended, or a stop
  /// string was found.
  bool isComplete() const { return finish != FinishReason::None; }
  bool hasEnded() const { return ended; }
  FinishReason finishReason() const { return finish; }
  /// Returns the stop string that was found; empty without one.
  const std::string &stopString() const {
    return stops.stopped() ? stops.found() : thoughtStops.found();
  }
  /// Returns the number of complete tool calls.
  size_t callCount() const { return parts.calls ? parts.calls->count() : 0; }
  /// Returns the token that ended the answer.
  std::optional<int32_t> stopToken() const { return endToken; }

  /// Returns the number of tokens, including the one that completed a stop
  /// string.
  size_t tokenCount() const { return count; }
  /// Returns the number of tokens that came before the end of the reasoning.
  size_t reasoningTokens() const { return thoughts; }
  const Statistics &statistics() const { return numbers; }

  PendingAnswer &pending() { return news; }
  const PendingAnswer &pending() const { return news; }

private:
  /// Adds text, or a part of an answer. `isSearched`: search it for stop
  /// strings.
  void add(std::string_view text, bool isSearched);
  void add(const AnswerPart &part, bool isSearched);
  /// Adds content that was searched.
  void addContent(std::string_view text);
  /// Adds the text that stop strings have held back.
  void addHeld();
  /// Ends the answer for a reason.
  void endFor(FinishReason reason);
  /// Adds the text of the token that ended the sequence.
  void addStopToken(int32_t token);
  Status takeToken(int32_t token);
  Status takeSpecial(int32_t token, bool isSearched);
  /// Decodes a token.
  Result<std::string> decode(int32_t token);
  /// Releases the scores of tokens whose text is certain.
  void releaseScores();

  std::optional<StreamDecoder> decoder;
  /// Stop strings for the answer and for the reasoning. Both run after the
  /// splitter, since marks and headers are no text.
  StopStrings stops, thoughtStops;
  /// The parts of the text: reasoning in front of content, and calls in it.
  struct Parts {
    std::optional<ReasoningSplitter> reasoning;
    std::optional<CallSplitter> calls;
  } parts;
  const Tokenizer *tokenizer;
  /// The options of these names.
  struct Flags {
    bool skipsSpecial, keepsIds, keepsRounds, isSilent, keepsStop;
  } flags;
  uint32_t minTokens;
  PendingAnswer news;
  size_t count = 0, thoughts = 0;
  /// Whether the latest text is reasoning.
  bool thinks = false;
  FinishReason finish = FinishReason::None;
  std::optional<int32_t> endToken;
  bool ended = false;
  Statistics numbers;
};

} // namespace mtp::serve

#endif // MTP_TOOLS_MTP_SERVE_API_CHOICE_H
