//===- ChatText.cpp - The chat template that a tool uses ------------------===//

#include "tools/support/ChatText.h"
#include "runtime/core/StrCat.h"
#include "tools/support/TextFile.h"

#include <optional>

using namespace mtp;

/// Adds the special tokens that an artifact with its own template would
/// contain.
static void addTokens(const Tokenizer &tokenizer, ChatSource &source) {
  auto add = [&](const char *name, std::optional<TokenId> id) {
    if (id)
      if (Result<std::string_view> piece = tokenizer.tokenToPiece(*id))
        source.tokens.emplace_back(name, std::string(*piece));
  };
  add("bos_token", tokenizer.bosId());
  add("eos_token", tokenizer.eosId());
}

Result<std::shared_ptr<const ChatTemplate>>
mtp::loadChatTemplate(const Model &model, const Tokenizer *tokenizer,
                      const std::string &file) {
  ChatSource source;
  if (model.chatTemplate())
    source = *model.chatTemplate();
  else if (tokenizer)
    addTokens(*tokenizer, source);
  if (!file.empty()) {
    Result<std::string> text = readTextFile(file);
    if (!text)
      return text.status().withContext(strCat("--chat-template ", file));
    source.templates = {{"default", std::move(*text)}};
  }
  if (source.templates.empty())
    return std::shared_ptr<const ChatTemplate>();
  Result<std::shared_ptr<const ChatTemplate>> chat =
      ChatTemplate::parse(source);
  if (!chat)
    return chat.status().withContext(
        file.empty()
            ? "the artifact's chat template (--chat-template replaces it)"
            : file);
  return chat;
}
