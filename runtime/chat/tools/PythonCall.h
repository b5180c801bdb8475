//===- PythonCall.h - Calls in Python's form --------------------*- C++ -*-===//

#ifndef MTP_RUNTIME_CHAT_TOOLS_PYTHONCALL_H
#define MTP_RUNTIME_CHAT_TOOLS_PYTHONCALL_H

#include "runtime/chat/tools/CallText.h"

namespace mtp {

/// Reads NAME(key="value", other=[1, 2]). The call's events come at its end,
/// because only its whole text shows whether it is one.
class PythonCall {
public:
  /// `suffix` follows the tool's name and does not belong to it.
  explicit PythonCall(std::string_view suffix = "") : suffix(suffix) {}

  void reset();
  Match read(CallText &text);

private:
  Match readName(CallText &text);
  Match readArguments(CallText &text);
  /// Notes a byte of the arguments. Returns whether the call ends in front of
  /// the byte.
  bool endsAt(char c);

  std::string_view suffix;
  std::string name, arguments;
  bool hasName = false;
  /// The number of open brackets; the quote of the string, or zero; whether the
  /// byte before was a backslash in a string.
  size_t depth = 0;
  char quote = 0;
  bool isEscaped = false;
};

} // namespace mtp

#endif // MTP_RUNTIME_CHAT_TOOLS_PYTHONCALL_H
