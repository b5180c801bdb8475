//===- Measure.cpp - Measure a model for a profile ------------------------===//

#include "tools/mtp-tune/Measure.h"
#include "runtime/core/StrCat.h"
#include "runtime/exec/ModelImpl.h"
#include "runtime/exec/SessionFactory.h"
#include "runtime/exec/SessionProfile.h"
#include "tools/mtp-tune/DraftHead.h"
#include "tools/support/DrafterCheck.h"
#include "tools/support/PromptText.h"
#include "tools/support/TextFile.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdio>
#include <set>

using namespace mtp;
using namespace mtp::tune;

/// Rounds of one k before the next k has its turn, and turns of each k in a
/// pass.
static constexpr uint32_t kRoundsOfTurn = 4, kTurns = 4;
/// Passes over all numbers of slots and contexts: at least, and at most if
/// they begin within a share of the time.
static constexpr uint32_t kPasses = 3, kMostPasses = 8;
static constexpr double kPassShare = 0.5;
/// The share of the time that outcomes may take; costs take the rest.
static constexpr double kOutcomeShare = 0.25;
/// Passes over prompts of each size, and the share of the time that they may
/// take.
static constexpr uint32_t kPromptRuns = 8;
static constexpr double kPromptShare = 0.1;
/// Rounds of the launches that take turns on a GPU, within the limits of the
/// artifact, the number of turns in a pass, and rounds that one turn has at
/// least.
static constexpr uint32_t kLaunches[] = {1, 2, 8, 32}, kLaunchTurns = 2,
                          kRoundsOfLaunches = 4;
/// Tokens after each prompt.
static constexpr uint32_t kTextTokens = 96;
/// Tokens of a short and a long text. The cost between them and beyond is a
/// line.
static constexpr uint32_t kShortContext = 32, kLongContext = 2048;
/// The distance between quartiles, as a share of the median, from which a time
/// counts as disturbed, and the share of disturbed times on a busy machine.
static constexpr double kSpread = 0.15, kBusyShare = 0.25;
/// Tokens of text that are measured with the model's own temperature, as a
/// share of the greedy ones.
static constexpr uint32_t kSampledShare = 2;

/// No slots are without drafts.
static constexpr uint32_t kNoSlots = 2;

using Clock = std::chrono::steady_clock;

std::vector<uint32_t> tune::batchesUpTo(uint32_t most) {
  std::vector<uint32_t> batches;
  for (uint32_t power = 1; power <= most; power *= 2) {
    batches.push_back(power);
    if (power > 1 && power / 2 * 3 <= most)
      batches.push_back(power / 2 * 3);
  }
  if (batches.back() != most)
    batches.push_back(most);
  return batches;
}

uint32_t tune::paddedSlots(const std::vector<uint32_t> &sizes, bool hasGraphs,
                           uint32_t batch) {
  if (sizes.empty())
    return hasGraphs && batch > 1 && std::has_single_bit(batch) ? batch / 2 : 0;
  if (std::ranges::find(sizes, batch) == sizes.end())
    return 0;
  uint32_t before = 0;
  for (uint32_t size : sizes)
    if (size < batch)
      before = std::max(before, size);
  return before + 1 < batch ? before + 1 : 0;
}

std::vector<uint32_t> tune::contextsUpTo(uint32_t most) {
  uint32_t shortest = std::min(kShortContext, most / 4);
  uint32_t longest = std::min(kLongContext, most / 8 * 5);
  return {std::max(shortest, 1u), std::max(longest, 1u)};
}

bool tune::isDisturbed(const profile::MachineCosts &machine) {
  size_t disturbed = 0;
  for (const profile::Cost &cost : machine.costs)
    disturbed += cost.upper - cost.lower > kSpread * cost.median;
  return double(disturbed) > kBusyShare * double(machine.costs.size());
}

namespace {
/// Measures one model within a time.
class Tuner {
public:
  Tuner(std::shared_ptr<const Model> model, const Options &options)
      : model(std::move(model)), options(options), begin(Clock::now()) {}

