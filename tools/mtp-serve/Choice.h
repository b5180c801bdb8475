//===- Choice.h - One answer as it comes ------------------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_SERVE_CHOICE_H
#define MTP_TOOLS_MTP_SERVE_CHOICE_H

#include "mtp/session.h"
#include "mtp/stream_decoder.h"
#include "runtime/chat/ReasoningSplitter.h"
#include "tools/mtp-serve/Answers.h"
#include "tools/mtp-serve/StopStrings.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace mtp::serve {

struct ChoiceOptions {
  /// Null: there is no text.
  const Tokenizer *tokenizer = nullptr;
  bool skipsSpecial = true;
  bool keepsIds = false;
  bool keepsRounds = false;
  std::vector<std::string> stops;
  /// Tokens whose text is not searched for these.
  uint32_t minTokens = 0;
  /// Of a conversation's answer: how reasoning is marked, and the text of the
  /// prompt, which may have begun it.
  ReasoningFormat reasoning = ReasoningFormat::None;
  std::string_view prompt;
};

/// Makes text of the tokens of one sequence, up to a stop string. What came and
/// nobody has taken yet waits here: at most what the context's tokens spell.
class Choice {
public:
  explicit Choice(ChoiceOptions options);

  /// Puts text before what comes, as `echo` wants it. Not searched for stops.
  void prepend(const std::string &text) { pending.text += text; }

  /// Tokens behind a stop string are dropped. `drafted` drafts were made for
  /// them.
  Status take(std::span<const int32_t> tokens, uint32_t drafted = 0);

  /// Sets the cost of the tokens so far. After a stop string was found, end()
  /// no longer changes it.
  void setStatistics(Statistics statistics) { numbers = std::move(statistics); }

  /// The sequence has ended; nothing more comes.
  void end(FinishReason reason, Statistics statistics);

  /// A stop string was found: the rest of the sequence is of no use.
  bool hasStopped() const { return stops.stopped() || thoughtStops.stopped(); }
  /// No more text comes: the sequence has ended, or a stop string was found.
  bool isComplete() const { return finish != FinishReason::None; }
  bool hasEnded() const { return ended; }
  FinishReason finishReason() const { return finish; }

  /// Up to and with the one that completed a stop string.
  size_t tokenCount() const { return count; }
  const Statistics &statistics() const { return numbers; }

  /// What has come since the last call, of text at most `most` bytes and whole
  /// characters.
  std::string takeText(size_t most);
  /// The same of what was thought.
  std::string takeReasoning(size_t most);
  std::vector<int32_t> takeIds();
  /// What each take() brought.
  AnswerRounds takeRounds();
  /// Bytes that nobody has taken.
  size_t pendingBytes() const {
    return pending.text.size() + pending.reasoning.size() +
           (ids.size() + 2 * rounds.tokens.size()) * sizeof(int32_t);
  }
  /// Whether something has come; ids count too.
  bool hasNews() const {
    return !pending.text.empty() || !pending.reasoning.empty() || !ids.empty();
  }

private:
  /// What nobody has taken.
  struct Pending {
    std::string text, reasoning;
  };

  /// Text, or a part of it, that is searched for stop strings or is not.
  void add(std::string_view text, bool isSearched);
  void add(AnswerPart part, bool isSearched);
  /// What stop strings have held back is text.
  void addHeld();
  Status takeSpecial(int32_t token, bool isSearched);

  std::optional<StreamDecoder> decoder;
  /// Of the answer, and of what was thought: behind the splitter, for marks and
  /// headers are no text.
  StopStrings stops, thoughtStops;
  std::optional<ReasoningSplitter> splitter;
  const Tokenizer *tokenizer;
  bool skipsSpecial, keepsIds, keepsRounds;
  uint32_t minTokens;
  Pending pending;
  std::vector<int32_t> ids;
  AnswerRounds rounds;
  size_t count = 0;
  FinishReason finish = FinishReason::None;
  bool ended = false;
  Statistics numbers;
};

} // namespace mtp::serve

#endif // MTP_TOOLS_MTP_SERVE_CHOICE_H
