//===- RequestCheck.cpp - What a session accepts --------------------------===//

#include "runtime/exec/RequestCheck.h"
#include "runtime/core/StrCat.h"
#include "runtime/exec/launch/BadWords.h"
#include "runtime/exec/launch/RuleStates.h"
#include "runtime/exec/program/PromptScoring.h"
#include "runtime/exec/program/RequestPorts.h"
#include "runtime/profile/Acceptance.h"
#include "runtime/schema/KvPage.h"
#include "runtime/schema/LogitRules.h"

#include <algorithm>
#include <cmath>
#include <map>

using namespace mtp;

/// Checks the numbers of slots with programs of their own, and puts them in
/// order.
static Status checkCaptureSizes(SessionOptions &options) {
  for (uint32_t size : options.captureSizes)
    if (size < 1 || size > options.maxSlots)
      return invalidArgument(
          strCat("captureSizes (--capture-sizes): expected 1 to ",
                 options.maxSlots, " slots, got ", size));
  std::ranges::sort(options.captureSizes);
  return okStatus();
}

/// Checks a confidence by which drafts end. The model must have such drafts.
static Status checkDraftPMin(const Model::Impl &model,
                             std::optional<float> least) {
  if (!least)
    return okStatus();
  if (!(*least >= 0 && *least <= 1))
    return invalidArgument(
        strCat("draftPMin (--draft-p-min): expected a number of 0 to 1, got ",
               *least));
  if (findDraftPMin(model.artifact()))
    return okStatus();
  return invalidArgument(
      strCat("draftPMin (--draft-p-min): expected a model whose drafts end by "
             "confidence (mtp-import --confidence), got one of the method '",
             model.artifact().method, "'"));
}

Status mtp::completeOptions(const Model::Impl &model, SessionOptions &options) {
  const EnvelopeInfo &e = *model.envelope;
  if (options.k == SessionOptions::kMaximum)
    options.k = e.maxK;
  if (options.k > e.maxK)
    return invalidArgument(strCat("expected k of at most ", e.maxK,
                                  ", which the artifact was compiled for, got ",
                                  options.k));
  if (options.maxSlots == 0)
    options.maxSlots = e.maxBatch;
  if (options.maxSlots > e.maxBatch)
    return invalidArgument(strCat(
        "expected at most ", e.maxBatch,
        " slots, which the artifact was compiled for, got ", options.maxSlots));
  MTP_RETURN_IF_ERROR(checkCaptureSizes(options));
  MTP_RETURN_IF_ERROR(checkDraftPMin(model, options.draftPMin));
  if (options.prefillChunk == 0)
    options.prefillChunk = e.prefillChunk;
  if (!model.programs.hasChunk(options.prefillChunk)) {
    std::string sizes;
    for (auto [least, most] : model.programs.chunks())
      sizes += strCat(sizes.empty() ? "" : ", ",
                      least < most ? strCat(least, " to ") : "", most);
    return invalidArgument(strCat("expected a prefill chunk of ", sizes,
                                  ", which the artifact was compiled for, "
                                  "got ",
                                  options.prefillChunk));
  }
  uint32_t most = model.artifact().maxRounds;
  if (options.roundsPerLaunch > most)
    return invalidArgument(strCat(
        "expected rounds_per_launch of at most ", most,
        ", which the artifact has room for, got ", options.roundsPerLaunch));
  if (options.snapshotTokens == 0)
    return invalidArgument("expected snapshot_tokens of at least 1, got 0");
  if (options.kvPages == 1 || options.kvPages > INT32_MAX)
    return invalidArgument(strCat("expected kv_pages of 2 to ", INT32_MAX,
                                  " (0: the default), got ", options.kvPages));
  if (options.kvPages == 0) {
    uint64_t width = pagesPerSlot(e.maxContext, e.pageTokens);
    uint64_t all = options.maxSlots * width + 1;
    options.kvPages = uint32_t(std::min<uint64_t>(all, INT32_MAX));
  }
  return okStatus();
}

Status mtp::checkSampling(const SamplingParams &s) {
  if (!std::isfinite(s.temperature) || s.temperature < 0)
    return invalidArgument(
        strCat("expected a temperature of 0 or more, got ", s.temperature));
  if (!(s.topP > 0 && s.topP <= 1))
    return invalidArgument(
        strCat("expected top-p above 0 and up to 1, got ", s.topP));
  if (!(s.minP >= 0 && s.minP <= 1))
    return invalidArgument(strCat("expected min-p of 0 to 1, got ", s.minP));
  if (s.topK > INT32_MAX)
    return invalidArgument(strCat("expected top-k below 2^31, got ", s.topK));
  return okStatus();
}

