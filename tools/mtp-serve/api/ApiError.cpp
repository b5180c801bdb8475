//===- ApiError.cpp - Error replies ---------------------------------------===//

#include "tools/mtp-serve/api/ApiError.h"
#include "runtime/json/JsonWriter.h"
#include "runtime/utf8/Utf8.h"

#include <algorithm>

using namespace mtp;
using namespace mtp::serve;

ApiError serve::wrongField(std::string param, std::string message) {
  ApiError error;
  error.message = std::move(message);
  error.param = std::move(param);
  return error;
}

ApiError serve::errorOf(const Status &status, std::string param) {
  ApiError error = wrongField(std::move(param), std::string(status.message()));
  switch (status.code()) {
  case StatusCode::InvalidArgument:
  case StatusCode::OutOfRange:
  case StatusCode::ResourceExhausted:
  case StatusCode::FailedPrecondition:
  case StatusCode::Unimplemented:
    break;
  case StatusCode::Unavailable:
    error.status = 503;
    break;
  case StatusCode::NotFound:
  case StatusCode::DataLoss:
  case StatusCode::Internal:
  case StatusCode::Ok:
    error.status = 500;
    break;
  }
  return error;
}

ApiError serve::ownErrorOf(const Status &status) {
  ApiError error = errorOf(status);
  error.status = std::max(error.status, 500u);
  return error;
}

/// Returns the error type that OpenAI's clients know.
static const char *typeOf(unsigned status) {
  switch (status) {
  case 401:
    return "authentication_error";
  case 404:
    return "not_found_error";
  case 429:
    return "rate_limit_error";
  default:
    return status < 500 ? "invalid_request_error" : "server_error";
  }
}

static void textOrNull(JsonWriter &json, const char *name,
                       const std::string &text) {
  json.key(name);
  if (text.empty())
    json.null();
  else
    json.value(text);
}

/// Replaces each byte that is not valid UTF-8 by U+FFFD, since a message may
/// quote a client's text.
static std::string repaired(std::string_view text) {
  std::string whole;
  for (size_t bad; (bad = findInvalidUtf8(text)) < text.size();) {
    whole += text.substr(0, bad);
    whole += "\xEF\xBF\xBD";
    text.remove_prefix(bad + 1);
  }
  return whole += text;
}

std::string serve::errorJson(const ApiError &error) {
  JsonWriter json(JsonWriter::Layout::OneLine);
  json.beginObject();
  // Anthropic's member.
  json.field("type", "error");
  json.key("error");
  json.beginObject();
  json.field("message", repaired(error.message));
  json.field("type", typeOf(error.status));
  textOrNull(json, "param", repaired(error.param));
  textOrNull(json, "code", error.code);
  // llama.cpp's names.
  if (error.contextTokens > 0) {
    json.field("n_prompt_tokens", error.promptTokens);
    json.field("n_ctx", error.contextTokens);
  }
  json.endObject();
  json.endObject();
  return json.text();
}