  Status run(Measured &result);

private:
  double seconds() const {
    return std::chrono::duration<double>(Clock::now() - begin).count();
  }
  double limit() const { return options.minutes * 60; }
  Status readPrompts();
  Status measureTexts(profile::Profile &into);
  Status measureCosts(uint32_t batch, profile::Profile &into);
  uint32_t mostRounds() const;
  Result<std::unique_ptr<Session>>
  createSession(uint32_t batch, std::vector<uint32_t> sizes = {});
  Status addRequests(Session &session, uint32_t batch, uint32_t context);
  Result<bool> runRounds(Session &session, uint32_t slots);
  Status runTurns(Session &session, uint32_t slots, bool isPadded);
  Status measureShapes(Session &session, uint32_t slots, bool isPadded,
                       profile::Profile &into);
  Result<bool> runLaunches(Session &session, uint32_t batch);
  Result<bool> runLaunchTurn(Session &session, uint32_t batch, bool isDown);
  Status measureLaunches(uint32_t batch, profile::Profile &into);
  Status measurePrompts(profile::Profile &into);
  Status cancelAll(Session &session);
  void report(uint32_t batch, uint32_t context) const;

  std::shared_ptr<const Model> model;
  const Options &options;
  Clock::time_point begin;
  std::vector<Prompt> prompts;
  /// The k of the next rounds; the slots that have no drafts in them: those
  /// whose number is even (0) or odd (1), or none (2).
  uint32_t currentK = 0, withoutDrafts = kNoSlots;
  /// The rounds of the next launches.
  uint32_t currentRounds = 1;
};
} // namespace

Result<std::vector<Prompt>> tune::readLines(const Model &model,
                                            const std::string &path) {
  MTP_ASSIGN_OR_RETURN(std::unique_ptr<Tokenizer> tokenizer,
                       loadTokenizer(model));
  if (!tokenizer)
    return failedPrecondition("--prompts: expected an artifact with a "
                              "tokenizer, got none");
  Result<std::string> text = readTextFile(path);
  if (!text)
    return text.status().withContext(strCat("--prompts: ", path));
  std::vector<Prompt> prompts;
  for (std::string &line : linesOf(*text)) {
    Prompt prompt;
    size_t tab = line.find('\t');
    if (profile::isKindName(line.substr(0, tab)) && tab != std::string::npos) {
      prompt.kind = line.substr(0, tab);
      line.erase(0, tab + 1);
    }
    if (line.empty())
      continue;
    MTP_ASSIGN_OR_RETURN(prompt.ids,
                         promptIds(line, {}, model.generation(), *tokenizer));
    if (!prompt.ids.empty())
      prompts.push_back(std::move(prompt));
  }
  if (prompts.empty())
    return invalidArgument(strCat(
        "--prompts: expected a prompt on each line, got none in ", path));
  return prompts;
}

