//===- SessionImpl.cpp - The inside of Session ----------------------------===//

#include "runtime/exec/SessionImpl.h"
#include "runtime/core/Processors.h"
#include "runtime/core/StrCat.h"
#include "runtime/exec/RequestCheck.h"
#include "runtime/exec/launch/BadWords.h"
#include "runtime/exec/program/RequestPorts.h"
#include "runtime/profile/ProfileKeys.h"
#include "runtime/profile/ThreadChoice.h"
#include "runtime/profile/ThresholdChoice.h"
#include "runtime/schema/ConfidenceStates.h"
#include "runtime/schema/KvPage.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <utility>

using namespace mtp;

/// The number of drafts for which the acceptance of a request's kind stands.
static constexpr double kKindDrafts = 12;

/// Divisor of the pool that limits the pages for padding slots.
static constexpr uint32_t kSpareShare = 4;

//===----------------------------------------------------------------------===//
// Start
//===----------------------------------------------------------------------===//

static double steadySeconds() {
  auto time = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(time).count();
}

Session::Impl::Impl(std::shared_ptr<const Model> model,
                    const Model::Impl &inner, const SessionOptions &options,
                    SessionSetup given)
    : model(std::move(model)), inner(inner), options(options),
      setup(std::move(given)) {
  if (!setup.clock)
    setup.clock = steadySeconds;
}

Session::Impl::~Impl() {
  if (rounds)
    inner.learnedCosts.leave(options.threads, rounds->learned());
}

SessionState::SessionState(const Model::Impl &inner,
                           const SessionOptions &options,
                           const SessionSetup &setup, Executable &executable)
    : inner(inner), options(options), setup(setup), executable(executable),
      library(chooseLibrary(inner.programs, executable, options.prefillChunk,
                            options.deterministic)),
      reuse(prefixReusePolicy(inner.artifact(), inner.programs, options.k)),
      host(inner.artifact(), executable), rules(inner.artifact(), executable),
      masks(inner.artifact(), executable),
      padding(inner.artifact(), executable, host, rules),
      table(options.maxSlots), results(inner, executable, options),
      launch(inner.programs, host, executable, inner.envelope->vocab) {}

SessionParts::SessionParts(const Model::Impl &inner,
                           const SessionOptions &options,
                           const SessionSetup &setup, Executable &executable)
    : SessionState(inner, options, setup, executable), admission(*this),
      scheduler(table, admission), ends(*this, scheduler) {}

uint64_t SessionState::endOfRound(uint64_t length, uint32_t k) const {
  return roundEnd(length, inner.programs.nodes(k), inner.envelope->maxContext);
}

Status SessionState::land() {
  MTP_RETURN_IF_ERROR(launch.land());
  padding.end(*memory);
  return okStatus();
}

void SessionState::endLaunch() {
  launch.end();
  padding.end(*memory);
}

/// Returns the most pages that padding slots take in a launch at the captured
/// sizes.
static uint64_t mostPaddingPages(const profile::CaptureSizes &sizes,
                                 const ProgramTable &programs,
                                 const EnvelopeInfo &envelope,
                                 uint32_t rounds) {
  uint64_t most = 0;
  for (const auto &[k, captured] : sizes) {
    uint64_t positions =
        roundEnd(rounds, programs.nodes(k), envelope.maxContext);
    uint64_t pages =
        (positions + envelope.pageTokens - 1) / envelope.pageTokens;
    uint32_t before = 0;
    for (uint32_t size : captured) {
      // A round of one slot more than the size before has the most padding.
      if (size > before)
        most = std::max(most, (size - before - 1) * pages);
      before = size;
    }
  }
  return most;
}

/// Returns the pages that the prefix cache leaves free, so that padding slots
/// find pages: at most a quarter of the pool. A pool of the default size grows
/// by the pages of the caller's sizes. It does not grow for a profile's sizes,
/// because a profile must not make a session too large.
static uint32_t addSparePages(const Model::Impl &inner,
                              const profile::CaptureSizes &sizes,
                              bool isDefaultPool, SessionOptions &options) {
  if (!options.prefixCache)
    return 0;
  uint64_t spare = mostPaddingPages(sizes, inner.programs, *inner.envelope,
                                    options.roundsPerLaunch);
  if (!isDefaultPool || options.captureSizes.empty())
    return uint32_t(std::min<uint64_t>(spare, options.kvPages / kSpareShare));
  spare = std::min<uint64_t>(spare, INT32_MAX - options.kvPages);
  options.kvPages += uint32_t(spare);
  return uint32_t(spare);
}