std::vector<int32_t> mtp::stopTokensOf(const Model::Impl &model,
                                       const Request &request) {
  std::vector<int32_t> tokens = request.stopTokens;
  if (!request.ignoreEos)
    tokens.insert(tokens.end(), model.generation.eos.begin(),
                  model.generation.eos.end());
  return tokens;
}

Status mtp::noTokenError(const Request &request, uint64_t position,
                         size_t output) {
  std::string start = strCat("no token can follow position ", position, ": ");
  std::string rules = nameTokenRules(request, output);
  if (rules.empty())
    return failedPrecondition(start + "its logits are all NaN or -inf");
  return invalidArgument(
      strCat(start, "the request's logit rules leave none (", rules, ")"));
}

/// Checks that the biases of each token have a finite sum or -infinity. Each
/// bias must be in range.
static Status checkBiasSums(const std::vector<TokenBias> &bias) {
  std::map<int32_t, float> sums;
  for (const TokenBias &entry : bias) {
    float &sum = sums[entry.token];
    sum += entry.bias;
    if (sum == INFINITY)
      return invalidArgument(strCat("expected biases of token ", entry.token,
                                    " whose sum is finite or -infinity, got "
                                    "+infinity"));
  }
  return okStatus();
}

/// Checks rules against a prompt and a vocabulary of `vocab` tokens.
static Status checkRules(const LogitRules &rules, size_t promptTokens,
                         uint32_t vocab) {
  if (rules.begunTokens > promptTokens)
    return invalidArgument(strCat("expected begun tokens of at most the ",
                                  promptTokens, " prompt tokens, got ",
                                  rules.begunTokens));
  auto isWithin = [](float value, float limit) {
    return value >= -limit && value <= limit;
  };
  if (!std::isfinite(rules.repetitionPenalty) || rules.repetitionPenalty <= 0)
    return invalidArgument(strCat("expected a repetition penalty above 0, got ",
                                  rules.repetitionPenalty));
  if (!isWithin(rules.presencePenalty, 2))
    return invalidArgument(strCat(
        "expected a presence penalty of -2 to 2, got ", rules.presencePenalty));
  if (!isWithin(rules.frequencyPenalty, 2))
    return invalidArgument(strCat("expected a frequency penalty of -2 to 2, "
                                  "got ",
                                  rules.frequencyPenalty));
  auto isToken = [vocab](int32_t token) {
    return token >= 0 && uint32_t(token) < vocab;
  };
  for (const TokenBias &entry : rules.bias) {
    if (!isToken(entry.token))
      return invalidArgument(strCat("expected a bias of a token below ", vocab,
                                    ", got token ", entry.token));
    if (std::isnan(entry.bias) || entry.bias == INFINITY)
      return invalidArgument(strCat("expected a finite bias or -infinity of "
                                    "token ",
                                    entry.token, ", got ", entry.bias));
  }
  MTP_RETURN_IF_ERROR(checkBiasSums(rules.bias));
  for (int32_t token : rules.allowedTokens)
    if (!isToken(token))
      return invalidArgument(
          strCat("expected allowed tokens below ", vocab, ", got ", token));
  size_t count = 0;
  for (const std::vector<int32_t> &word : rules.badWords) {
    if (word.empty() || !std::ranges::all_of(word, isToken))
      return invalidArgument(
          strCat("expected bad words of tokens below ", vocab, ", none empty"));
    count += word.size();
  }
  if (count > LogitRules::kMostBadTokens)
    return invalidArgument(strCat("expected bad words of at most ",
                                  LogitRules::kMostBadTokens,
                                  " tokens in all, got ", count));
  return okStatus();
}

/// Returns whether rules change any logit. End tokens are not part of them.
static bool areUsed(const LogitRules &rules) {
  return rules.repetitionPenalty != 1 || rules.presencePenalty != 0 ||
         rules.frequencyPenalty != 0 || !rules.bias.empty() ||
         !rules.allowedTokens.empty() || !rules.badWords.empty();
}

/// Checks that the model can mask the tokens of a constrained request.
static Status checkConstraint(const Model::Impl &model,
                              const Request &request) {
  bool hasLongWords = haveLongBadWords(request.rules);
  if (!request.constraint && !hasLongWords)
    return okStatus();
  std::string_view what =
      request.constraint ? "grammar" : "bad words of several tokens";
  if (!model.artifact().findState(kLogitRules) ||
      !model.artifact().findState(kLogitMasks))
    return invalidArgument(strCat("expected no ", what,
                                  ", as the model was imported with "
                                  "--without-logit-rules"));
  if (!request.constraint)
    return okStatus();
  uint32_t vocab = model.envelope->vocab;
  if (request.constraint->vocab() != vocab)
    return invalidArgument(strCat("expected a constraint over ", vocab,
                                  " tokens, got ",
                                  request.constraint->vocab()));
  return okStatus();
}

