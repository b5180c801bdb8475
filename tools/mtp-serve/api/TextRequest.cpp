//===- TextRequest.cpp - Tokenize and detokenize requests -----------------===//

#include "tools/mtp-serve/api/TextRequest.h"
#include "runtime/core/StrCat.h"
#include "runtime/json/JsonWriter.h"
#include "runtime/utf8/Utf8.h"
#include "tools/mtp-serve/api/JsonFields.h"
#include "tools/mtp-serve/api/Prompts.h"
#include "tools/mtp-serve/api/RequestParser.h"
#include "tools/support/PromptText.h"

using namespace mtp;
using namespace mtp::serve;

static ApiError noTokenizer() {
  ApiError error;
  error.message = "expected a model with a tokenizer, got one without";
  return error;
}

/// Adds an unknown field to the reply, or refuses it if the server is strict.
static MaybeError ignore(std::string_view field, const ModelFacts &facts,
                         HttpReply &reply) {
  if (facts.isStrict)
    return wrongField(std::string(field), strCat("expected no '", field,
                                                 "', which is not known here"));
  reply.ignored.emplace_back(field);
  return std::nullopt;
}

namespace {
struct TokenizeBody {
  std::string text;
  bool hasText = false;
  /// Options of llama.cpp's and of vLLM's replies.
  bool hasPieces = false;
  bool hasStrings = false;
  std::optional<bool> addsStart, isSpecial;
  /// The defaults depend on the name of the text.
  PromptTextOptions options;
};
} // namespace

/// Reads a field of a body with a text. Sets `isKnown` if there is such a
/// field.
static MaybeError readTokenizeField(std::string_view key,
                                    const JsonElement &value,
                                    TokenizeBody &body, bool &isKnown) {
  bool flag = false;
  if (key == "prompt" || key == "content") {
    // llama.cpp's defaults go with its name of the text.
    body.options.addsStart = key == "prompt";
    body.options.special = key == "content";
    body.hasText = true;
    return readText(key, value, body.text);
  }
  if (key == "with_pieces")
    return readFlag(key, value, body.hasPieces);
  if (key == "return_token_strs")
    return readFlag(key, value, body.hasStrings);
  bool isStart = key == "add_special_tokens" || key == "add_special";
  isKnown = isStart || key == "parse_special" || key == "model";
  if (!isKnown || key == "model")
    return std::nullopt;
  MaybeError error = readFlag(key, value, flag);
  (isStart ? body.addsStart : body.isSpecial) = flag;
  return error;
}

static MaybeError readTokenize(const simdjson::dom::object &object,
                               const ModelFacts &facts, TokenizeBody &body,
                               HttpReply &reply) {
  for (auto [key, value] : object) {
    bool isKnown = true;
    MaybeError error = readTokenizeField(key, value, body, isKnown);
    if (!error && !isKnown)
      error = ignore(key, facts, reply);
    if (error)
      return error;
  }
  if (!body.hasText)
    return wrongField("prompt", "expected a 'prompt', a 'content' or "
                                "'messages', got none");
  body.options.addsStart = body.addsStart.value_or(body.options.addsStart);
  body.options.special = body.isSpecial.value_or(body.options.special);
  return std::nullopt;
}

/// Writes {"id": 5, "piece": " the"}, or the piece's bytes if they are not
/// UTF-8.
static Status writePiece(JsonWriter &writer, const Tokenizer &tokenizer,
                         int32_t id) {
  MTP_ASSIGN_OR_RETURN(std::string_view piece, tokenizer.tokenToPiece(id));
  writer.beginObject();
  writer.field("id", id);
  if (isValidUtf8(piece)) {
    writer.field("piece", piece);
  } else {
    writer.key("piece");
    writer.beginArray();
    for (char byte : piece)
      writer.value(uint64_t(uint8_t(byte)));
    writer.endArray();
  }
  writer.endObject();
  return okStatus();
}

static Status writeTokens(JsonWriter &writer, const Tokenizer &tokenizer,
                          const std::vector<int32_t> &ids,
                          const TokenizeBody &body) {
  if (!body.hasPieces) {
    writer.field("tokens", ids);
  } else {
    writer.key("tokens");
    writer.beginArray();
    for (int32_t id : ids)
      MTP_RETURN_IF_ERROR(writePiece(writer, tokenizer, id));
    writer.endArray();
  }
  if (!body.hasStrings)
    return okStatus();
  writer.key("token_strs");
  writer.beginArray();
  for (int32_t id : ids) {
    // Decode each id alone; incomplete characters become U+FFFD.
    MTP_ASSIGN_OR_RETURN(std::string text,
                         tokenizer.decode({&id, 1}, {/*skipSpecial=*/false,
                                                     /*atTextStart=*/false}));
    writer.value(text);
  }
  writer.endArray();
  return okStatus();
}

