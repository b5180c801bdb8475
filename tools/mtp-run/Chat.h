//===- Chat.h - mtp-run --chat ----------------------------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_RUN_CHAT_H
#define MTP_TOOLS_MTP_RUN_CHAT_H

#include "tools/mtp-run/Options.h"

namespace mtp {

/// What a session needs for chats: one slot, and as many drafts as there can
/// be, of which each answer takes its own number; where drafts are coloured,
/// updates of one round.
SessionOptions chatOptions(const RunOptions &options);

/// Talks with whoever is at standard input until that ends or says /quit.
/// `session` was made with chatOptions().
Status chat(Session &session, const RunOptions &options);

} // namespace mtp

#endif // MTP_TOOLS_MTP_RUN_CHAT_H
