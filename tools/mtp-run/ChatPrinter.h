//===- ChatPrinter.h - Print an answer as it arrives ------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_RUN_CHATPRINTER_H
#define MTP_TOOLS_MTP_RUN_CHATPRINTER_H

#include "mtp/stream_decoder.h"
#include "runtime/chat/ReasoningSplitter.h"
#include "runtime/core/Result.h"
#include "tools/mtp-run/calls/ChatTools.h"

#include <string>
#include <string_view>

namespace mtp {

/// How an answer is shown.
struct ChatLook {
  /// Reasoning is dimmed; else it is printed between marker lines.
  bool isTerminal = false;
  /// Accepted drafts are green.
  bool showsDrafts = false;
};

/// Prints one answer and keeps its text.
class ChatPrinter {
public:
  /// `tools` may be null and must outlive the printer.
  ChatPrinter(const Tokenizer &tokenizer, ReasoningFormat format,
              std::string_view prompt, ChatLook look, const ChatTools *tools)
      : tokenizer(tokenizer), decoder(tokenizer),
        splitter(format, prompt, /*keepsCalls=*/tools != nullptr), look(look) {
    if (tools)
      calls.emplace(*tools);
  }

  Status append(TokenId token, bool isDraft);
  Status finish();

  /// Returns the whole answer. Its content is without tool calls.
  AnswerPart answer() const {
    return {all.reasoning, calls ? calls->content() : all.content};
  }
  /// Returns the JSON of the tool calls, separated by commas.
  std::string callsJson() const { return calls ? calls->calls() : ""; }

private:
  enum class Style : uint8_t { Plain, Reasoning, Draft, DraftReasoning };

  /// Prints a part whose content may have tool calls.
  Status print(AnswerPart part, bool isDraft);
  Status show(const AnswerPart &part, bool isDraft);
  /// Returns `text` in a style, with escape sequences if they are wanted.
  std::string inStyle(Style style, std::string_view text);

  const Tokenizer &tokenizer;
  StreamDecoder decoder;
  ReasoningSplitter splitter;
  std::optional<CallReport> calls;
  ChatLook look;
  /// The text that was shown.
  AnswerPart all;
  Style current = Style::Plain;
};

} // namespace mtp

#endif // MTP_TOOLS_MTP_RUN_CHATPRINTER_H
