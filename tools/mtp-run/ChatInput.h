//===- ChatInput.h - Input from the user ------------------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_RUN_CHATINPUT_H
#define MTP_TOOLS_MTP_RUN_CHATINPUT_H

#include "runtime/core/Result.h"

#include <string>

namespace mtp {

/// Reads messages from standard input. A message is a line. A line that ends in
/// a backslash continues in the next one, and a message that begins with """
/// continues to a line that ends with """.
class ChatInput {
public:
  enum class Kind { Message, Interrupted, End };

  /// `isTerminal`: print a prompt before each line.
  explicit ChatInput(bool isTerminal) : isTerminal(isTerminal) {}

  /// Reads the next message. Fails if standard input cannot be read, or if the
  /// message is longer than a tokenizer's limit.
  Result<Kind> read(std::string &message);

private:
  Result<Kind> readLine(const char *prompt, std::string &line);

  bool isTerminal;
  bool hasEnded = false;
  /// Read, but not yet returned.
  std::string held;
};

} // namespace mtp

#endif // MTP_TOOLS_MTP_RUN_CHATINPUT_H
