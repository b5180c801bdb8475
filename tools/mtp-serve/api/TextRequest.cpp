//===- TextRequest.cpp - Tokenize and detokenize requests -----------------===//

#include "tools/mtp-serve/api/TextRequest.h"
#include "runtime/core/StrCat.h"
#include "runtime/json/JsonWriter.h"
#include "runtime/utf8/Utf8.h"
#include "tools/mtp-serve/api/JsonFields.h"
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
  PromptTextOptions options;
};
} // namespace

static MaybeError readTokenize(const simdjson::dom::object &object,
                               const ModelFacts &facts, TokenizeBody &body,
                               HttpReply &reply) {
  for (auto [key, value] : object) {
    MaybeError error;
    if (key == "prompt" || key == "content") {
      error = readText(key, value, body.text);
      body.hasText = true;
    } else if (key == "add_special_tokens" || key == "add_special") {
      error = readFlag(key, value, body.options.addsStart);
    } else if (key == "parse_special") {
      error = readFlag(key, value, body.options.special);
    } else if (key == "with_pieces") {
      error = readFlag(key, value, body.hasPieces);
    } else if (key == "return_token_strs") {
      error = readFlag(key, value, body.hasStrings);
    } else if (key != "model") {
      error = ignore(key, facts, reply);
    }
    if (error)
      return error;
  }
  if (!body.hasText)
    return wrongField("prompt", "expected a 'prompt' or a 'content', got none");
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

MaybeError serve::answerTokenize(std::string_view text, const ModelFacts &facts,
                                 const std::atomic<bool> &cancelled,
                                 HttpReply &reply) {
  if (!facts.tokenizer)
    return noTokenizer();
  JsonBody json;
  TokenizeBody body;
  if (MaybeError error = json.parse(text))
    return error;
  if (MaybeError error = readTokenize(json.object(), facts, body, reply))
    return error;
  body.options.cancelled = &cancelled;
  Result<std::vector<int32_t>> ids =
      promptIds(body.text, body.options, facts.generation, *facts.tokenizer);
  if (!ids)
    return errorOf(ids.status(), "prompt");
  JsonWriter writer(JsonWriter::Layout::OneLine);
  writer.beginObject();
  writer.field("count", ids->size());
  writer.field("max_model_len", facts.maxContext);
  if (Status status = writeTokens(writer, *facts.tokenizer, *ids, body);
      !status.isOk())
    return ownErrorOf(status);
  writer.endObject();
  reply.body = writer.text();
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
