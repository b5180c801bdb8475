//===- ChatPrinter.h - Print an answer as it arrives ------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_RUN_CHATPRINTER_H
#define MTP_TOOLS_MTP_RUN_CHATPRINTER_H

#include "mtp/stream_decoder.h"
#include "runtime/chat/ReasoningSplitter.h"
#include "runtime/core/Result.h"

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
  ChatPrinter(const Tokenizer &tokenizer, ReasoningFormat format,
              std::string_view prompt, ChatLook look)
      : tokenizer(tokenizer), decoder(tokenizer), splitter(format, prompt),
        look(look) {}

  Status append(TokenId token, bool isDraft);
  Status finish();

  /// Returns the whole answer.
  const AnswerPart &answer() const { return all; }

private:
  enum class Style : uint8_t { Plain, Reasoning, Draft, DraftReasoning };

  Status print(const AnswerPart &part, bool isDraft);
  /// Returns `text` in a style, with escape sequences if they are wanted.
  std::string inStyle(Style style, std::string_view text);

  const Tokenizer &tokenizer;
  StreamDecoder decoder;
  ReasoningSplitter splitter;
  ChatLook look;
  AnswerPart all;
  Style current = Style::Plain;
};

} // namespace mtp

#endif // MTP_TOOLS_MTP_RUN_CHATPRINTER_H
