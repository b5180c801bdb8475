//===- ReasoningSplitter.h - Reasoning apart from the answer ----*- C++ -*-===//
//
// Models that reason put what they think between marks of their family's, ahead
// of the answer. Text comes in any pieces, and a mark may lie over several:
// what may become one is held back until it cannot, and nothing else is.
//
// Threads: for one thread at a time.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_CHAT_REASONINGSPLITTER_H
#define MTP_RUNTIME_CHAT_REASONINGSPLITTER_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mtp {

/// How a family marks reasoning.
enum class ReasoningFormat : uint8_t {
  None,      ///< Not at all.
  Think,     ///< <think>, </think>: DeepSeek, Qwen3, GLM-4.5, MiMo, MiniMax-M2.
  SeedThink, ///< <seed:think>, </seed:think>: Seed-OSS.
  Bracket,   ///< [THINK], [/THINK]: Magistral.
  Channel,   ///< <|channel>thought, <channel|>: Gemma 4.
  Harmony,   ///< Messages on channels, "analysis" among them: gpt-oss.
};

/// The format of a name: "none", "think", "seed-think", "bracket", "channel",
/// "harmony".
std::optional<ReasoningFormat> findReasoningFormat(std::string_view name);
/// All of these names, in order, for messages.
std::vector<std::string_view> reasoningFormatNames();

/// The format of a model with that chat template, by the marks that stand in
/// it; Think where there are none. An answer that does not begin with the mark
/// has no reasoning, so one too many does no harm.
ReasoningFormat detectReasoningFormat(std::string_view templateSource);

struct AnswerPart {
  std::string reasoning, content;
};

class ReasoningSplitter {
public:
  /// Begins an answer behind a prompt, which may have begun the reasoning.
  ReasoningSplitter(ReasoningFormat format, std::string_view prompt);

  /// Text of ordinary tokens, special ones left out.
  AnswerPart append(std::string_view text);
  /// The string of a special token. One that is no mark of the format is left
  /// out.
  AnswerPart appendSpecial(std::string_view token);
  /// Whether the string of a special token is a mark of the format. One that is
  /// none may go to append(), where special tokens are to be seen.
  bool isMark(std::string_view token) const;
  /// Ends the answer: what was held back.
  AnswerPart finish();

private:
  enum class State : uint8_t {
    Start,     ///< Nothing but white space yet; the opening mark may follow.
    Reasoning, ///< The closing mark will follow.
    Between,   ///< Behind the closing mark: line ends are not the answer's.
    Content,
    Header, ///< Harmony: whose message it is, and on which channel.
  };

  void split(bool isLast, AnswerPart &part);
  bool splitStart(bool isLast, AnswerPart &part);
  bool splitReasoning(bool isLast, AnswerPart &part);
  void splitHarmony(std::string_view token, AnswerPart &part);
  void addReasoning(std::string_view text, AnswerPart &part);

  ReasoningFormat format;
  State state = State::Start;
  std::string_view open, close;
  /// What has come and is not handed out.
  std::string held;
  /// Line ends at the end of the reasoning, which are not its own if it ends.
  size_t heldLines = 0;
  bool hasReasoned = false;
  /// Harmony: a message has begun.
  bool hasMessage = false;
};

} // namespace mtp

#endif // MTP_RUNTIME_CHAT_REASONINGSPLITTER_H
