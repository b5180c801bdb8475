//===- ChatTemplate.h - Conversations to prompts ----------------*- C++ -*-===//

#ifndef MTP_RUNTIME_CHAT_CHATTEMPLATE_H
#define MTP_RUNTIME_CHAT_CHATTEMPLATE_H

#include "mtp/chat.h" // IWYU pragma: export

#endif // MTP_RUNTIME_CHAT_CHATTEMPLATE_H
