//===- ChatCommands.h - Commands that begin with a slash --------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_RUN_CHATCOMMANDS_H
#define MTP_TOOLS_MTP_RUN_CHATCOMMANDS_H

#include "mtp/session.h"
#include "tools/mtp-run/Conversation.h"
#include "tools/mtp-run/Report.h"

namespace mtp {

/// The parts of a chat that commands read and change.
struct ChatState {
  Session &session;
  const std::string &artifact;
  Conversation conversation;
  /// Request::k of the following answers.
  uint32_t k = Request::kSessions;
  /// Statistics of the last answer; empty before the first.
  std::string lastAnswer;
  RunReport report;
  bool hasEnded = false;
};

/// Returns whether a message is a command: a slash and a letter.
bool isChatCommand(std::string_view message);

/// Runs a command and prints its output. Fails if the command does not exist or
/// cannot be run, which does not end the chat.
Status runChatCommand(std::string_view message, ChatState &state);

} // namespace mtp

#endif // MTP_TOOLS_MTP_RUN_CHATCOMMANDS_H
