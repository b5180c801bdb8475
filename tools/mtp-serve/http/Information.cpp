//===- Information.cpp - Replies about the server and its model -----------===//

#include "runtime/core/StrCat.h"
#include "runtime/json/JsonWriter.h"
#include "runtime/utf8/Utf8.h"
#include "tools/mtp-serve/http/Routes.h"

#include <algorithm>

using namespace mtp;
using namespace mtp::serve;

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

/// Returns the name at the end of a single model's path; empty for the list.
static std::string modelOf(std::string_view path,
                           const std::vector<std::string> &names) {
  constexpr std::string_view kList = "/models/";
  size_t at = path.find(kList);
  std::string name(at == path.npos ? "" : path.substr(at + kList.size()));
  // A name may itself end in a slash.
  if (name.ends_with('/') && std::ranges::count(names, name) == 0)
    name.pop_back();
  return name;
}

RouteAnswer Routes::models(HttpRequest &request) {
  const ModelFacts &facts = dispatcher.model();
  JsonWriter json(JsonWriter::Layout::OneLine);
  std::string one = modelOf(request.path, facts.names);
  if (!one.empty()) {
    if (std::ranges::count(facts.names, one) == 0)
      return {refusal(404, strCat("expected the model '", facts.names.front(),
                                  "', got '", one, "'")),
              nullptr, nullptr};
    writeModel(json, facts, one);
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

RouteAnswer Routes::version(HttpRequest &) {
  RouteAnswer answer;
  JsonWriter json(JsonWriter::Layout::OneLine);
  json.beginObject();
  json.field("version", options.version);
  json.endObject();
  answer.reply.body = json.text();
  return answer;
}

namespace {
/// The parameters of a request that /slots and /props show.
struct SlotParams {
  SamplingParams sampling;
  int64_t mostTokens = -1;
  std::vector<std::string> stops;
  bool streams = false;
};
} // namespace

/// Returns the parameters that requests have by default.
static SlotParams defaultParams(const GenerationInfo &model) {
  SlotParams params;
  params.sampling.temperature = model.temperature;
  params.sampling.topK = model.topK;
  params.sampling.topP = model.topP;
  params.sampling.minP = model.minP;
  return params;
}

static SlotParams paramsOf(const GenerationRequest &request) {
  uint32_t most = request.maxTokens.value_or(GenerationRequest::kRestOfContext);
  bool isLimited = most != GenerationRequest::kRestOfContext;
  return {request.sampling, isLimited ? int64_t(most) : -1, request.stops,
          request.streams};
}

/// Writes parameters under llama-server's names.
static void writeParams(JsonWriter &json, const SlotParams &params) {
  json.key("params");
  json.beginObject();
  json.field("n_predict", params.mostTokens);
  json.field("temperature", params.sampling.temperature);
  json.field("top_k", params.sampling.topK);
  json.field("top_p", params.sampling.topP);
  json.field("min_p", params.sampling.minP);
  json.field("repeat_penalty", 1);
  json.field("presence_penalty", 0);
  json.field("frequency_penalty", 0);
  json.field("mirostat", 0);
  json.field("n_probs", 0);
  json.field("stream", params.streams);
  json.key("stop");
  json.beginArray();
  for (const std::string &stop : params.stops)
    json.value(stop);
  json.endArray();
  json.endObject();
}

/// Writes a slot. `task`: the sequence in it, or -1.
static void writeSlot(JsonWriter &json, const ModelFacts &facts, size_t id,
                      bool isProcessing, int64_t task,
                      const SlotParams &params) {
  json.field("id", id);
  json.field("id_task", task);
  json.field("n_ctx", facts.maxContext);
  json.field("speculative", facts.maxK > 0);
  json.field("is_processing", isProcessing);
  writeParams(json, params);
}

/// Writes how far a sequence is.
static void writeActive(JsonWriter &json, const ActiveSequence &active,
                        int64_t mostTokens) {
  const Generation &generation = *active.generation;
  const Choice &choice = generation.answerOf(active.handle).choice;
  auto decoded = int64_t(choice.tokenCount());
  json.key("next_token");
  json.beginObject();
  json.field("has_next_token", !choice.isComplete());
  json.field("n_remain", mostTokens < 0 ? -1 : mostTokens - decoded);
  json.field("n_decoded", decoded);
  json.endObject();
}

/// Writes the text of a token, or "" without one.
static void writeToken(JsonWriter &json, std::string_view name,
                       const ModelFacts &facts, std::optional<int32_t> id) {
  std::string_view text;
  if (id && facts.tokenizer)
    if (Result<std::string_view> piece = facts.tokenizer->tokenToPiece(*id);
        piece && isValidUtf8(*piece))
      text = *piece;
  json.field(name, text);
}

/// Answers /props, which llama-server's clients request.
RouteAnswer Routes::props(HttpRequest &) {
  const ModelFacts &facts = dispatcher.model();
  const std::vector<int32_t> &eos = facts.generation.eos;
  RouteAnswer answer;
  JsonWriter json(JsonWriter::Layout::OneLine);
  json.beginObject();
  json.key("default_generation_settings");
  json.beginObject();
  writeSlot(json, facts, 0, false, -1, defaultParams(facts.generation));
  json.endObject();
  // The page knows by it whether there is a template.
  if (facts.chat)
    json.field("chat_template", facts.chat->source());
  writeToken(json, "bos_token", facts, facts.generation.bos);
  writeToken(json, "eos_token", facts,
             eos.empty() ? std::nullopt : std::optional(eos.front()));
  json.field("total_slots", facts.slots);
  json.field("max_k", facts.maxK);
  json.field("model_alias", facts.names.front());
  json.field("model_path", facts.names.front());
  json.key("modalities");
  json.beginObject();
  json.field("vision", false);
  json.field("audio", false);
  json.endObject();
  json.field("is_sleeping", false);
  json.field("build_info", options.version);
  json.endObject();
  answer.reply.body = json.text();
  return answer;
}

/// Answers /slots of llama-server. Sequences have no fixed slot, so the first
/// slots count as busy. They show the oldest sequences that have had a slot.
RouteAnswer Routes::slots(HttpRequest &request) {
  const ModelFacts &facts = dispatcher.model();
  uint32_t busy = std::min(dispatcher.state().running, facts.slots);
  if (busy == facts.slots &&
      request.query.find("fail_on_no_slot=1") != std::string::npos)
    return {refusal(503, "expected a free slot, got none"), nullptr, nullptr};
  RouteAnswer answer;
  JsonWriter json(JsonWriter::Layout::OneLine);
  json.beginArray();
  std::vector<ActiveSequence> active = dispatcher.active();
  for (uint32_t i = 0; i < facts.slots; ++i) {
    bool isShown = i < std::min<size_t>(busy, active.size());
    SlotParams params = isShown ? paramsOf(active[i].generation->asked())
                                : defaultParams(facts.generation);
    json.beginObject();
    writeSlot(json, facts, i, i < busy,
              isShown ? int64_t(active[i].handle) : -1, params);
    if (isShown)
      writeActive(json, active[i], params.mostTokens);
    json.endObject();
  }
  json.endArray();
  answer.reply.body = json.text();
  return answer;
}

/// Answers /tokenizer_info of vLLM, with the members of transformers'
/// tokenizer_config.json that the artifact has.
RouteAnswer Routes::tokenizerInfo(HttpRequest &) {
  const ModelFacts &facts = dispatcher.model();
  if (!facts.tokenizer)
    return {refusal(404, "expected a model with a tokenizer, got one without"),
            nullptr, nullptr};
  const std::vector<int32_t> &eos = facts.generation.eos;
  RouteAnswer answer;
  JsonWriter json(JsonWriter::Layout::OneLine);
  json.beginObject();
  // The class of transformers that reads any tokenizer.json.
  json.field("tokenizer_class", "PreTrainedTokenizerFast");
  writeToken(json, "bos_token", facts, facts.generation.bos);
  writeToken(json, "eos_token", facts,
             eos.empty() ? std::nullopt : std::optional(eos.front()));
  writeToken(json, "unk_token", facts, facts.tokenizer->unkId());
  json.field("add_bos_token", facts.generation.addBos);
  json.field("model_max_length", facts.maxContext);
  json.field("vocab_size", facts.tokenizer->vocabSize());
  json.key("additional_special_tokens");
  json.beginArray();
  for (std::string_view token : facts.tokenizer->specialTokens())
    json.value(token);
  json.endArray();
  if (facts.chat)
    json.field("chat_template", facts.chat->source());
  json.endObject();
  answer.reply.body = json.text();
  return answer;
}

/// Answers /load of vLLM.
RouteAnswer Routes::load(HttpRequest &) {
  RouteAnswer answer;
  answer.reply.body =
      strCat("{\"server_load\": ", dispatcher.sequenceCount(), "}");
  return answer;
}