/// Returns the number of rounds per launch that a profile prefers, or else the
/// device's.
static uint32_t roundsBy(const Model::Impl &inner,
                         const SessionOptions &options,
                         const ProfileCosts &costs, uint32_t preferred) {
  uint32_t most = inner.artifact().maxRounds;
  uint32_t usual = std::min(preferred, most);
  if (!costs.machine)
    return usual;
  return planRounds(inner.programKeys(), *inner.profile, *costs.machine,
                    {options.maxSlots, options.k, most, usual});
}

Status Session::Impl::startGeneration(ProfileCosts costs, CapturePlan captures,
                                      uint32_t sparePages) {
  parts = std::make_unique<SessionParts>(inner, options, setup, *executable);
  MTP_ASSIGN_OR_RETURN(
      parts->memory,
      SequenceMemory::create(inner.artifact(), *executable,
                             {options, *inner.envelope, parts->reuse,
                              parts->library.rows, parts->host.canSetAccepted(),
                              memory, sparePages}));
  if (options.recordsProfile)
    parts->recorder = std::make_unique<ProfileRecorder>(inner.artifact(),
                                                        inner.programKeys());
  if (!inner.learnedCosts.has(options.threads))
    inner.learnedCosts.leave(options.threads, costs.learned);
  profileNotes = std::move(costs.notes);
  kinds = std::move(costs.kinds);
  chooseDraftPMin(costs);
  prompts = std::make_unique<PromptRunner>(*parts);
  for (ProfileCosts::Pass pass : costs.prefills)
    prompts->planner().addPass(pass.rows, pass.seconds);
  for (ProfileCosts::Pass pass : costs.rounds)
    prompts->planner().addRound(pass.rows, pass.seconds);
  rounds = std::make_unique<RoundRunner>(*parts, *prompts,
                                         std::move(captures.sizes));
  return captures.launches.empty() ? okStatus()
                                   : executable->expect(captures.launches);
}

/// Fills in the confidence by which drafts end: the caller's, or with automatic
/// k the profile's if that pays, or the model's. If tokens depend on drafts, a
/// profile decides nothing.
void Session::Impl::chooseDraftPMin(const ProfileCosts &costs) {
  std::optional<uint32_t> state = findDraftPMin(inner.artifact());
  if (!state || options.draftPMin)
    return;
  double usual = inner.artifact().states[*state].rule.init;
  options.draftPMin = float(usual);
  if (!options.automaticK || !costs.machine || options.k == 0 ||
      !parts->host.hasDraftLimit())
    return;
  auto report = profile::chooseThreshold(
      *inner.profile, costsOfPlan(*costs.machine, inner.programKeys()),
      {.mostK = options.k, .usual = usual});
  if (report && report->pays())
    options.draftPMin = float(report->best.least);
}

/// Returns the caller's sizes, or on a GPU the graphs that a profile chooses.
CapturePlan Session::Impl::chooseCaptures(const ProfileCosts &costs) const {
  CapturePlan own;
  if (!PaddingSlots::arePossible(inner.artifact()))
    return own;
  if (!options.captureSizes.empty())
    for (uint32_t k = 0; k <= options.k; ++k)
      own.sizes[k] = options.captureSizes;
  else if (inner.device != DeviceKind::Cpu && costs.machine)
    own = planCaptures(
        inner.plan(), inner.programKeys(), *costs.machine, inner.profile->load,
        {options.maxSlots, options.k, options.roundsPerLaunch > 1});
  return own;
}

/// Returns the part of the model's profile that matches this session.
Result<ProfileCosts> Session::Impl::readProfile() const {
  if (!inner.profile)
    return ProfileCosts();
  return matchProfile(*inner.profile, inner.programKeys(), machine);
}

