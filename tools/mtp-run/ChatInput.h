//===- ChatInput.h - Input from the user ------------------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_RUN_CHATINPUT_H
#define MTP_TOOLS_MTP_RUN_CHATINPUT_H

#include "runtime/core/Result.h"

#include <string>

namespace mtp {

/// Reads messages from standard input. A message is a line; lines that end in a
/// backslash go on in the next, and what begins with """ goes on to a line that
/// ends with it.
class ChatInput {
public:
  enum class Kind { Message, Interrupted, End };

  /// `isTerminal`: a prompt is printed ahead of each line.
  explicit ChatInput(bool isTerminal) : isTerminal(isTerminal) {}

  /// Reads the next message. Fails when standard input cannot be read, or has
  /// more than a tokenizer takes.
  Result<Kind> read(std::string &message);

private:
  Result<Kind> readLine(const char *prompt, std::string &line);

  bool isTerminal;
  bool hasEnded = false;
  /// Read, and not handed out.
  std::string held;
};

} // namespace mtp

#endif // MTP_TOOLS_MTP_RUN_CHATINPUT_H
