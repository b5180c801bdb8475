//===- ChatCommands.h - Commands that begin with a slash --------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_RUN_CHATCOMMANDS_H
#define MTP_TOOLS_MTP_RUN_CHATCOMMANDS_H

#include "mtp/session.h"
#include "tools/mtp-run/Conversation.h"
#include "tools/mtp-run/Report.h"

namespace mtp {

/// What commands see of a chat, and change.
struct ChatState {
  Session &session;
  const std::string &artifact;
  Conversation conversation;
  /// Request::k of the answers to come.
  uint32_t k = Request::kSessions;
  /// What the last answer took; empty before the first.
  std::string lastAnswer;
  RunReport report;
  bool hasEnded = false;
};

/// Whether a message is a command: a slash and a letter.
bool isChatCommand(std::string_view message);

/// Runs a command and prints what it has to say. Fails for one that does not
/// exist or cannot do what it is asked, which does not end the chat.
Status runChatCommand(std::string_view message, ChatState &state);

} // namespace mtp

#endif // MTP_TOOLS_MTP_RUN_CHATCOMMANDS_H