Status Session::Impl::start() {
  bool isDefaultPool = options.kvPages == 0;
  if (options.threads == 0) {
    options.threads = mtp::usableProcessors();
    if (inner.profile && inner.device == DeviceKind::Cpu)
      options.threads =
          profile::chooseThreads(*inner.profile, profile::processorName(),
                                 options.threads)
              .threads;
  }
  if (inner.envelope)
    MTP_RETURN_IF_ERROR(completeOptions(inner, options));
  MTP_ASSIGN_OR_RETURN(std::unique_ptr<Device> device,
                       openDevice(inner.device, inner.gpu,
                                  {options.threads, options.pinThreads,
                                   options.populateMemory}));
  if (inner.device == DeviceKind::Cpu) {
    machine = {profile::processorName(), options.threads};
  } else {
    DeviceVersion of = device->version();
    machine = {device->name(), 0, {of.driver, of.clock, of.memoryClock}};
  }
  ProfileCosts costs;
  CapturePlan captures;
  uint32_t sparePages = 0;
  if (inner.envelope) {
    MTP_ASSIGN_OR_RETURN(costs, readProfile());
    if (options.roundsPerLaunch == 0)
      options.roundsPerLaunch =
          roundsBy(inner, options, costs, device->preferredRounds());
    captures = chooseCaptures(costs);
    sparePages = addSparePages(inner, captures.sizes, isDefaultPool, options);
  }
  std::vector<uint32_t> watched;
  if (auto ring = inner.artifact().findState("ring"))
    watched.push_back(*ring);
  // The recorder reads it while further rounds run.
  auto shown = inner.artifact().findState(kShownConfidence);
  if (shown && options.recordsProfile)
    watched.push_back(*shown);
  MTP_ASSIGN_OR_RETURN(executable,
                       device->load(inner.file, inner.planIndex,
                                    options.kvPages, std::move(watched)));
  if (setup.device)
    executable = setup.device(std::move(executable));
  if (!inner.envelope)
    return okStatus();
  return startGeneration(std::move(costs), std::move(captures), sparePages);
}

//===----------------------------------------------------------------------===//
// Sequences
//===----------------------------------------------------------------------===//

Result<const Sequence *> Session::Impl::find(SequenceId id) const {
  const Sequence *found = parts ? parts->table.find(id) : nullptr;
  if (!found)
    return notFound(strCat("no sequence has the id ", id));
  return found;
}

Result<Sequence *> Session::Impl::find(SequenceId id) {
  MTP_ASSIGN_OR_RETURN(const Sequence *found, std::as_const(*this).find(id));
  return const_cast<Sequence *>(found);
}

/// Returns the error of calls that would go on after a failure.
Status Session::Impl::checkUsable() const {
  if (failure.isOk())
    return okStatus();
  return Status(
      failure.code(),
      strCat("an earlier step of the session failed: ", failure.message()));
}

/// Checks a request, which must be able to run alone.
Status Session::Impl::checkRequest(const Request &request) const {
  if (!parts)
    return failedPrecondition("the artifact has functions only, no model");
  MTP_RETURN_IF_ERROR(mtp::checkRequest(inner, options, request));
  const KvCacheManager &kv = parts->memory->pages();
  uint64_t total = uint64_t(request.prompt.size()) + request.maxTokens;
  uint64_t pages = kv.pagesFor(parts->endOfRound(total - 1, options.k));
  if (pages > kv.usablePages())
    return resourceExhausted(
        strCat("the prompt's ", request.prompt.size(), " tokens and ",
               request.maxTokens, " max tokens need ", pages,
               " KV pages, but the session has ", kv.usablePages()));
  return okStatus();
}

/// Sets the number of drafts of a new sequence.
void Session::Impl::setDrafts(Sequence &sequence) const {
  uint32_t k = sequence.request.k;
  bool isAutomatic = k == Request::kAutomatic ||
                     (k == Request::kSessions && options.automaticK);
  sequence.drafts.k = k <= options.k ? k : options.k;
  sequence.drafts.choosesK = isAutomatic && parts->host.hasDraftLimit();
  if (auto kind = kinds.find(sequence.request.kind); kind != kinds.end())
    for (double rate : kind->second)
      sequence.drafts.history.begin(kKindDrafts, rate);
  // Masks follow the paths of drafts, which the host must see.
  if (sequence.matcher &&
      !(parts->masks.replaceDrafts() &&
        showsPaths(inner.plan(), inner.programs, options.k)))
    sequence.drafts = {};
}