/// Measures the drafter: greedy text for the check, then the user's or the
/// tools' prompts greedy and with the model's own temperature.
Status Tuner::measureTexts(profile::Profile &into) {
  if (model->envelope()->maxK == 0)
    return okStatus();
  MTP_ASSIGN_OR_RETURN(std::vector<std::vector<int32_t>> own,
                       ownPrompts(*model));
  MTP_ASSIGN_OR_RETURN(
      into.check, measureOutcomes(model, options.session, own, kCheckTokens));
  for (bool isSampled : {false, true}) {
    float temperature = model->generation().temperature;
    MTP_ASSIGN_OR_RETURN(
        std::unique_ptr<Session> session,
        createSession(std::min<uint32_t>(model->envelope()->maxBatch, 4)));
    currentK = model->envelope()->maxK;
    for (const auto &[ids, kind] : prompts) {
      Request request;
      request.kind = kind;
      size_t size =
          std::min<size_t>(ids.size(), model->envelope()->maxContext / 2);
      request.prompt.assign(ids.begin(), ids.begin() + long(size));
      if (isSampled) {
        request.sampling.temperature = temperature > 0 ? temperature : 0.7f;
        request.sampling.topP = model->generation().topP;
      }
      request.maxTokens = std::min<uint32_t>(
          isSampled ? options.tokens / kSampledShare + 1 : options.tokens,
          model->envelope()->maxContext - uint32_t(request.prompt.size()));
      MTP_RETURN_IF_ERROR(session->add(std::move(request)).status());
    }
    while (!session->idle() && seconds() < kOutcomeShare * limit())
      MTP_RETURN_IF_ERROR(session->step().status());
    profile::Profile recorded = SessionProfile::recorded(*session);
    into.model = recorded.model;
    // Rounds of texts were not in alternation: only their outcomes count. Their
    // slots, k and lengths are no user's.
    recorded.machines.clear();
    recorded.load.rounds.clear();
    recorded.load.outputs.clear();
    profile::merge(into, recorded);
  }
  return okStatus();
}

/// Returns the limit on the rounds of a launch; 1 on a CPU.
uint32_t Tuner::mostRounds() const {
  const Model::Impl &impl = ModelAccess::impl(*model);
  return impl.device == DeviceKind::Cpu ? 1 : impl.artifact().maxRounds;
}

/// Creates a session whose rounds have the current k.
Result<std::unique_ptr<Session>>
Tuner::createSession(uint32_t batch, std::vector<uint32_t> sizes) {
  SessionOptions o = options.session;
  o.k = model->envelope()->maxK;
  o.automaticK = false;
  o.maxSlots = batch;
  o.prefixCache = false;
  o.recordsProfile = true;
  o.kvPages = 0;
  o.roundsPerLaunch = mostRounds();
  o.captureSizes = std::move(sizes);
  makeAllDrafts(*model, o);
  SessionSetup setup;
  setup.launchRounds = [this] { return currentRounds; };
  setup.beforeRound = [this](SequenceId id, uint32_t &k, DrafterProgress &) {
    k = id % 2 == withoutDrafts ? 0 : currentK;
  };
  return SessionFactory::create(model, o, std::move(setup));
}

/// Adds a request for each slot that reaches the context with its prompt. A
/// prompt repeats if it is shorter.
Status Tuner::addRequests(Session &session, uint32_t batch, uint32_t context) {
  uint32_t most = model->envelope()->maxContext;
  for (uint32_t slot = 0; slot < batch; ++slot) {
    const std::vector<int32_t> &text = prompts[slot % prompts.size()].ids;
    Request request;
    for (uint32_t i = 0; i < std::min(context, most - 1); ++i)
      request.prompt.push_back(text[(i + slot) % text.size()]);
    request.maxTokens = most - uint32_t(request.prompt.size());
    request.ignoreEos = true;
    MTP_RETURN_IF_ERROR(session.add(std::move(request)).status());
  }
  // Rounds begin when all prompts have been read, which takes long for many
  // slots and a long context.
  while ((session.counts().waiting > 0 || session.counts().prefilling > 0) &&
         seconds() <= limit())
    MTP_RETURN_IF_ERROR(session.step().status());
  return okStatus();
}

/// Runs a few rounds of the current k. Returns whether more may follow: a
/// sequence that ends leaves another number of slots.
Result<bool> Tuner::runRounds(Session &session, uint32_t slots) {
  for (uint32_t round = 0; round < kRoundsOfTurn; ++round) {
    if (session.counts().running < slots || seconds() > limit())
      return false;
    MTP_RETURN_IF_ERROR(session.step().status());
  }
  return true;
}

