//===- TextRequest.cpp - Texts to ids and back, as asked for --------------===//

#include "tools/mtp-serve/TextRequest.h"
#include "runtime/core/StrCat.h"
#include "tools/mtp-serve/JsonFields.h"
#include "tools/support/Json.h"
#include "tools/support/PromptText.h"

using namespace mtp;
using namespace mtp::serve;

static ApiError noTokenizer() {
  ApiError error;
  error.message = "expected a model with a tokenizer, got one without";
  return error;
}

static ApiError unknownField(std::string_view field) {
  return wrongField(std::string(field), strCat("expected no '", field,
                                               "', which is not known here"));
}

namespace {
struct TokenizeBody {
  std::string text;
  bool hasText = false;
  bool hasPieces = false;
  PromptTextOptions options;
};
} // namespace

static MaybeError readTokenize(const simdjson::dom::object &object,
                               TokenizeBody &body) {
  for (auto [key, value] : object) {
    MaybeError error;
    if (key == "prompt" || key == "content") {
      error = readText(key, value, body.text);
      body.hasText = true;
    } else if (key == "add_special_tokens" || key == "add_special") {
      error = readFlag(key, value, body.options.addsStart);
    } else if (key == "parse_special") {
      error = readFlag(key, value, body.options.special);
    } else if (key == "with_pieces" || key == "return_token_strs") {
      error = readFlag(key, value, body.hasPieces);
    } else if (key != "model") {
      error = unknownField(key);
    }
    if (error)
      return error;
  }
  if (!body.hasText)
    return wrongField("prompt", "expected a 'prompt' or a 'content', got none");
  return std::nullopt;
}

MaybeError serve::answerTokenize(std::string_view text, const ModelFacts &facts,
                                 std::string &answer) {
  if (!facts.tokenizer)
    return noTokenizer();
  JsonBody json;
  TokenizeBody body;
  if (MaybeError error = json.parse(text))
    return error;
  if (MaybeError error = readTokenize(json.object(), body))
    return error;
  Result<std::vector<int32_t>> ids =
      promptIds(body.text, body.options, facts.generation, *facts.tokenizer);
  if (!ids)
    return errorOf(ids.status(), "prompt");
  JsonWriter writer(JsonWriter::Layout::OneLine);
  writer.beginObject();
  writer.field("count", ids->size());
  writer.field("max_model_len", facts.maxContext);
  writer.field("tokens", *ids);
  if (body.hasPieces) {
    writer.key("token_strs");
    writer.beginArray();
    // Each alone: what is no whole character becomes U+FFFD.
    for (int32_t id : *ids)
      writer.value(facts.tokenizer
                       ->decode({&id, 1}, {/*skipSpecial=*/false,
                                           /*atTextStart=*/false})
                       .value());
    writer.endArray();
  }
  writer.endObject();
  answer = writer.text();
  return std::nullopt;
}

MaybeError serve::answerDetokenize(std::string_view text,
                                   const ModelFacts &facts,
                                   std::string &answer) {
  if (!facts.tokenizer)
    return noTokenizer();
  JsonBody json;
  if (MaybeError error = json.parse(text))
    return error;
  std::vector<int32_t> ids;
  bool hasIds = false;
  int64_t most = int64_t(facts.tokenizer->vocabSize()) - 1;
  for (auto [key, value] : json.object()) {
    if (key == "model")
      continue;
    if (key != "tokens" || hasIds)
      return unknownField(key);
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
  answer = writer.text();
  return std::nullopt;
}
