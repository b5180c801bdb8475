//===- ChatText.h - The chat template that a tool uses ----------*- C++ -*-===//

#ifndef MTP_TOOLS_SUPPORT_CHATTEXT_H
#define MTP_TOOLS_SUPPORT_CHATTEXT_H

#include "mtp/chat.h"
#include "mtp/model.h"
#include "mtp/tokenizer.h"

#include <memory>
#include <string>

namespace mtp {

/// Loads the template of `file`, or of the artifact if `file` is empty; null if
/// the artifact has none. A file's template uses the artifact's strings
/// ("bos_token"), or the tokenizer's, which may be null. Fails with the file's
/// errors and those of ChatTemplate::parse().
Result<std::shared_ptr<const ChatTemplate>>
loadChatTemplate(const Model &model, const Tokenizer *tokenizer,
                 const std::string &file);

} // namespace mtp

#endif // MTP_TOOLS_SUPPORT_CHATTEXT_H