/// Runs rounds of each k in turn, upwards and then downwards. Rounds in which
/// half of the slots have drafts show the cost of rows apart from the cost of
/// drafts. Rounds with padding all have drafts.
Status Tuner::runTurns(Session &session, uint32_t slots, bool isPadded) {
  uint32_t most = model->envelope()->maxK;
  for (uint32_t turn = 0; turn < kTurns; ++turn)
    for (uint32_t i = 0; i <= most; ++i) {
      currentK = turn % 2 ? most - i : i;
      // Each slot is without drafts in turn.
      for (uint32_t without : {kNoSlots, turn % 2}) {
        if (without != kNoSlots && (slots == 1 || currentK == 0 || isPadded))
          continue;
        withoutDrafts = without;
        Result<bool> goesOn = runRounds(session, slots);
        withoutDrafts = kNoSlots;
        MTP_RETURN_IF_ERROR(goesOn.status());
        if (!*goesOn)
          return okStatus();
      }
    }
  return okStatus();
}

/// Adds the costs of one pass. Other processes only make runs longer, and
/// rarely disturb all passes, so the fastest pass stands for a shape.
static void keepFastest(profile::Profile &into,
                        const profile::MachineCosts &machine) {
  if (into.machines.empty())
    into.machines.emplace_back().setKey(machine.key());
  profile::MachineCosts &all = into.machines[0];
  all.day = machine.day;
  auto keep = [](auto &kept, const auto &costs) {
    for (const auto &cost : costs) {
      auto same = std::ranges::find_if(
          kept, [&](const auto &of) { return of.isOfShape(cost); });
      if (same == kept.end())
        kept.push_back(cost);
      else if (cost.lower < same->lower)
        *same = cost;
    }
  };
  keep(all.costs, machine.costs);
  keep(all.launches, machine.launches);
}

/// Runs launches of the current number of rounds. New sequences let all numbers
/// begin at one context. Returns whether others may follow.
Result<bool> Tuner::runLaunches(Session &session, uint32_t batch) {
  MTP_RETURN_IF_ERROR(addRequests(session, batch, options.contexts.front()));
  uint64_t launches = (kRoundsOfLaunches + currentRounds - 1) / currentRounds;
  uint64_t end = session.statistics().rounds + launches * currentRounds;
  while (session.statistics().rounds < end &&
         session.counts().running == batch && seconds() <= limit())
    MTP_RETURN_IF_ERROR(session.step().status());
  MTP_RETURN_IF_ERROR(cancelAll(session));
  return seconds() <= limit();
}

/// Runs launches of several numbers of rounds in turn, upwards or downwards.
/// Returns whether others may follow.
Result<bool> Tuner::runLaunchTurn(Session &session, uint32_t batch,
                                  bool isDown) {
  std::vector<uint32_t> numbers;
  for (uint32_t rounds : kLaunches)
    if (rounds <= mostRounds())
      numbers.push_back(rounds);
  if (isDown)
    std::ranges::reverse(numbers);
  Result<bool> goesOn = true;
  for (size_t i = 0; i < numbers.size() && goesOn && *goesOn; ++i) {
    currentRounds = numbers[i];
    goesOn = runLaunches(session, batch);
  }
  currentRounds = 1;
  return goesOn;
}

/// Measures launches without drafts and with all. They have a session of their
/// own: a round of a long launch is shorter than others, and must not count
/// among the costs of k.
Status Tuner::measureLaunches(uint32_t batch, profile::Profile &into) {
  MTP_ASSIGN_OR_RETURN(std::unique_ptr<Session> session, createSession(batch));
  bool goesOn = true;
  for (uint32_t turn = 0; turn < kLaunchTurns && goesOn; ++turn)
    for (uint32_t k : std::set<uint32_t>{0, model->envelope()->maxK}) {
      currentK = k;
      if (!goesOn)
        break;
      MTP_ASSIGN_OR_RETURN(goesOn,
                           runLaunchTurn(*session, batch, turn % 2 != 0));
    }
  profile::Profile recorded = SessionProfile::recorded(*session);
  for (profile::MachineCosts &machine : recorded.machines) {
    machine.costs.clear();
    keepFastest(into, machine);
  }
  return okStatus();
}

