//===- DrafterCheck.cpp - Is the drafter as good as it was? ---------------===//

#include "tools/support/DrafterCheck.h"
#include "runtime/core/StrCat.h"
#include "runtime/exec/SessionProfile.h"
#include "runtime/json/JsonWriter.h"
#include "runtime/schema/ConfidenceStates.h"
#include "tools/support/ChatText.h"
#include "tools/support/PromptText.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

using namespace mtp;

/// The tools' own text: a story, an explanation, code, a list, a letter, and
/// text that repeats itself.
static constexpr const char *kTexts[] = {
    "Write a short story about a fisherman and a lighthouse.",
    "Explain how the tides of the sea come about, for a child of ten years.",
    "Write a Python function that returns the prime numbers below n.",
    "List ten things to take along on a walk in the mountains.",
    "Write a letter in which a tenant asks the owner to repair the heating.",
    "Repeat this line five times: the quick brown fox jumps over the dog."};

static constexpr const char *kKinds[] = {"story", "explanation", "code",
                                         "list",  "letter",      "repetition"};

std::span<const char *const> mtp::ownKinds() { return kKinds; }

/// Deviations of the mean that noise explains. The check runs at each start, so
/// a false alarm must be rare.
static constexpr double kDeviations = 3;
/// The number of rounds from which rates are compared.
static constexpr uint64_t kLeastRounds = 20;
/// The loss of accepted drafts that is worth a warning.
static constexpr double kLeastLoss = 0.1;

/// Tokens of a prompt for a model without a tokenizer.
static std::vector<int32_t> fixedTokens(uint32_t vocab, uint32_t number) {
  std::vector<int32_t> tokens;
  uint32_t state = 12345 + number;
  for (int i = 0; i < 16; ++i) {
    state = state * 1664525 + 1013904223;
    tokens.push_back(int32_t((state >> 8) % vocab));
  }
  return tokens;
}

Result<std::vector<std::vector<int32_t>>> mtp::ownPrompts(const Model &model) {
  MTP_ASSIGN_OR_RETURN(std::unique_ptr<Tokenizer> tokenizer,
                       loadTokenizer(model));
  std::shared_ptr<const ChatTemplate> chat;
  if (tokenizer && model.chatTemplate())
    if (auto loaded = loadChatTemplate(model, tokenizer.get(), ""))
      chat = *loaded;
  std::vector<std::vector<int32_t>> prompts;
  for (const char *text : kTexts) {
    if (!tokenizer) {
      prompts.push_back(
          fixedTokens(model.envelope()->vocab, uint32_t(prompts.size())));
      continue;
    }
    if (chat) {
      JsonWriter json;
      json.beginObject();
      json.key("messages");
      json.beginArray();
      json.beginObject();
      json.field("role", "user");
      json.field("content", text);
      json.endObject();
      json.endArray();
      json.field("add_generation_prompt", true);
      json.endObject();
      if (auto ids = chat->encode(json.text(), *tokenizer)) {
        prompts.push_back(std::move(*ids));
        continue;
      }
    }
    MTP_ASSIGN_OR_RETURN(std::vector<int32_t> ids,
                         promptIds(text, {}, model.generation(), *tokenizer));
    prompts.push_back(std::move(ids));
  }
  return prompts;
}

/// Returns the KV pages for slots that hold a prompt with its text, and the
/// dummy page.
static uint32_t pagesFor(const EnvelopeInfo &envelope, uint32_t slots,
                         const std::vector<std::vector<int32_t>> &prompts,
                         uint32_t tokens) {
  uint64_t longest = 0;
  for (const std::vector<int32_t> &prompt : prompts)
    longest = std::max<uint64_t>(longest, prompt.size());
  uint64_t positions =
      std::min<uint64_t>(longest + tokens + envelope.maxNodes + envelope.maxK,
                         envelope.maxContext);
  return uint32_t(slots * (positions / envelope.pageTokens + 1) + 1);
}

void mtp::makeAllDrafts(const Model &model, SessionOptions &options) {
  auto inputs = model.requestInputs();
  auto ends = [](const PortType &input) { return input.name == kDraftPMin; };
  if (std::ranges::any_of(inputs, ends))
    options.draftPMin = 0;
}

Result<profile::Outcomes> mtp::measureOutcomes(
    const std::shared_ptr<const Model> &model, SessionOptions options,
    const std::vector<std::vector<int32_t>> &prompts, uint32_t tokens) {
  const EnvelopeInfo &envelope = *model->envelope();
  options.k = envelope.maxK;
  options.automaticK = false;
  options.recordsProfile = true;
  // The check has slots of its own, which the sizes may exceed.
  options.captureSizes.clear();
  options.maxSlots =
      std::min<uint32_t>(envelope.maxBatch, uint32_t(prompts.size()));
  options.kvPages = pagesFor(envelope, options.maxSlots, prompts, tokens);
  // The session is short: memory that it does not use is not taken.
  options.populateMemory = false;
  makeAllDrafts(*model, options);
  MTP_ASSIGN_OR_RETURN(std::unique_ptr<Session> session,
                       Session::create(model, options));
  for (const std::vector<int32_t> &prompt : prompts) {
    Request request;
    // A long prompt leaves room for the text.
    uint32_t room = envelope.maxContext / 2;
    request.prompt.assign(prompt.begin(),
                          prompt.begin() +
                              long(std::min<size_t>(prompt.size(), room)));
    request.maxTokens =
        std::min(tokens, envelope.maxContext - uint32_t(request.prompt.size()));
    MTP_RETURN_IF_ERROR(session->add(std::move(request)).status());
  }
  while (!session->idle())
    MTP_RETURN_IF_ERROR(session->step().status());
  return SessionProfile::recorded(*session).allOutcomes();
}

/// Returns the accepted drafts per round, and the number of rounds.
static std::pair<double, uint64_t> perRound(const profile::Outcomes &of) {
  double accepted = 0;
  for (uint64_t count : of.accepted)
    accepted += double(count);
  uint64_t rounds = of.tried.empty() ? 0 : of.tried[0];
  return {rounds ? accepted / double(rounds) : 0, rounds};
}

/// Returns the variance of the accepted drafts of one round.
static double varianceOf(const profile::Outcomes &of, double mean) {
  double squares = 0, rounds = of.tried.empty() ? 1 : double(of.tried[0]);
  // 2j + 1 is the step from the square of j to the next square.
  for (size_t j = 0; j < of.accepted.size(); ++j)
    squares += double(2 * j + 1) * double(of.accepted[j]);
  return std::max(squares / rounds - mean * mean, 0.0);
}

std::string mtp::compareOutcomes(const profile::Outcomes &expected,
                                 const profile::Outcomes &got) {
  auto [wanted, wantedRounds] = perRound(expected);
  auto [mean, rounds] = perRound(got);
  if (wantedRounds < kLeastRounds || rounds < kLeastRounds)
    return "";
  double noise = std::sqrt(varianceOf(expected, wanted) / double(wantedRounds) +
                           varianceOf(got, mean) / double(rounds));
  double loss = wanted - mean;
  if (loss <= kDeviations * noise || loss <= kLeastLoss * wanted)
    return "";
  char text[200];
  std::snprintf(text, sizeof(text),
                "expected %.2f accepted drafts per round as in the profile, "
                "got %.2f in %llu rounds, %.0f deviations less: the drafter "
                "may be missing, damaged or of another model",
                wanted, mean, static_cast<unsigned long long>(rounds),
                loss / std::max(noise, 1e-9));
  return text;
}