/// Adds the confidence by which a request's drafts end to its inputs.
void Session::Impl::addDraftPMin(const Request &request,
                                 InputBytes &inputs) const {
  std::optional<uint32_t> state = findDraftPMin(inner.artifact());
  bool isOwn = request.draftPMin.has_value();
  std::optional<float> least = isOwn ? request.draftPMin : options.draftPMin;
  if (!state || !least || (!isOwn && inputs.contains(*state)))
    return;
  std::vector<uint8_t> bytes(sizeof(float));
  std::memcpy(bytes.data(), &*least, sizeof(float));
  inputs.insert_or_assign(*state, std::move(bytes));
}

Result<SequenceId> Session::Impl::add(Request request) {
  MTP_RETURN_IF_ERROR(checkUsable());
  MTP_RETURN_IF_ERROR(checkRequest(request));
  MTP_ASSIGN_OR_RETURN(
      InputBytes inputs,
      readInputs(inner.artifact(), std::exchange(request.inputs, {})));
  MTP_ASSIGN_OR_RETURN(std::vector<RequestOutputType> outputs,
                       findOutputs(inner.plan(), request.outputs));
  uint32_t vocab = inner.envelope->vocab;
  MTP_ASSIGN_OR_RETURN(
      KeptLogits logits,
      parts->memory->withRoom(
          KeptLogits::bytes(options.logits, request.maxTokens, vocab), [&] {
            return KeptLogits::reserve(options.logits, request.maxTokens, vocab,
                                       memory);
          }));
  KeptState kept = keptStateOf(std::move(inputs), request.cacheSalt);
  // Entries of caches do not depend on it, so it tells no pages apart.
  addDraftPMin(request, kept.inputs);
  kept.runsAll = request.logprobs.prompt.has_value();
  MTP_RETURN_IF_ERROR(parts->memory->reserveSaved(kept));
  request.constraint = withoutBadWords(
      request.rules, vocab, std::move(request.constraint),
      std::span(request.prompt).last(request.rules.begunTokens));
  std::unique_ptr<ConstraintMatcher> matcher;
  if (request.constraint) {
    matcher = request.constraint->begin();
    // Admission makes this mask again, and cannot fail then.
    MTP_RETURN_IF_ERROR(parts->masks.makeNext(*matcher));
  }
  Sequence &sequence = parts->table.add();
  sequence.request = std::move(request);
  sequence.kept = std::move(kept);
  sequence.matcher = std::move(matcher);
  sequence.arrival = statistics().prefillTokens;
  setDrafts(sequence);
  if (parts->recorder)
    parts->recorder->addPrompt(sequence.request.prompt.size());
  parts->results.begin(sequence, std::move(logits), std::move(outputs));
  parts->scheduler.enter(sequence);
  // A slot may be free for the sequence.
  parts->launch.endSoon();
  return sequence.id;
}

Status Session::Impl::cancel(SequenceId id) {
  MTP_ASSIGN_OR_RETURN(Sequence * sequence, find(id));
  if (sequence->phase() == Sequence::Phase::Done)
    return okStatus();
  RoundLaunch &launch = parts->launch;
  if (parts->recorder && !sequence->output.tokens().empty())
    parts->recorder->addOutput(sequence->output.tokens().size());
  parts->ends.cancel(*sequence,
                     /*mayCopy=*/!launch.isUnderWay() && failure.isOk());
  if (!launch.isUnderWay() || !parts->table.admitted().empty() ||
      !failure.isOk())
    return okStatus();
  // No sequence is left for which a round that has stopped would go on.
  if (launch.isStopped())
    parts->endLaunch();
  else
    launch.endSoon();
  return okStatus();
}

Status Session::Impl::release(SequenceId id) {
  MTP_ASSIGN_OR_RETURN(const Sequence *sequence, find(id));
  if (sequence->phase() != Sequence::Phase::Done)
    return failedPrecondition(
        strCat("sequence ", id, " has not finished; cancel it first"));
  parts->table.erase(id);
  return okStatus();
}

