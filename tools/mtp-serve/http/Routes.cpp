//===- Routes.cpp - Replies by path ---------------------------------------===//

#include "tools/mtp-serve/http/Routes.h"
#include "runtime/core/StrCat.h"
#include "runtime/json/JsonWriter.h"
#include "tools/mtp-serve/api/RequestParser.h"
#include "tools/mtp-serve/api/TextRequest.h"
#include "tools/mtp-serve/http/Page.h"

#include <algorithm>

using namespace mtp;
using namespace mtp::serve;

struct Routes::Route {
  std::string_view method, path;
  RouteAnswer (Routes::*answer)(HttpRequest &request);
  /// True if the route needs no key: for monitoring, and for the page in which
  /// a user enters a key.
  bool isOpen = false;
};

const Routes::Route Routes::kRoutes[] = {
    {"GET", "/", &Routes::page, true},
    {"POST", "/v1/completions", &Routes::completions},
    {"POST", "/v1/chat/completions", &Routes::chat},
    {"POST", "/chat/completions", &Routes::chat},
    {"POST", "/completion", &Routes::nativeCompletions},
    {"POST", "/completions", &Routes::nativeCompletions},
    {"POST", "/v1/messages", &Routes::messages},
    {"POST", "/v1/messages/count_tokens", &Routes::countTokens},
    {"POST", "/v1/responses", &Routes::responses},
    {"GET", "/v1/models", &Routes::models},
    {"GET", "/models", &Routes::models},
    {"GET", "/health", &Routes::health, true},
    {"GET", "/v1/health", &Routes::health, true},
    {"GET", "/ping", &Routes::health, true},
    {"POST", "/ping", &Routes::health, true},
    {"GET", "/metrics", &Routes::metrics},
    {"GET", "/load", &Routes::load},
    {"POST", "/tokenize", &Routes::tokenize},
    {"POST", "/detokenize", &Routes::detokenize},
    {"POST", "/apply-template", &Routes::applyTemplate},
    {"GET", "/version", &Routes::version},
    {"GET", "/props", &Routes::props},
    {"GET", "/slots", &Routes::slots},
    {"POST", "/slots/ID", &Routes::saveSlot},
    {"GET", "/tokenizer_info", &Routes::tokenizerInfo},
};

bool serve::isSameKey(std::string_view key, std::string_view given) {
  unsigned char differs = key.size() == given.size() ? 0 : 1;
  for (size_t i = 0; i < given.size(); ++i)
    differs |= (unsigned char)(given[i]) ^
               (unsigned char)(key.empty() ? 0 : key[i % key.size()]);
  return differs == 0;
}

static std::string lowered(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c;
  });
  return lower;
}

bool Routes::isAllowed(HttpRequest &request) const {
  constexpr std::string_view kScheme = "bearer ";
  std::string_view given = request.authorization;
  if (lowered(given.substr(0, kScheme.size())) == kScheme)
    given.remove_prefix(kScheme.size());
  else
    given = "";
  given.remove_prefix(std::min(given.find_first_not_of(' '), given.size()));
  bool isOne = options.keys.empty();
  for (size_t i = 0; i < options.keys.size(); ++i) {
    // Both are compared, so that the time tells nothing.
    bool isBearer = isSameKey(options.keys[i], given);
    bool isThis = isSameKey(options.keys[i], request.apiKey) || isBearer;
    isOne |= isThis;
    request.client += isThis * (i + 1 - request.client);
  }
  return isOne;
}

HttpReply Routes::replyOf(const ApiError &error) {
  HttpReply reply;
  reply.status = error.status;
  reply.body = errorJson(error);
  if (error.status == 401)
    reply.headers.emplace_back("WWW-Authenticate", "Bearer");
  if (error.retryAfter > 0)
    reply.headers.emplace_back("Retry-After", std::to_string(error.retryAfter));
  return reply;
}

HttpReply Routes::refusal(unsigned status, std::string message,
                          std::string code) {
  ApiError error;
  error.status = status;
  error.code = std::move(code);
  error.message = std::move(message);
  return replyOf(error);
}

static bool isJson(std::string_view type) {
  constexpr std::string_view kJson = "application/json";
  std::string lower = lowered(type.substr(0, kJson.size()));
  std::string_view rest = type.substr(std::min(type.size(), kJson.size()));
  return lower == kJson && (rest.empty() || rest[0] == ';' || rest[0] == ' ');
}

/// Finds the route of a request, and lists the methods of its path in
/// `allowed`; empty if there is no such path.
const Routes::Route *Routes::findRoute(const HttpRequest &request,
                                       std::string &allowed) {
  std::string_view method = request.method, path = request.path;
  if (method == "HEAD")
    method = "GET";
  if (path.size() > 1 && path.ends_with('/'))
    path.remove_suffix(1);
  // A single model's path is below the list of models.
  for (std::string_view list : {"/v1/models", "/models"})
    if (path.size() > list.size() && path.starts_with(list) &&
        path[list.size()] == '/')
      path = list;
  if (path.starts_with("/slots/"))
    path = "/slots/ID";
  const Route *found = nullptr;
  for (const Route &route : kRoutes)
    if (route.path == path) {
      allowed += strCat(allowed.empty() ? "" : ", ", route.method);
      if (route.method == method)
        found = &route;
    }
  return found;
}

