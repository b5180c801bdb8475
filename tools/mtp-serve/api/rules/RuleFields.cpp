//===- RuleFields.cpp - Fields that change logits -------------------------===//

#include "runtime/core/StrCat.h"
#include "runtime/tokenizer/BadWordTokens.h"
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
                           "--without-logit-rules"));
}

/// Reads a penalty that is off at `neutral`.
static MaybeError readPenalty(std::string_view field,
                              const JsonElement &element, double least,
                              double most, float neutral, float &value,
                              Reading &to) {
  if (MaybeError error = readNumber(field, element, least, most, value))
    return error;
  return value == neutral ? std::nullopt : needRules(field, to);
}

constexpr double kLeastRepetition = 1e-3, kMostRepetition = 1e3;

static MaybeError repetition(std::string_view field, const JsonElement &element,
                             Reading &to) {
  return readPenalty(field, element, kLeastRepetition, kMostRepetition, 1,
                     to.request.rules.repetitionPenalty, to);
}

/// Notes a penalty that counts the last tokens, prompts among them, unless it
/// is off.
static void noteWindow(std::string_view field, bool isOff, Reading &to) {
  if (!isOff)
    to.windowedField = field;
}

/// Reads llama-server's name of the repetition penalty.
static MaybeError repeat(std::string_view field, const JsonElement &element,
                         Reading &to) {
  MaybeError error = repetition(field, element, to);
  if (!error)
    noteWindow(field, to.request.rules.repetitionPenalty == 1, to);
  return error;
}

static MaybeError repeatLastN(std::string_view field,
                              const JsonElement &element, Reading &to) {
  return readInteger(field, element, -1, INT32_MAX, to.repeatLastN);
}

/// Reads a presence or frequency penalty. llama-server counts tokens of the
/// prompt, too.
static MaybeError readOccurrence(std::string_view field,
                                 const JsonElement &element, float &value,
                                 Reading &to) {
  MaybeError error = readPenalty(field, element, -2, 2, 0, value, to);
  if (!error && to.request.form == AnswerForm::Native)
    noteWindow(field, value == 0, to);
  return error;
}

MaybeError serve::settlePenalties(Reading &to) {
  LogitRules &rules = to.request.rules;
  // Also turns off the repetition penalty that the model's authors recommend.
  if (to.repeatLastN == 0) {
    rules.repetitionPenalty = 1;
    rules.presencePenalty = rules.frequencyPenalty = 0;
    return std::nullopt;
  }
  if (to.windowedField.empty())
    return std::nullopt;
  if (to.repeatLastN > 0 && to.repeatLastN < int64_t(to.facts.maxContext))
    return wrongField("repeat_last_n",
                      strCat("expected 'repeat_last_n' of -1, as '",
                             to.windowedField, "' counts all tokens here, got ",
                             to.repeatLastN,
                             " (the default is llama-server's, 64)"));
  rules.countsPrompt = to.request.form == AnswerForm::Native;
  return std::nullopt;
}

static MaybeError presence(std::string_view field, const JsonElement &element,
                           Reading &to) {
  return readOccurrence(field, element, to.request.rules.presencePenalty, to);
}

static MaybeError frequency(std::string_view field, const JsonElement &element,
                            Reading &to) {
  return readOccurrence(field, element, to.request.rules.frequencyPenalty, to);
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

/// Adds the token sequences of a bad word.
static MaybeError addWord(const std::string &path, const JsonElement &element,
                          Reading &to) {
  std::string text;
  if (MaybeError error = readText(path, element, text))
    return error;
  std::vector<std::vector<int32_t>> &words = to.request.rules.badWords;
  size_t known = words.size();
  Status added = addBadWord(*to.facts.tokenizer, text, words);
  if (!added.isOk())
    return wrongField(path, std::string(added.message()));
  for (; known < words.size(); ++known)
    for (int32_t token : words[known])
      if (uint32_t(token) >= to.facts.vocab)
        return wrongField(path, strCat("expected '", path,
                                       "' of the model's tokens, got ", token));
  return std::nullopt;
}

static MaybeError badWords(std::string_view field, const JsonElement &element,
                           Reading &to) {
  constexpr size_t kMost = 1024;
  array list;
  if (element.get(list))
    return expected(field, "an array of strings", element);
  if (list.size() == 0)
    return std::nullopt;
  if (MaybeError error = needRules(field, to))
    return error;
  if (!to.facts.tokenizer || list.size() > kMost)
    return wrongField(std::string(field),
                      to.facts.tokenizer
                          ? strCat("expected '", field, "' of at most ", kMost,
                                   " strings, got ", list.size())
                          : strCat("expected no '", field,
                                   "', as the model has no tokenizer"));
  size_t index = 0;
  for (JsonElement item : list)
    if (MaybeError error = addWord(strCat(field, "[", index++, "]"), item, to))
      return error;
  return std::nullopt;
}

static constexpr Field kRuleFields[] = {
    {"repetition_penalty", repetition}, {"presence_penalty", presence},
    {"frequency_penalty", frequency},   {"logit_bias", bias},
    {"allowed_token_ids", allowed},     {"bad_words", badWords},
    {"repeat_penalty", repeat},         {"repeat_last_n", repeatLastN},
};

std::span<const Field> serve::ruleFields() { return kRuleFields; }
