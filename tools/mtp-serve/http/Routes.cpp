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

/// The path prefix of a single model.
static constexpr std::string_view kOneModel = "/v1/models/";

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
    {"GET", "/v1/models", &Routes::models},
    {"GET", "/health", &Routes::health, true},
    {"GET", "/metrics", &Routes::metrics},
    {"POST", "/tokenize", &Routes::tokenize},
    {"POST", "/detokenize", &Routes::detokenize},
    {"GET", "/version", &Routes::version},
    {"GET", "/props", &Routes::props},
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

static HttpReply refusal(unsigned status, std::string message,
                         std::string code = "") {
  ApiError error;
  error.status = status;
  error.code = std::move(code);
  error.message = std::move(message);
  return Routes::replyOf(error);
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
  if (path.starts_with(kOneModel))
    path = "/v1/models";
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

RouteAnswer Routes::chat(HttpRequest &request) {
  return generate(request, parseChat, "chatcmpl-");
}

static void writeModel(JsonWriter &json, const ModelFacts &facts,
                       const std::string &name) {
  json.beginObject();
  json.field("id", name);
  json.field("object", "model");
  json.field("created", facts.created);
  json.field("owned_by", "mtpc");
  json.field("root", facts.names.front());
  json.field("max_model_len", facts.maxContext);
  json.endObject();
}

RouteAnswer Routes::models(HttpRequest &request) {
  const ModelFacts &facts = dispatcher.model();
  JsonWriter json(JsonWriter::Layout::OneLine);
  if (request.path.starts_with(kOneModel) && request.path != kOneModel) {
    std::string name = request.path.substr(kOneModel.size());
    // A name may itself end in a slash.
    if (name.ends_with('/') && std::ranges::count(facts.names, name) == 0)
      name.pop_back();
    if (std::ranges::count(facts.names, name) == 0)
      return {refusal(404, strCat("expected the model '", facts.names.front(),
                                  "', got '", name, "'")),
              nullptr, nullptr};
    writeModel(json, facts, name);
  } else {
    json.beginObject();
    json.field("object", "list");
    json.key("data");
    json.beginArray();
    for (const std::string &name : facts.names)
      writeModel(json, facts, name);
    json.endArray();
    json.endObject();
  }
  RouteAnswer answer;
  answer.reply.body = json.text();
  return answer;
}

RouteAnswer Routes::health(HttpRequest &) {
  RouteAnswer answer;
  bool ends = dispatcher.isRefusing();
  answer.reply.status = ends ? 503 : 200;
  answer.reply.body = ends ? R"({"status": "ending"})" : R"({"status": "ok"})";
  return answer;
}

RouteAnswer Routes::metrics(HttpRequest &) {
  RouteAnswer answer;
  answer.reply.type = "text/plain; version=0.0.4; charset=utf-8";
  dispatcher.metrics().setBodyBytes(dispatcher.bodies()->used());
  answer.reply.body = dispatcher.metrics().text();
  return answer;
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

RouteAnswer Routes::version(HttpRequest &) {
  RouteAnswer answer;
  JsonWriter json(JsonWriter::Layout::OneLine);
  json.beginObject();
  json.field("version", options.version);
  json.endObject();
  answer.reply.body = json.text();
  return answer;
}

/// Answers /props, which llama.cpp's clients request.
RouteAnswer Routes::props(HttpRequest &) {
  const ModelFacts &facts = dispatcher.model();
  RouteAnswer answer;
  JsonWriter json(JsonWriter::Layout::OneLine);
  json.beginObject();
  json.key("default_generation_settings");
  json.beginObject();
  json.field("n_ctx", facts.maxContext);
  json.key("params");
  json.beginObject();
  json.field("temperature", facts.generation.temperature);
  json.field("top_k", facts.generation.topK);
  json.field("top_p", facts.generation.topP);
  json.field("min_p", facts.generation.minP);
  json.endObject();
  json.endObject();
  if (facts.chat)
    json.field("chat_template", facts.chat->source());
  json.field("total_slots", facts.slots);
  json.field("max_k", facts.maxK);
  json.field("model_alias", facts.names.front());
  json.field("build_info", options.version);
  json.endObject();
  answer.reply.body = json.text();
  return answer;
}
