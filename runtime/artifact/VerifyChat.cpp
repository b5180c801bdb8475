//===- VerifyChat.cpp - Checks of chat templates --------------------------===//

#include "runtime/artifact/SemanticVerifier.h"
#include "runtime/core/StrCat.h"
#include "runtime/schema/ChatLimits.h"

using namespace mtp;

/// Checks a vector of tables, each with a name and a text. There must be
/// `least` to `most` tables, with texts of at most `mostBytes` bytes.
template <typename T, typename TextOf>
static Status verifyTexts(const char *what, const Tables<T> *tables,
                          uint32_t least, uint32_t most, uint32_t mostBytes,
                          TextOf textOf) {
  uint32_t count = vectorSize(tables);
  if (count < least || count > most)
    return dataLoss(
        strCat(what, ": expected ", least, " to ", most, ", got ", count));
  std::vector<std::string_view> names;
  for (uint32_t i = 0; i < count; ++i) {
    names.push_back(tables->Get(i)->name()->string_view());
    size_t bytes = textOf(*tables->Get(i)).size();
    if (bytes < least || bytes > mostBytes)
      return dataLoss(strCat(what, "[", i, "]: expected ", least, " to ",
                             mostBytes, " bytes, got ", bytes));
  }
  return verifyNames(what, names);
}

Status mtp::verifyChat(const schema::Chat *chat) {
  if (!chat)
    return okStatus();
  MTP_RETURN_IF_ERROR(verifyTexts("chat.templates", chat->templates(), 1,
                                  kMostChatTemplates, kMostChatTemplateBytes,
                                  [](const schema::ChatTemplate &one) {
                                    return one.source()->string_view();
                                  }));
  return verifyTexts(
      "chat.tokens", chat->tokens(), 0, kMostChatTokens, kMostChatTokenBytes,
      [](const schema::ChatToken &one) { return one.text()->string_view(); });
}
