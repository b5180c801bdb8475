//===- CChat.cpp - Chat templates from C ----------------------------------===//

#include "runtime/api/CSupport.h"

#include "mtp/chat.h"

using namespace mtp;
using namespace mtp::capi;

struct mtp_chat {
  std::shared_ptr<const ChatTemplate> parsed;
  /// Owns the tables that the tokenizer points into.
  mtp_model model;
};

static Status checkRequest(const mtp_chat *chat, const char *request,
                           size_t length) {
  MTP_RETURN_IF_ERROR(need(chat, "a chat"));
  return needArray(request, length, "bytes of a request");
}

extern "C" {

mtp_status mtp_chat_create(const mtp_model *model, const char *source,
                           size_t length, mtp_chat **chat) {
  MTP_C_RETURN_IF_ERROR(need(model, "a model"));
  MTP_C_RETURN_IF_ERROR(need(chat, "room for a chat"));
  const ChatSource *own = model->model->chatTemplate();
  ChatSource used = own ? *own : ChatSource();
  if (source)
    used.templates = {{"default", std::string(source, length)}};
  if (used.templates.empty())
    return report(notFound("the artifact has no chat template"));
  auto parsed = ChatTemplate::parse(used);
  if (!parsed)
    return report(parsed.status());
  *chat = new mtp_chat{*std::move(parsed), {}};
  (*chat)->model.model = model->model;
  (*chat)->model.tokenizer = model->tokenizer;
  return MTP_OK;
}

void mtp_chat_free(mtp_chat *chat) { delete chat; }

mtp_status mtp_chat_render(const mtp_chat *chat, const char *request,
                           size_t length, char *text, size_t capacity,
                           size_t *count) {
  MTP_C_RETURN_IF_ERROR(checkRequest(chat, request, length));
  auto rendered = chat->parsed->render({request, length});
  if (!rendered)
    return report(rendered.status());
  return fill<char>(*rendered, text, capacity, count, "bytes of text");
}

mtp_status mtp_chat_encode(const mtp_chat *chat, const char *request,
                           size_t length, int32_t *tokens, size_t capacity,
                           size_t *count) {
  MTP_C_RETURN_IF_ERROR(checkRequest(chat, request, length));
  MTP_C_RETURN_IF_ERROR(needTokenizer(&chat->model));
  auto ids = chat->parsed->encode({request, length}, *chat->model.tokenizer);
  if (!ids)
    return report(ids.status());
  return fill<int32_t>(*ids, tokens, capacity, count, "tokens");
}

} // extern "C"
