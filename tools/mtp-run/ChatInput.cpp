//===- ChatInput.cpp - Input from the user --------------------------------===//

#include "tools/mtp-run/ChatInput.h"

#include "runtime/core/StrCat.h"
#include "runtime/tokenizer/Tokenizer.h"
#include "tools/mtp-run/Interrupt.h"
#include "tools/support/Output.h"

#include <cerrno>
#include <cstring>
#include <unistd.h>

using namespace mtp;

static constexpr std::string_view kQuotes = "\"\"\"";

/// Reads a line without its newline. The last one may lack it.
Result<ChatInput::Kind> ChatInput::readLine(const char *prompt,
                                            std::string &line) {
  if (isTerminal)
    MTP_RETURN_IF_ERROR(writeStandardOutput(prompt, "the prompt"));
  size_t end = held.find('\n');
  while (end == held.npos && !hasEnded) {
    char block[4096];
    if (!waitForInput()) {
      takeInterrupt();
      held.clear();
      return wasInterrupted() ? Kind::End : Kind::Interrupted;
    }
    ssize_t count = ::read(STDIN_FILENO, block, sizeof(block));
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return invalidArgument(
          strCat("cannot read standard input: ", std::strerror(errno)));
    if (held.size() > Tokenizer::kMaxTextBytes)
      return outOfRange(strCat("expected lines of at most ",
                               Tokenizer::kMaxTextBytes, " bytes"));
    hasEnded = count == 0;
    size_t searched = held.size();
    held.append(block, size_t(count));
    end = held.find('\n', searched);
  }
  if (end == held.npos && held.empty())
    return Kind::End;
  line = held.substr(0, end);
  held.erase(0, end == held.npos ? end : end + 1);
  return Kind::Message;
}

Result<ChatInput::Kind> ChatInput::read(std::string &message) {
  MTP_ASSIGN_OR_RETURN(Kind kind, readLine("> ", message));
  if (kind != Kind::Message)
    return kind;
  bool isQuoted = message.starts_with(kQuotes);
  if (isQuoted)
    message.erase(0, kQuotes.size());
  while (isQuoted ? !message.ends_with(kQuotes) : message.ends_with('\\')) {
    std::string line;
    MTP_ASSIGN_OR_RETURN(kind, readLine(". ", line));
    // At the end of the input an incomplete message counts.
    if (kind == Kind::End && !wasInterrupted())
      return Kind::Message;
    if (kind != Kind::Message)
      return kind;
    if (!isQuoted)
      message.pop_back();
    message += '\n' + line;
    if (message.size() > Tokenizer::kMaxTextBytes)
      return outOfRange(strCat("expected messages of at most ",
                               Tokenizer::kMaxTextBytes, " bytes"));
  }
  if (isQuoted)
    message.resize(message.size() - kQuotes.size());
  return Kind::Message;
}
