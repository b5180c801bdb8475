//===- ObjectCall.h - Calls that are one JSON object ------------*- C++ -*-===//

#ifndef MTP_RUNTIME_CHAT_TOOLS_OBJECTCALL_H
#define MTP_RUNTIME_CHAT_TOOLS_OBJECTCALL_H

#include "runtime/chat/tools/CallText.h"
#include "runtime/chat/tools/JsonScanner.h"

namespace mtp {

/// Reads a JSON object and passes it on as the arguments of a call, unchanged.
class ArgumentsObject {
public:
  void reset();
  /// Continues. Returns No if the text is no object.
  Match read(CallText &text);

private:
  JsonScanner scanner;
  bool isInside = false;
};

/// Reads {"name": a string, "arguments": an object} in any order. `parameters`
/// may stand for `arguments`, and other members are dropped. Arguments that are
/// null or not given are {}.
class ObjectCall {
public:
  /// `isBare`: the object has no marks, and a member that no call has shows
  /// that it is data.
  explicit ObjectCall(bool isBare = false) : isBare(isBare) {}

  void reset();
  Match read(CallText &text);

private:
  enum class State : uint8_t {
    Open,
    FirstKey,
    Key,
    KeyText,
    Colon,
    Value,
    Next
  };
  enum class Member : uint8_t { Name, Arguments, Other };

  /// Each function continues in its state; Yes: the state has changed.
  Match readKey(CallText &text);
  Match readValue(CallText &text);
  Match readNext(CallText &text);
  bool beginValue(char first);
  Match scanValue(CallText &text);
  Match readToken(CallText &text);
  bool endValue(CallText &text);
  bool end(CallText &text);

  State state = State::Open;
  Member member = Member::Other;
  JsonScanner scanner;
  /// The text of the key or name so far.
  std::string token;
  /// Arguments in front of the name.
  std::string waiting;
  bool isBare, isInValue = false, hasName = false, hasArguments = false;
  /// Whether the arguments are null.
  bool isNull = false;
};

} // namespace mtp

#endif // MTP_RUNTIME_CHAT_TOOLS_OBJECTCALL_H
