//===- Chat.h - mtp-run --chat ----------------------------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_RUN_CHAT_H
#define MTP_TOOLS_MTP_RUN_CHAT_H

#include "tools/mtp-run/Options.h"

namespace mtp {

/// Returns the session options for chats: one slot, and the largest k, of which
/// each answer uses its own number of drafts. If drafts are coloured, updates
/// are one round each.
SessionOptions chatOptions(const RunOptions &options);

/// Runs a chat on standard input until it ends or the user enters /quit.
/// `session` was made with chatOptions().
Status chat(Session &session, const RunOptions &options);

} // namespace mtp

#endif // MTP_TOOLS_MTP_RUN_CHAT_H
