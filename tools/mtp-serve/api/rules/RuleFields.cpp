//===- RuleFields.cpp - Fields that change logits -------------------------===//

#include "runtime/core/StrCat.h"
#include "tools/mtp-serve/api/FieldReaders.h"

#include <algorithm>
#include <charconv>
#include <limits>

using namespace mtp;
using namespace mtp::serve;
using simdjson::dom::array;
using simdjson::dom::object;

/// Fails if the model was imported without rules.
static MaybeError needRules(std::string_view field, const Reading &to) {
  if (to.facts.hasLogitRules)
    return std::nullopt;
  return wrongField(std::string(field),
                    strCat("expected no '", field,
                           "', as the model was imported with "
                           "--without-logit-rules or an --accept rule other "
                           "than exact"));
}

/// Reads a penalty that is off at `neutral`.
static MaybeError readPenalty(std::string_view field,
                              const JsonElement &element, double least,
                              double most, float neutral, float &value,
                              const Reading &to) {
  if (MaybeError error = readNumber(field, element, least, most, value))
    return error;
  if (value == neutral)
    return std::nullopt;
  // llama-server counts the last tokens only, prompts among them.
  if (to.request.form == AnswerForm::Native)
    return wrongField(std::string(field),
                      strCat("expected '", field, "' of ", neutral,
                             " on this path, got ", value));
  return needRules(field, to);
}

static MaybeError repetition(std::string_view field, const JsonElement &element,
                             Reading &to) {
  constexpr double kLeast = 1e-3, kMost = 1e3;
  return readPenalty(field, element, kLeast, kMost, 1,
                     to.request.rules.repetitionPenalty, to);
}

static MaybeError presence(std::string_view field, const JsonElement &element,
                           Reading &to) {
  return readPenalty(field, element, -2, 2, 0, to.request.rules.presencePenalty,
                     to);
}

static MaybeError frequency(std::string_view field, const JsonElement &element,
                            Reading &to) {
  return readPenalty(field, element, -2, 2, 0,
                     to.request.rules.frequencyPenalty, to);
}

/// Adds the bias of a token: a number, or false for -infinity as in
/// llama-server. Numbers beyond 100 count as 100, as in vLLM.
static MaybeError addBias(const std::string &path, int64_t token,
                          const JsonElement &element, Reading &to) {
  if (token < 0 || token >= int64_t(to.facts.vocab))
    return wrongField(path, strCat("expected '", path,
                                   "' to be of a token of "
                                   "0 to ",
                                   to.facts.vocab - 1));
  TokenBias entry{int32_t(token), -std::numeric_limits<float>::infinity()};
  bool flag = true;
  if (element.get(flag) || flag) {
    if (MaybeError error = readNumber(path, element, -1e9, 1e9, entry.bias))
      return error;
    entry.bias = std::clamp(entry.bias, -100.0f, 100.0f);
  }
  to.request.rules.bias.push_back(entry);
  return std::nullopt;
}

/// Reads pairs of a token and a bias, the form of llama-server.
static MaybeError biasPairs(std::string_view field, const array &pairs,
                            Reading &to) {
  size_t index = 0;
  for (JsonElement element : pairs) {
    std::string path = strCat(field, "[", index++, "]");
    array pair;
    int64_t token = -1;
    if (element.get(pair) || pair.size() != 2 ||
        !getWhole(pair.at(0).value_unsafe(), token))
      return expected(path, "an array of a token id and a number", element);
    if (MaybeError error = addBias(path, token, pair.at(1).value_unsafe(), to))
      return error;
  }
  return std::nullopt;
}

static MaybeError bias(std::string_view field, const JsonElement &element,
                       Reading &to) {
  array pairs;
  object entries;
  bool isList = !element.get(pairs);
  if (!isList && element.get(entries))
    return expected(field, "an object with a number for each token id",
                    element);
  size_t count = isList ? pairs.size() : entries.size();
  if (count == 0)
    return std::nullopt;
  if (MaybeError error = needRules(field, to))
    return error;
  if (count > to.facts.vocab)
    return wrongField(std::string(field),
                      strCat("expected '", field, "' of at most ",
                             to.facts.vocab, " tokens, got ", count));
  if (isList)
    return biasPairs(field, pairs, to);
  for (auto [key, value] : entries) {
    std::string path = strCat(field, ".", key);
    int64_t token = -1;
    auto [end, code] =
        std::from_chars(key.data(), key.data() + key.size(), token);
    if (code != std::errc() || end != key.data() + key.size())
      return wrongField(path, strCat("expected a token id as a key of '", field,
                                     "', got '", key, "'"));
    if (MaybeError error = addBias(path, token, value, to))
      return error;
  }
  return std::nullopt;
}

static MaybeError allowed(std::string_view field, const JsonElement &element,
                          Reading &to) {
  std::vector<int32_t> &tokens = to.request.rules.allowedTokens;
  if (MaybeError error =
          readIds(field, element, int64_t(to.facts.vocab) - 1, tokens))
    return error;
  return tokens.empty() ? std::nullopt : needRules(field, to);
}

static constexpr Field kRuleFields[] = {
    {"repetition_penalty", repetition}, {"presence_penalty", presence},
    {"frequency_penalty", frequency},   {"logit_bias", bias},
    {"allowed_token_ids", allowed},
};

std::span<const Field> serve::ruleFields() { return kRuleFields; }
