//===- ResumedScores.cpp - Log-probabilities for a gate -------------------===//

#include "tools/mtp-serve/api/sampling/ResumedScores.h"
#include "runtime/core/StrCat.h"

#include <bit>

using namespace mtp;

void serve::writeResumedScores(JsonWriter &json,
                               std::span<const TokenLogprobs> scores) {
  json.beginArray();
  for (const TokenLogprobs &score : scores) {
    std::vector<int32_t> words{std::bit_cast<int32_t>(score.own.logprob)};
    for (const TokenLogprob &likely : score.likeliest) {
      words.push_back(likely.token);
      words.push_back(std::bit_cast<int32_t>(likely.logprob));
    }
    json.value(words);
  }
  json.endArray();
}

/// Reads the numbers of one token; returns false if they have another form.
static bool readScore(const simdjson::dom::element &element, uint32_t vocab,
                      TokenLogprobs &score) {
  simdjson::dom::array list;
  if (element.get(list) || list.size() % 2 == 0 ||
      list.size() > 1 + 2 * LogprobsRequest::kMost)
    return false;
  size_t count = 0;
  for (simdjson::dom::element item : list) {
    int64_t word = 0;
    if (item.get(word) || word < INT32_MIN || word > INT32_MAX)
      return false;
    float number = std::bit_cast<float>(int32_t(word));
    if (count == 0)
      score.own.logprob = number;
    else if (count % 2 == 0)
      score.likeliest.back().logprob = number;
    else if (word >= 0 && word < int64_t(vocab))
      score.likeliest.push_back({int32_t(word), 0});
    else
      return false;
    ++count;
  }
  return true;
}

Status serve::readResumedScores(const simdjson::dom::element &element,
                                uint32_t vocab,
                                std::vector<TokenLogprobs> &scores) {
  simdjson::dom::array list;
  if (element.get(list))
    return invalidArgument("expected an array");
  for (simdjson::dom::element item : list)
    if (!readScore(item, vocab, scores.emplace_back()))
      return invalidArgument(
          strCat("scores[", scores.size() - 1,
                 "]: expected the bits of a number, then up to ",
                 LogprobsRequest::kMost, " pairs of an id below ", vocab,
                 " and bits, got ", simdjson::minify(item).substr(0, 80)));
  return okStatus();
}

Status serve::pairResumedScores(std::span<const int32_t> tokens,
                                std::span<TokenLogprobs> scores) {
  if (!scores.empty() && scores.size() != tokens.size())
    return invalidArgument(strCat("expected one for each of the ",
                                  tokens.size(), " tokens, got ",
                                  scores.size()));
  for (size_t i = 0; i < scores.size(); ++i)
    scores[i].own.token = tokens[i];
  return okStatus();
}