/// Reads a conversation, with any field of a chat. The fields of the reply's
/// form are not of the chat.
static MaybeError readConversation(std::string_view text,
                                   const ModelFacts &facts,
                                   GenerationRequest &request,
                                   HttpReply &reply) {
  if (MaybeError error = parseChat(text, facts, request))
    return error;
  reply.ignored = request.ignored;
  return std::nullopt;
}

/// Encodes the text or the conversation of a body.
static MaybeError encodeBody(std::string_view text, const ModelFacts &facts,
                             const std::atomic<bool> &cancelled,
                             TokenizeBody &body, std::vector<int32_t> &ids,
                             HttpReply &reply) {
  JsonBody json;
  if (MaybeError error = json.parse(text))
    return error;
  JsonElement messages;
  if (!json.object().at_key("messages").get(messages)) {
    GenerationRequest request;
    PreparedPrompt prompt;
    if (MaybeError error = readConversation(text, facts, request, reply))
      return error;
    body.hasPieces = request.returnsPieces;
    body.hasStrings = request.returnsStrings;
    MaybeError error = encodeChat(request, facts, &cancelled, prompt);
    ids = std::move(prompt.ids);
    return error;
  }
  if (MaybeError error = readTokenize(json.object(), facts, body, reply))
    return error;
  body.options.cancelled = &cancelled;
  Result<std::vector<int32_t>> encoded =
      promptIds(body.text, body.options, facts.generation, *facts.tokenizer);
  if (!encoded)
    return errorOf(encoded.status(), "prompt");
  ids = std::move(*encoded);
  return std::nullopt;
}

MaybeError serve::answerTokenize(std::string_view text, const ModelFacts &facts,
                                 const std::atomic<bool> &cancelled,
                                 HttpReply &reply) {
  if (!facts.tokenizer)
    return noTokenizer();
  TokenizeBody body;
  std::vector<int32_t> ids;
  if (MaybeError error = encodeBody(text, facts, cancelled, body, ids, reply))
    return error;
  JsonWriter writer(JsonWriter::Layout::OneLine);
  writer.beginObject();
  writer.field("count", ids.size());
  writer.field("max_model_len", facts.maxContext);
  if (Status status = writeTokens(writer, *facts.tokenizer, ids, body);
      !status.isOk())
    return ownErrorOf(status);
  writer.endObject();
  reply.body = writer.text();
  return std::nullopt;
}

MaybeError serve::answerTemplate(std::string_view text, const ModelFacts &facts,
                                 const std::atomic<bool> &, HttpReply &reply) {
  GenerationRequest request;
  ChatPrompt prompt;
  if (MaybeError error = readConversation(text, facts, request, reply))
    return error;
  if (MaybeError error = renderChat(request, facts, prompt))
    return error;
  JsonWriter writer(JsonWriter::Layout::OneLine);
  writer.beginObject();
  writer.field("prompt", prompt.text);
  writer.endObject();
  reply.body = writer.text();
  return std::nullopt;
}

MaybeError serve::answerCount(std::string_view text, const ModelFacts &facts,
                              const std::atomic<bool> &cancelled,
                              HttpReply &reply) {
  GenerationRequest request;
  PreparedPrompt prompt;
  if (MaybeError error = parseCountedMessages(text, facts, request))
    return error;
  reply.ignored = request.ignored;
  if (MaybeError error = encodeChat(request, facts, &cancelled, prompt))
    return error;
  reply.body = strCat("{\"input_tokens\": ", prompt.ids.size(), "}");
  return std::nullopt;
}

MaybeError serve::answerDetokenize(std::string_view text,
                                   const ModelFacts &facts,
                                   const std::atomic<bool> &,
                                   HttpReply &reply) {
  if (!facts.tokenizer)
    return noTokenizer();
  JsonBody json;
  if (MaybeError error = json.parse(text))
    return error;
  std::vector<int32_t> ids;
  bool hasIds = false;
  int64_t most = int64_t(facts.vocab) - 1;
  for (auto [key, value] : json.object()) {
    if (key == "model")
      continue;
    if (key != "tokens") {
      if (MaybeError error = ignore(key, facts, reply))
        return error;
      continue;
    }
    if (hasIds)
      return wrongField("tokens", "expected one 'tokens', got another");
    if (MaybeError error = readIds(key, value, most, ids))
      return error;
    hasIds = true;
  }
  if (!hasIds)
    return wrongField("tokens", "expected 'tokens', got none");
  Result<std::string> decoded =
      facts.tokenizer->decode(ids, {/*skipSpecial=*/false});
  if (!decoded)
    return errorOf(decoded.status(), "tokens");
  JsonWriter writer(JsonWriter::Layout::OneLine);
  writer.beginObject();
  // vLLM's name, and llama.cpp's.
  writer.field("prompt", *decoded);
  writer.field("content", *decoded);
  writer.endObject();
  reply.body = writer.text();
  return std::nullopt;
}
