//===- NativeAnswers.cpp - Completions of llama-server --------------------===//

#include "runtime/json/JsonTree.h"
#include "tools/mtp-serve/api/AnswerWriter.h"
#include "tools/mtp-serve/api/Sse.h"
#include "tools/mtp-serve/api/sampling/WriteScores.h"

#include <algorithm>
#include <optional>
#include <set>

using namespace mtp;
using namespace mtp::serve;

/// Returns llama-server's name for the end of an answer.
static const char *stopType(const ChoicePart &part) {
  if (part.stopString)
    return "word";
  if (part.finish == FinishReason::Stop)
    return "eos";
  return part.finish == FinishReason::Length ? "limit" : "none";
}

/// Returns the member at a path of names with / between them, if there is one.
static std::optional<simdjson::dom::element>
memberAt(simdjson::dom::element element, std::string_view path) {
  while (!path.empty()) {
    std::string_view name = path.substr(0, path.find('/'));
    path.remove_prefix(std::min(name.size() + 1, path.size()));
    if (element.at_key(name).get(element))
      return std::nullopt;
  }
  return element;
}

/// Returns an object of the members at the paths, under the paths' names. Paths
/// without a member are left out.
static std::string selected(const std::string &object,
                            const std::vector<std::string> &paths) {
  JsonTree tree;
  JsonWriter json(JsonWriter::Layout::OneLine);
  std::set<std::string_view> seen;
  json.beginObject();
  if (tree.parse(object).isOk())
    for (const std::string &path : paths)
      if (std::optional<simdjson::dom::element> member =
              memberAt(tree.root(), path);
          member && seen.insert(path).second) {
        json.key(path);
        json.raw(simdjson::minify(*member));
      }
  json.endObject();
  return json.text();
}

namespace {
class NativeWriter : public AnswerWriter {
public:
  explicit NativeWriter(const GenerationRequest &request) : request(request) {}

  /// Returns one object, or an array for several answers.
  std::string whole(const AnswerHead &head,
                    const std::vector<ChoicePart> &parts,
                    const Usage &) override {
    if (parts.size() == 1)
      return object(head, parts.front(), /*isWhole=*/true);
    std::string all = "[";
    for (const ChoicePart &part : parts)
      all += (all.size() > 1 ? ", " : "") + object(head, part, true);
    return all + "]";
  }
  std::string events(const AnswerHead &head, const ChoicePart &part,
                     const Usage &) override {
    return sseEvent(object(head, part, part.finish != FinishReason::None));
  }
  /// llama-server's own streams have no end mark.
  std::string lastEvents(const AnswerHead &, const Usage &,
                         const Timings &) override {
    return "";
  }

private:
  /// Returns an answer, or a part of one, as an object.
  std::string object(const AnswerHead &head, const ChoicePart &part,
                     bool isWhole) const;
  void writeSettings(JsonWriter &json, const ChoicePart &part) const;
  void writeEnd(JsonWriter &json, const AnswerHead &head,
                const ChoicePart &part) const;

  const GenerationRequest &request;
};
} // namespace

void NativeWriter::writeSettings(JsonWriter &json,
                                 const ChoicePart &part) const {
  const SamplingParams &sampling = request.sampling;
  uint32_t most = request.maxTokens.value_or(GenerationRequest::kRestOfContext);
  bool isLimited = most != GenerationRequest::kRestOfContext;
  json.key("generation_settings");
  json.beginObject();
  json.field("n_predict", isLimited ? int64_t(most) : -1);
  if (request.hasSeed)
    json.field("seed", sampling.seed + part.index % request.n);
  json.field("temperature", sampling.temperature);
  json.field("top_k", sampling.topK);
  json.field("top_p", sampling.topP);
  json.field("min_p", sampling.minP);
  json.key("stop");
  json.beginArray();
  for (const std::string &stop : request.stops)
    json.value(stop);
  json.endArray();
  json.field("ignore_eos", request.ignoreEos);
  json.field("stream", request.streams);
  json.field("n_probs", request.scores.output.value_or(0));
  json.field("post_sampling_probs", request.scores.showsShares);
  json.field("timings_per_token", request.timesEach);
  json.endObject();
}

void NativeWriter::writeEnd(JsonWriter &json, const AnswerHead &head,
                            const ChoicePart &part) const {
  json.field("id_slot", -1);
  json.field("model", head.model);
  writeSettings(json, part);
  json.field("prompt", part.prompt);
  json.field("truncated", false);
  json.field("stop_type", stopType(part));
  json.field("stopping_word", part.stopString.value_or(""));
  json.field("tokens_cached", part.promptTokens + part.outputTokens);
}

std::string NativeWriter::object(const AnswerHead &head, const ChoicePart &part,
                                 bool isWhole) const {
  JsonWriter json(JsonWriter::Layout::OneLine);
  json.beginObject();
  json.field("index", part.index);
  json.field("content", part.text);
  json.field("tokens", part.ids.value_or(std::vector<int32_t>()));
  json.field("stop", isWhole);
  if (part.promptIds && request.returnsIds)
    json.field("prompt_token_ids", *part.promptIds);
  if (part.scores && !part.scores->empty()) {
    json.key("completion_probabilities");
    ScoreWriter(json, request.scores, part.tokenizer,
                request.sampling.temperature == 0)
        .writeNative(*part.scores);
  }
  if (isWhole)
    writeEnd(json, head, part);
  json.field("tokens_predicted", part.outputTokens);
  json.field("tokens_evaluated", part.promptTokens);
  if (part.timings)
    writeTimings(json, *part.timings);
  if (part.progress)
    writeProgress(json, *part.progress);
  json.endObject();
  bool isCut = isWhole && !request.responseFields.empty();
  return isCut ? selected(json.text(), request.responseFields) : json.text();
}

std::unique_ptr<AnswerWriter>
serve::makeNativeWriter(const GenerationRequest &request) {
  return std::make_unique<NativeWriter>(request);
}