/// Measures passes over prompts of each chunk's rows. Sessions that measure
/// rounds have too few passes of one size.
Status Tuner::measurePrompts(profile::Profile &into) {
  MTP_ASSIGN_OR_RETURN(std::unique_ptr<Session> session, createSession(1));
  double end = seconds() + kPromptShare * limit();
  for (uint32_t run = 0; run < kPromptRuns; ++run)
    for (uint32_t rows : model->envelope()->prefillChunks) {
      if (seconds() > end)
        break;
      MTP_RETURN_IF_ERROR(addRequests(*session, 1, rows));
      MTP_RETURN_IF_ERROR(cancelAll(*session));
    }
  profile::Profile recorded = SessionProfile::recorded(*session);
  into.model = recorded.model;
  for (profile::MachineCosts &machine : recorded.machines) {
    std::erase_if(machine.costs, [](const profile::Cost &cost) {
      return cost.work != profile::Work::Prefill;
    });
    machine.launches.clear();
    keepFastest(into, machine);
  }
  return okStatus();
}

/// Cancels all sequences, and waits until nothing runs.
Status Tuner::cancelAll(Session &session) {
  for (SequenceId id : session.unfinished())
    MTP_RETURN_IF_ERROR(session.cancel(id));
  while (!session.idle())
    MTP_RETURN_IF_ERROR(session.step().status());
  return okStatus();
}

void Tuner::report(uint32_t batch, uint32_t context) const {
  if (options.progress)
    std::fprintf(stderr, "%5.1f s: slots %u, context %u\n", seconds(), batch,
                 context);
}

/// Measures rounds of a number of sequences at each context.
Status Tuner::measureShapes(Session &session, uint32_t slots, bool isPadded,
                            profile::Profile &into) {
  for (uint32_t context : options.contexts) {
    currentK = 0;
    MTP_RETURN_IF_ERROR(addRequests(session, slots, context));
    MTP_RETURN_IF_ERROR(runTurns(session, slots, isPadded));
    MTP_RETURN_IF_ERROR(cancelAll(session));
    report(slots, context);
  }
  profile::Profile recorded = SessionProfile::recorded(session);
  into.model = recorded.model;
  // These texts repeat and were interrupted: only their costs count.
  for (profile::MachineCosts &machine : recorded.machines) {
    machine.launches.clear();
    keepFastest(into, machine);
  }
  return okStatus();
}

/// Measures rounds of a number of slots, some of them with padding, and
/// launches of several rounds.
Status Tuner::measureCosts(uint32_t batch, profile::Profile &into) {
  MTP_ASSIGN_OR_RETURN(std::unique_ptr<Session> session, createSession(batch));
  MTP_RETURN_IF_ERROR(measureShapes(*session, batch, /*isPadded=*/false, into));
  session.reset();
  bool hasGraphs = ModelAccess::impl(*model).device != DeviceKind::Cpu;
  uint32_t some = paddedSlots(options.captureSizes, hasGraphs, batch);
  if (some > 0 && seconds() <= limit()) {
    MTP_ASSIGN_OR_RETURN(session, createSession(batch, {batch}));
    MTP_RETURN_IF_ERROR(measureShapes(*session, some, /*isPadded=*/true, into));
    session.reset();
  }
  // Some numbers of slots are enough: the others lie between them.
  if (mostRounds() > 1 && seconds() <= limit() &&
      (std::has_single_bit(batch) || batch == options.batches.back()))
    return measureLaunches(batch, into);
  return okStatus();
}

Status Tuner::readPrompts() {
  if (options.prompts.empty()) {
    MTP_ASSIGN_OR_RETURN(std::vector<std::vector<int32_t>> own,
                         ownPrompts(*model));
    for (size_t i = 0; i < own.size(); ++i)
      prompts.push_back({std::move(own[i]), ownKinds()[i]});
    return okStatus();
  }
  for (const std::string &path : options.prompts) {
    MTP_ASSIGN_OR_RETURN(std::vector<Prompt> read, readLines(*model, path));
    prompts.insert(prompts.end(), read.begin(), read.end());
  }
  return okStatus();
}