/// Fails with InvalidArgument if a request asks for more drafts than the
/// session has.
static Status checkK(const SessionOptions &options, const Request &request) {
  if (request.k == Request::kSessions || request.k == Request::kAutomatic ||
      request.k <= options.k)
    return okStatus();
  return invalidArgument(strCat("expected k of at most ", options.k,
                                ", the session's, got ", request.k));
}

/// Checks the numbers of likeliest tokens, and that prompts can be scored.
static Status checkLogprobs(const Model::Impl &model,
                            const LogprobsRequest &logprobs) {
  constexpr uint32_t kMost = LogprobsRequest::kMost;
  if (logprobs.output.value_or(0) > kMost)
    return invalidArgument(strCat("expected logprobs of at most ", kMost,
                                  ", got ", *logprobs.output));
  if (logprobs.prompt.value_or(0) > kMost)
    return invalidArgument(strCat("expected prompt logprobs of at most ", kMost,
                                  ", got ", *logprobs.prompt));
  if (logprobs.prompt && !findPromptScoring(model.artifact(), model.plan()))
    return failedPrecondition(
        "expected no prompt logprobs, as the artifact has no function "
        "prompt_logits that works in the pages of slots: compile the model "
        "again");
  return okStatus();
}

/// Checks the lengths of the texts that come with a request.
static Status checkTexts(const Request &request) {
  if (!request.kind.empty() && !profile::isKindName(request.kind))
    return invalidArgument(strCat("expected a kind of at most ",
                                  profile::kMostKindBytes,
                                  " letters, digits, '-' and '_', got '",
                                  request.kind.substr(0, 64), "'"));
  if (request.cacheSalt.size() > Request::kMaxSalt)
    return invalidArgument(strCat("expected a cache salt of at most ",
                                  Request::kMaxSalt, " bytes, got ",
                                  request.cacheSalt.size()));
  return okStatus();
}

Status mtp::checkRequest(const Model::Impl &model,
                         const SessionOptions &options,
                         const Request &request) {
  if (!model.envelope)
    return failedPrecondition("the artifact has functions only, no model");
  const EnvelopeInfo &e = *model.envelope;
  MTP_RETURN_IF_ERROR(checkDraftPMin(model, request.draftPMin));
  if (request.prompt.empty())
    return invalidArgument("expected a prompt of at least 1 token");
  for (size_t i = 0; i < request.prompt.size(); ++i)
    if (request.prompt[i] < 0 || uint32_t(request.prompt[i]) >= e.vocab)
      return invalidArgument(strCat("prompt token ", i, " is ",
                                    request.prompt[i],
                                    ", outside the vocabulary of ", e.vocab));
  if (request.maxTokens < 1)
    return invalidArgument("expected max tokens of at least 1");
  if (request.minTokens > request.maxTokens)
    return invalidArgument(strCat("expected min tokens of at most the ",
                                  request.maxTokens, " max tokens, got ",
                                  request.minTokens));
  MTP_RETURN_IF_ERROR(checkTexts(request));
  MTP_RETURN_IF_ERROR(checkSampling(request.sampling));
  MTP_RETURN_IF_ERROR(
      checkRules(request.rules, request.prompt.size(), e.vocab));
  if (areUsed(request.rules) && !model.artifact().findState(kLogitRules))
    return invalidArgument(
        "expected no penalties, bias, allowed tokens or bad "
        "words, as the model was imported with --without-logit-rules");
  MTP_RETURN_IF_ERROR(checkConstraint(model, request));
  MTP_RETURN_IF_ERROR(checkK(options, request));
  MTP_RETURN_IF_ERROR(checkLogprobs(model, request.logprobs));
  if (request.seesDrafts && !model.programs.canStop())
    return invalidArgument("expected no request that sees drafts, as the "
                           "model's rounds do not stop after these "
                           "(mtp.await_host)");
  for (size_t i = 0; i < request.stopTokens.size(); ++i)
    if (request.stopTokens[i] < 0 || uint32_t(request.stopTokens[i]) >= e.vocab)
      return invalidArgument(strCat("stop token ", i, " is ",
                                    request.stopTokens[i],
                                    ", outside the vocabulary of ", e.vocab));
  if (!leaveToken(request, stopTokensOf(model, request), e.vocab))
    return noTokenError(request, request.prompt.size() - 1, /*output=*/0);
  uint64_t total = uint64_t(request.prompt.size()) + request.maxTokens;
  if (total > e.maxContext)
    return outOfRange(strCat("the prompt's ", request.prompt.size(),
                             " tokens and ", request.maxTokens,
                             " max tokens exceed the context of ", e.maxContext,
                             ", which the artifact was compiled for"));
  return okStatus();
}