/// Sets an input of a sequence. If the sequence has a slot, none of its rounds
/// is under way: its own launches have one round.
Status Session::Impl::setInput(SequenceId id, RequestInput input) {
  MTP_RETURN_IF_ERROR(checkUsable());
  MTP_ASSIGN_OR_RETURN(Sequence * sequence, find(id));
  if (!sequence->request.seesDrafts)
    return failedPrecondition(
        strCat("expected a sequence that sees drafts, which ", id,
               " does not: its inputs stay as they are"));
  if (sequence->phase() == Sequence::Phase::Done)
    return failedPrecondition(strCat("sequence ", id, " has finished"));
  std::vector<RequestInput> inputs;
  inputs.push_back(std::move(input));
  MTP_ASSIGN_OR_RETURN(InputBytes given,
                       readInputs(inner.artifact(), std::move(inputs)));
  auto &[state, bytes] = *given.begin();
  const Residency *residency =
      sequence->residency ? &*sequence->residency : nullptr;
  return parts->memory->setInput(sequence->kept, residency, state,
                                 std::move(bytes));
}

Status Session::Impl::pause(SequenceId id) {
  MTP_RETURN_IF_ERROR(checkUsable());
  MTP_ASSIGN_OR_RETURN(Sequence * sequence, find(id));
  MTP_RETURN_IF_ERROR(
      parts->scheduler.pause(*sequence, parts->launch.isUnderWay()));
  if (sequence->isPausing)
    parts->launch.endSoon();
  return okStatus();
}

Status Session::Impl::resume(SequenceId id) {
  MTP_RETURN_IF_ERROR(checkUsable());
  MTP_ASSIGN_OR_RETURN(Sequence * sequence, find(id));
  if (parts->scheduler.resume(*sequence))
    parts->launch.endSoon();
  return okStatus();
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

static std::atomic<bool> checksEveryStep = false;

void SessionFactory::checkEveryStep(bool isOn) { checksEveryStep = isOn; }

/// Reads the results of the rounds under way. If no round is under way, goes on
/// with prompts and then starts rounds.
Status Session::Impl::advance() {
  uint64_t before = statistics().rounds;
  if (parts->launch.isUnderWay()) {
    MTP_RETURN_IF_ERROR(rounds->run());
    if (parts->launch.isUnderWay() || statistics().rounds > before)
      return okStatus();
  }
  MTP_RETURN_IF_ERROR(parts->scheduler.admitWaiting());
  MTP_RETURN_IF_ERROR(prompts->score());
  if (!prompts->mixesNext())
    MTP_RETURN_IF_ERROR(prompts->run());
  return rounds->run();
}

/// Updates the counts of copies in the statistics. Other calls make and drop
/// copies while the caller of step() may read the statistics, so these counts
/// change in steps only.
void Session::Impl::countSteps() {
  Statistics &counted = parts->results.statistics();
  counted.preemptions = parts->scheduler.preemptions();
  if (const Snapshots *snapshots = parts->memory->snapshots()) {
    counted.snapshots = snapshots->counts().made;
    counted.droppedSnapshots = snapshots->counts().dropped;
    counted.snapshotBytes = snapshots->counts().bytes;
  }
}

/// Runs a step. If the step has produced tokens before it fails, returns the
/// tokens; the next call returns the failure.
Result<std::vector<SequenceUpdate>> Session::Impl::step() {
  MTP_RETURN_IF_ERROR(checkUsable());
  if (!parts)
    return std::vector<SequenceUpdate>();
  failure = advance();
  countSteps();
  if (failure.isOk() && checksEveryStep)
    failure = checkInvariants();
  if (!failure.isOk() && !parts->results.hasUpdates())
    return failure;
  return parts->results.take();
}

Status Session::Impl::checkInvariants() const {
  if (!parts)
    return okStatus();
  MTP_RETURN_IF_ERROR(parts->table.checkInvariant());
  return parts->memory->checkInvariant();
}

const Statistics &Session::Impl::statistics() const {
  static const Statistics none;
  return parts ? parts->results.statistics() : none;
}