std::optional<HttpReply> Routes::answerHeader(HttpRequest &request) const {
  std::string allowed;
  const Route *found = findRoute(request, allowed);
  // A page's preflight request has no key.
  if (request.method == "OPTIONS" && !allowed.empty())
    return HttpReply{204, "", "", {{"Allow", allowed + ", OPTIONS"}}};
  if (!(found && found->isOpen) && !isAllowed(request))
    return refusal(401,
                   "expected 'Authorization: Bearer' or 'X-Api-Key' with a key "
                   "of this server",
                   "invalid_api_key");
  if (allowed.empty())
    return refusal(
        404, strCat("expected a path of the API, got '", request.path, "'"));
  if (!found) {
    HttpReply reply =
        refusal(405, strCat("expected ", allowed, " for ", request.path,
                            ", got ", request.method));
    reply.headers.emplace_back("Allow", allowed);
    return reply;
  }
  // A page can send other content types to another host without preflight, but
  // not JSON. Browsers mark each POST of a page.
  if (found->method == "POST" && request.isFromPage &&
      !isJson(request.contentType))
    return refusal(415, strCat("expected Content-Type: application/json, got '",
                               request.contentType, "'"));
  return std::nullopt;
}

RouteAnswer Routes::answer(HttpRequest &request) {
  std::string allowed;
  return (this->*findRoute(request, allowed)->answer)(request);
}

RouteAnswer Routes::page(HttpRequest &) {
  RouteAnswer answer;
  answer.reply.type = "text/html; charset=utf-8";
  answer.reply.body = pageText();
  // The page is self-contained and calls only this server.
  answer.reply.headers = {
      {"Content-Security-Policy",
       "default-src 'none'; style-src 'unsafe-inline'; script-src "
       "'unsafe-inline'; img-src data:; connect-src 'self'; base-uri 'none'; "
       "form-action 'none'; frame-ancestors 'none'"},
      {"X-Content-Type-Options", "nosniff"},
      {"Referrer-Policy", "no-referrer"}};
  return answer;
}

RouteAnswer Routes::generate(HttpRequest &request, BodyParser *parse,
                             std::string_view idPrefix) {
  GenerationRequest parsed;
  RouteAnswer answer;
  MaybeError error = parse(request.body, dispatcher.model(), parsed);
  parsed.client = request.client;
  answer.reply.ignored = parsed.ignored;
  if (!error)
    error = dispatcher.start(std::move(parsed), strCat(idPrefix, request.id),
                             answer.generation);
  if (error) {
    answer.reply = replyOf(*error);
    return answer;
  }
  answer.generation->holdBody(std::move(request.share));
  return answer;
}

RouteAnswer Routes::completions(HttpRequest &request) {
  return generate(request, parseCompletion, "cmpl-");
}

RouteAnswer Routes::nativeCompletions(HttpRequest &request) {
  return generate(request, parseNative, "cmpl-");
}

RouteAnswer Routes::chat(HttpRequest &request) {
  return generate(request, parseChat, "chatcmpl-");
}

/// Returns an answer that `answer` makes from a body on the worker's thread.
static RouteAnswer
textWork(HttpRequest &request, const ModelFacts &facts,
         MaybeError (*answer)(std::string_view, const ModelFacts &,
                              const std::atomic<bool> &, HttpReply &)) {
  RouteAnswer later;
  later.text = std::make_shared<TextJob>();
  later.text->client = request.client;
  later.text->share = std::move(request.share);
  // The job owns its work, so it lives longer.
  const std::atomic<bool> &isDropped = later.text->isDropped;
  later.text->work = [body = std::move(request.body), &facts, &isDropped,
                      answer] {
    HttpReply reply;
    if (MaybeError error = answer(body, facts, isDropped, reply))
      reply = Routes::replyOf(*error);
    return reply;
  };
  return later;
}

RouteAnswer Routes::tokenize(HttpRequest &request) {
  return textWork(request, dispatcher.model(), answerTokenize);
}

RouteAnswer Routes::detokenize(HttpRequest &request) {
  return textWork(request, dispatcher.model(), answerDetokenize);
}

RouteAnswer Routes::messages(HttpRequest &request) {
  return generate(request, parseMessages, "msg_");
}

RouteAnswer Routes::countTokens(HttpRequest &request) {
  return textWork(request, dispatcher.model(), answerCount);
}

RouteAnswer Routes::responses(HttpRequest &request) {
  return generate(request, parseResponses, "resp_");
}

RouteAnswer Routes::applyTemplate(HttpRequest &request) {
  return textWork(request, dispatcher.model(), answerTemplate);
}
