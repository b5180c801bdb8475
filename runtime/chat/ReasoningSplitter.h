//===- ReasoningSplitter.h - Separates reasoning and answer -----*- C++ -*-===//
//
// A reasoning model writes its reasoning before the answer, between two marks
// of its family. Text arrives in pieces, and a mark may lie in several pieces.
// The splitter holds back only text that may become a mark.
//
// Threads: one thread at a time may use a splitter.
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

/// The marks that a family puts around reasoning.
enum class ReasoningFormat : uint8_t {
  None,      ///< No marks.
  Think,     ///< <think>, </think>: DeepSeek, Qwen3, GLM-4.5, MiMo, MiniMax-M2.
  SeedThink, ///< <seed:think>, </seed:think>: Seed-OSS.
  Bracket,   ///< [THINK], [/THINK]: Magistral.
  Channel,   ///< <|channel>thought, <channel|>: Gemma 4.
  Harmony,   ///< Messages on channels, "analysis" among them: gpt-oss.
};

/// Returns the format of a name: "none", "think", "seed-think", "bracket",
/// "channel", "harmony".
std::optional<ReasoningFormat> findReasoningFormat(std::string_view name);
/// Returns all names in order, for messages.
std::vector<std::string_view> reasoningFormatNames();

/// Returns the format whose marks occur in a chat template, or Think if no
/// marks do. A wrong format does no harm: an answer that does not begin with
/// the mark has no reasoning.
ReasoningFormat detectReasoningFormat(std::string_view templateSource);

/// The marks around the reasoning of an answer, and around its messages in
/// Harmony's format. Empty without reasoning.
struct ReasoningMarks {
  std::string_view open, close;
};
ReasoningMarks reasoningMarks(ReasoningFormat format);

/// The place at which an answer begins.
enum class ReasoningPlace : uint8_t {
  None,   ///< There is no reasoning.
  Before, ///< Reasoning may follow.
  Inside, ///< The prompt ends with the opening mark.
  After,  ///< The prompt ends with the closing mark.
};
ReasoningPlace findReasoningPlace(ReasoningFormat format,
                                  std::string_view prompt);

struct AnswerPart {
  std::string reasoning, content;
};

class ReasoningSplitter {
public:
  /// Begins the answer to a prompt. The prompt may contain the opening mark.
  /// `keepsCalls`: a call of Harmony is content with its header and marks,
  /// which begins with "<|start|>assistant".
  ReasoningSplitter(ReasoningFormat format, std::string_view prompt,
                    bool keepsCalls = false);

  /// Adds text of ordinary tokens.
  AnswerPart append(std::string_view text);
  /// Adds the string of a special token. A string that is not a mark of the
  /// format is dropped.
  AnswerPart appendSpecial(std::string_view token);
  /// Returns whether the string of a special token is a mark of the format. A
  /// caller that shows special tokens passes the others to append().
  bool isMark(std::string_view token) const;
  /// Ends the answer and returns the text that was held back.
  AnswerPart finish();

private:
  enum class State : uint8_t {
    Start,     ///< Only white space so far; the opening mark may follow.
    Reasoning, ///< The closing mark will follow.
    Between,   ///< After the closing mark, where line ends are dropped.
    Content,
    Header, ///< Harmony: the author and channel of a message.
  };

  void split(bool isLast, AnswerPart &part);
  bool splitStart(bool isLast, AnswerPart &part);
  bool splitReasoning(bool isLast, AnswerPart &part);
  void splitHarmony(std::string_view token, AnswerPart &part);
  std::string headerOfCall() const;
  void addReasoning(std::string_view text, AnswerPart &part);

  ReasoningFormat format;
  State state = State::Start;
  std::string_view open, close;
  /// Text that was added and not returned yet.
  std::string held;
  /// The number of line ends after the last text of the reasoning. They are
  /// dropped if the reasoning ends here.
  size_t heldLines = 0;
  bool hasReasoned = false;
  /// Harmony: whether a message has begun, whether calls keep their headers,
  /// and whether the message is such a call.
  bool hasMessage = false, keepsCalls = false, isInCall = false;
};

} // namespace mtp

#endif // MTP_RUNTIME_CHAT_REASONINGSPLITTER_H