Status Tuner::run(Measured &result) {
  MTP_RETURN_IF_ERROR(readPrompts());
  MTP_RETURN_IF_ERROR(measureTexts(result.profile));
  MTP_RETURN_IF_ERROR(measurePrompts(result.profile));
  auto isWanted = [&](uint32_t pass) {
    return pass < kPasses ||
           (pass < kMostPasses && seconds() < kPassShare * limit());
  };
  for (uint32_t pass = 0; isWanted(pass); ++pass)
    for (uint32_t batch : options.batches)
      if (seconds() <= limit())
        MTP_RETURN_IF_ERROR(measureCosts(batch, result.profile));
      else
        result.skipped += pass == 0;
  for (profile::MachineCosts &machine : result.profile.machines)
    machine.isBusy = isDisturbed(machine);
  result.seconds = seconds();
  return okStatus();
}

Status tune::checkMinutes(double minutes) {
  if (minutes > 0 && minutes <= 24 * 60)
    return okStatus();
  return invalidArgument(strCat(
      "--minutes: expected a number above 0 and at most 1440, got ", minutes));
}

Status tune::checkShapes(const EnvelopeInfo &envelope, const Options &options) {
  for (uint32_t batch : options.batches)
    if (batch == 0 || batch > envelope.maxBatch)
      return invalidArgument(strCat("--batch: expected 1 to ",
                                    envelope.maxBatch,
                                    " (the envelope's batch), got ", batch));
  for (uint32_t size : options.captureSizes)
    if (size == 0 || size > envelope.maxBatch)
      return invalidArgument(strCat("--capture-sizes: expected 1 to ",
                                    envelope.maxBatch,
                                    " (the envelope's batch), got ", size));
  for (uint32_t context : options.contexts)
    if (context == 0 || context >= envelope.maxContext)
      return invalidArgument(
          strCat("--context: expected 1 to ", envelope.maxContext - 1,
                 " (below the envelope's context), got ", context));
  return okStatus();
}

/// Returns numbers of slots with all captured sizes among them.
static std::vector<uint32_t> withSizes(std::vector<uint32_t> batches,
                                       const std::vector<uint32_t> &sizes) {
  std::set<uint32_t> all(batches.begin(), batches.end());
  all.insert(sizes.begin(), sizes.end());
  return {all.begin(), all.end()};
}

/// Checks the numbers of the options, and fills in missing ones.
static Status settle(const Model &model, Options &o) {
  const EnvelopeInfo *e = model.envelope();
  if (!e)
    return failedPrecondition(
        "expected an artifact that generates, got functions only");
  MTP_RETURN_IF_ERROR(checkMinutes(o.minutes));
  if (o.tokens >= e->maxContext)
    return invalidArgument(
        strCat("--max-tokens: expected at most ", e->maxContext - 1,
               " (below the envelope's context), got ", o.tokens));
  if (o.tokens == 0)
    o.tokens = std::max(std::min(kTextTokens, e->maxContext / 2), 1u);
  MTP_RETURN_IF_ERROR(checkShapes(*e, o));
  if (o.batches.empty())
    o.batches = batchesUpTo(e->maxBatch);
  o.batches = withSizes(std::move(o.batches), o.captureSizes);
  if (o.contexts.empty())
    o.contexts = contextsUpTo(e->maxContext);
  return okStatus();
}

Result<Measured> tune::measure(const std::shared_ptr<const Model> &model,
                               Options options) {
  MTP_RETURN_IF_ERROR(settle(*model, options));
  Measured result;
  Tuner tuner(model, options);
  MTP_RETURN_IF_ERROR(tuner.run(result));
  const Model::Impl &impl = ModelAccess::impl(*model);
  result.profile.head = findDraftHead(impl.artifact(), impl.plan());
  return result;
}
