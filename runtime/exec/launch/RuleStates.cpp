//===- RuleStates.cpp - The rules of a slot's logits ----------------------===//

#include "runtime/exec/launch/RuleStates.h"
#include "runtime/exec/launch/BadWords.h"
#include "runtime/schema/LogitRules.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string_view>

using namespace mtp;

static bool hasPenalties(const LogitRules &rules) {
  return rules.repetitionPenalty != 1 || rules.presencePenalty != 0 ||
         rules.frequencyPenalty != 0;
}

static bool isOneToken(const std::vector<int32_t> &word) {
  return word.size() == 1;
}

static bool hasBias(const LogitRules &rules) {
  return !rules.bias.empty() || !rules.allowedTokens.empty() ||
         std::ranges::any_of(rules.badWords, isOneToken);
}

bool mtp::hasRules(const Request &request) {
  return hasPenalties(request.rules) || hasBias(request.rules) ||
         request.minTokens > 0 || request.constraint;
}

RuleStates::RuleStates(const Artifact &artifact, Executable &executable)
    : executable(executable), vocab(artifact.envelope->vocab()) {
  std::optional<uint32_t> countState = artifact.findState(kTokenCounts);
  std::optional<uint32_t> biasState = artifact.findState(kLogitBias);
  if (!countState || !biasState)
    return;
  rules = artifact.findState(kLogitRules);
  counts = *countState;
  bias = *biasState;
}

Status RuleStates::writeWords(uint32_t state, uint32_t slot,
                              const std::vector<int32_t> &words,
                              uint64_t width) {
  uint64_t bytes = words.size() * sizeof(int32_t);
  return executable.write(
      {schema::Space::State, state, slot * width * sizeof(int32_t), bytes},
      words.data(), bytes);
}

/// Returns the words of the request's penalties and end tokens.
static std::vector<int32_t> headOf(const Request &request,
                                   std::span<const int32_t> ends) {
  const LogitRules &rules = request.rules;
  auto bits = [](float value) { return std::bit_cast<int32_t>(value); };
  std::vector<int32_t> words(kRuleWords, 0);
  words[kRuleFlags] = (hasPenalties(rules) ? kRulePenalties : 0) |
                      (hasBias(rules) ? kRuleBias : 0) |
                      (request.minTokens > 0 ? kRuleMasksEnds : 0) |
                      (request.constraint ? kRuleTokenMasks : 0);
  words[kRuleRepetition] = bits(rules.repetitionPenalty);
  words[kRulePresence] = bits(rules.presencePenalty);
  words[kRuleFrequency] = bits(rules.frequencyPenalty);
  words[kRuleEndsFrom] = int32_t(std::min<uint64_t>(
      uint64_t(request.prompt.size()) + request.minTokens, INT32_MAX));
  size_t count = std::min(ends.size(), size_t(kMostRuleEnds));
  words[kRuleEndCount] = int32_t(count);
  std::copy_n(ends.begin(), count, words.begin() + kRuleEnds);
  return words;
}

/// Returns the words of a slot in "token_counts".
static std::vector<int32_t> countTokens(std::span<const int32_t> tokens,
                                        size_t prompt, bool countsPrompt,
                                        uint64_t vocab) {
  std::vector<uint16_t> counts(2 * countWords(vocab), 0);
  for (size_t i = 0; i < tokens.size(); ++i) {
    uint16_t &count = counts[size_t(tokens[i])];
    if (i < prompt)
      count |= kCountInPrompt;
    if ((i >= prompt || countsPrompt) && count / kCountOfOutput < kMostCounted)
      count = uint16_t(count + kCountOfOutput);
  }
  std::vector<int32_t> words(countWords(vocab));
  for (size_t i = 0; i < words.size(); ++i)
    words[i] = counts[2 * i] | int32_t(counts[2 * i + 1]) << 16;
  return words;
}

/// Returns the bias of each token. Tokens that are not allowed, and bad words
/// of one token, get -infinity.
static std::vector<float> biasOf(const LogitRules &rules, uint64_t vocab) {
  std::vector<float> bias(vocab, 0);
  if (!rules.allowedTokens.empty()) {
    std::ranges::fill(bias, -std::numeric_limits<float>::infinity());
    for (int32_t token : rules.allowedTokens)
      bias[size_t(token)] = 0;
  }
  for (const TokenBias &entry : rules.bias)
    bias[size_t(entry.token)] += entry.bias;
  for (const std::vector<int32_t> &word : rules.badWords)
    if (isOneToken(word))
      bias[size_t(word.front())] = -std::numeric_limits<float>::infinity();
  return bias;
}

/// Returns the words of a slot in "logit_bias".
static std::vector<int32_t> biasWords(const LogitRules &rules, uint64_t vocab) {
  std::vector<int32_t> words(vocab);
  std::ranges::transform(biasOf(rules, vocab), words.begin(), [](float value) {
    return std::bit_cast<int32_t>(value);
  });
  return words;
}

static bool isExcluded(const TokenBias &entry) {
  return std::isinf(entry.bias);
}

std::string mtp::nameTokenRules(const Request &request, size_t output) {
  const LogitRules &rules = request.rules;
  std::string names;
  auto add = [&](bool isUsed, std::string_view name) {
    if (isUsed)
      names.append(names.empty() ? "" : ", ").append(name);
  };
  add(!rules.allowedTokens.empty(), "allowed tokens");
  add(std::ranges::any_of(rules.bias, isExcluded), "a bias of -infinity");
  add(!rules.badWords.empty(), "bad words");
  add(output < request.minTokens, "min tokens");
  add(request.constraint && !haveLongBadWords(rules), "grammar");
  return names;
}

bool mtp::leaveToken(const Request &request, std::span<const int32_t> ends,
                     uint64_t vocab) {
  if (!hasBias(request.rules))
    return true;
  std::vector<float> bias = biasOf(request.rules, vocab);
  constexpr float kNone = -std::numeric_limits<float>::infinity();
  if (request.minTokens > 0)
    for (int32_t end : ends.first(std::min(ends.size(), size_t(kMostRuleEnds))))
      if (uint64_t(end) < vocab)
        bias[size_t(end)] = kNone;
  return std::ranges::any_of(bias, [](float value) { return value > kNone; });
}

Status RuleStates::write(uint32_t slot, const Request &request,
                         std::span<const int32_t> tokens,
                         std::span<const int32_t> ends) {
  if (!rules)
    return okStatus();
  // Without flags no other word is read.
  if (!hasRules(request))
    return writeWords(*rules, slot, {0}, kRuleWords);
  MTP_RETURN_IF_ERROR(
      writeWords(*rules, slot, headOf(request, ends), kRuleWords));
  if (hasBias(request.rules))
    MTP_RETURN_IF_ERROR(
        writeWords(bias, slot, biasWords(request.rules, vocab), vocab));
  if (!hasPenalties(request.rules))
    return okStatus();
  return writeWords(
      counts, slot,
      countTokens(tokens, request.prompt.size() - request.rules.begunTokens,
                  request.rules.countsPrompt, vocab),
      countWords(vocab));
}
