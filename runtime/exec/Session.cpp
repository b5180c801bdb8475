//===- Session.cpp - Generate tokens --------------------------------------===//

#include "runtime/core/Processors.h"
#include "runtime/core/StrCat.h"
#include "runtime/exec/SessionImpl.h"

#include <algorithm>
#include <chrono>
#include <utility>

using namespace mtp;

//===----------------------------------------------------------------------===//
// Start
//===----------------------------------------------------------------------===//

static double steadySeconds() {
  auto time = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(time).count();
}

Session::Impl::Impl(std::shared_ptr<const Model> model,
                    const Model::Impl &inner, const SessionOptions &options)
    : model(std::move(model)), inner(inner), options(options),
      clock(steadySeconds) {}

/// Fills in defaults and compares with the envelope.
Status Session::Impl::checkOptions() {
  const EnvelopeInfo &e = *inner.envelope;
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
  if (options.prefillChunk == 0)
    options.prefillChunk = e.prefillChunk;
  if (!inner.programs.hasChunk(options.prefillChunk)) {
    std::string sizes;
    for (auto [least, most] : inner.programs.chunks())
      sizes += strCat(sizes.empty() ? "" : ", ",
                      least < most ? strCat(least, " to ") : "", most);
    return invalidArgument(strCat("expected a prefill chunk of ", sizes,
                                  ", which the artifact was compiled for, "
                                  "got ",
                                  options.prefillChunk));
  }
  uint32_t most = inner.artifact().maxRounds;
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
    KvConfig config = kvConfig();
    uint64_t all = uint64_t(config.slots) * config.tableWidth + 1;
    options.kvPages = uint32_t(std::min<uint64_t>(all, INT32_MAX));
  }
  return okStatus();
}

KvConfig Session::Impl::kvConfig() const {
  const EnvelopeInfo &e = *inner.envelope;
  KvConfig config;
  config.pages = options.kvPages;
  config.pageTokens = e.pageTokens;
  config.slots = options.maxSlots;
  config.tableWidth = uint32_t(pagesPerSlot(e.maxContext, e.pageTokens));
  config.lookahead = reuse.lookahead;
  config.rerun = reuse.rerun;
  config.prefixCache = options.prefixCache && reuse.isAllowed;
  if (reuse.needsSnapshots) {
    config.prefixCache &= snapshots && snapshots->isOn();
    config.mayEnd = [this](const Prefix &prefix) {
      return snapshots->find(prefix) != nullptr;
    };
    config.onForget = [this](uint32_t page) { snapshots->forget(page); };
    config.onMove = [this](uint32_t from, uint32_t to) {
      snapshots->move(from, to);
    };
  }
  return config;
}

Status Session::Impl::startGeneration() {
  library = chooseLibrary(inner.programs, *executable, options.prefillChunk,
                          options.deterministic);
  reuse = reuseRule(inner.artifact(), inner.programs, options.k);
  if (reuse.needsSnapshots)
    snapshots = std::make_unique<Snapshots>(
        inner.artifact(), *executable,
        SnapshotLimits{options.snapshotBytes, inner.envelope->pageTokens,
                       reuse.lookahead, reuse.rerun, reuse.filled});
  KvConfig config = kvConfig();
  MTP_ASSIGN_OR_RETURN(
      tableMemory, hostMemory().reserve(KvCacheManager::memoryBytes(config),
                                        strCat("the tables of ", config.pages,
                                               " KV pages (kv_pages)"),
                                        memory));
  kv = std::make_unique<KvCacheManager>(config);
  host = std::make_unique<HostState>(inner.artifact(), *executable);
  MTP_ASSIGN_OR_RETURN(slotStates,
                       SlotStates::create(inner.artifact(), *executable));
  slotUsed.assign(config.slots, false);
  std::vector<uint32_t> rowsByK;
  for (uint32_t k = 0; k <= options.k; ++k)
    rowsByK.push_back(inner.programs.nodes(k));
  draftPolicy = DraftPolicy(std::move(rowsByK), inner.envelope->maxRows);
  draftPolicy.begin(inner.lessons.of(options.threads));
  mixes = canMix();
  statistics.drafted.assign(options.k, 0);
  statistics.accepted.assign(options.k, 0);
  statistics.roundsByK.assign(options.k + 1, 0);
  return okStatus();
}

Status Session::Impl::start() {
  if (options.threads == 0)
    options.threads = mtp::usableProcessors();
  if (inner.envelope)
    MTP_RETURN_IF_ERROR(checkOptions());
  MTP_ASSIGN_OR_RETURN(std::unique_ptr<Device> device,
                       openDevice(inner.device, inner.gpu,
                                  {options.threads, options.pinThreads,
                                   options.populateMemory}));
  if (options.roundsPerLaunch == 0)
    options.roundsPerLaunch =
        std::min(device->preferredRounds(), inner.artifact().maxRounds);
  std::vector<uint32_t> watched;
  if (auto ring = inner.artifact().findState("ring"))
    watched.push_back(*ring);
  MTP_ASSIGN_OR_RETURN(executable,
                       device->load(inner.file, inner.planIndex,
                                    options.kvPages, std::move(watched)));
  return inner.envelope ? startGeneration() : okStatus();
}

Result<std::unique_ptr<Session>>
Session::create(std::shared_ptr<const Model> model,
                const SessionOptions &options) {
  if (!model)
    return invalidArgument("expected a model, got null");
  const Model::Impl &inner = *model->impl;
  auto impl = std::make_unique<Impl>(std::move(model), inner, options);
  MTP_RETURN_IF_ERROR(impl->start());
  return std::unique_ptr<Session>(new Session(std::move(impl)));
}

Session::Session(std::unique_ptr<Impl> impl) : impl(std::move(impl)) {}
Session::~Session() {
  impl->inner.lessons.leave(impl->options.threads, impl->draftPolicy.lesson());
}

uint32_t Session::usableProcessors() { return mtp::usableProcessors(); }

//===----------------------------------------------------------------------===//
// Access
//===----------------------------------------------------------------------===//

Result<const Sequence *> Session::Impl::find(SequenceId id) const {
  auto found = sequences.find(id);
  if (found == sequences.end())
    return notFound(strCat("no sequence has the id ", id));
  return &found->second;
}

Result<Sequence *> Session::Impl::find(SequenceId id) {
  MTP_ASSIGN_OR_RETURN(const Sequence *found, std::as_const(*this).find(id));
  return const_cast<Sequence *>(found);
}

bool Session::Impl::isRunning(SequenceId id) const {
  auto found = sequences.find(id);
  return found != sequences.end() &&
         found->second.phase == Sequence::Phase::Running;
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

Result<SequenceId> Session::add(Request request) {
  CallGate::Hold hold = impl->gate.enter();
  return impl->add(std::move(request));
}

Result<std::vector<SequenceUpdate>> Session::step() {
  CallGate::Hold hold = impl->gate.enterStep();
  return impl->step();
}

Status Session::setInput(SequenceId id, RequestInput input) {
  CallGate::Hold hold = impl->gate.enter();
  return impl->setInput(id, std::move(input));
}

bool Session::awaitsHost() const {
  CallGate::Hold hold = impl->gate.enter();
  return impl->flight && impl->flight->isStopped;
}

bool Session::idle() const {
  CallGate::Hold hold = impl->gate.enter();
  return impl->isIdle();
}

bool Session::wait(double seconds) {
  return impl->gate.sleep(seconds, [this] { return !impl->isIdle(); });
}

void Session::wake() { impl->gate.wake(); }

std::vector<SequenceId> Session::unfinished() const {
  CallGate::Hold hold = impl->gate.enter();
  std::vector<SequenceId> ids;
  for (const auto &[id, sequence] : impl->sequences)
    if (sequence.phase != Sequence::Phase::Done)
      ids.push_back(id);
  return ids;
}

Status Session::pause(SequenceId id) {
  CallGate::Hold hold = impl->gate.enter();
  return impl->pause(id);
}

Status Session::resume(SequenceId id) {
  CallGate::Hold hold = impl->gate.enter();
  return impl->resume(id);
}

Status Session::cancel(SequenceId id) {
  CallGate::Hold hold = impl->gate.enter();
  return impl->cancel(id);
}

Status Session::release(SequenceId id) {
  CallGate::Hold hold = impl->gate.enter();
  return impl->release(id);
}

Result<SequenceState> Session::state(SequenceId id) const {
  CallGate::Hold hold = impl->gate.enter();
  return impl->state(id);
}

SequenceCounts Session::counts() const {
  CallGate::Hold hold = impl->gate.enter();
  return impl->counts();
}

Result<std::span<const int32_t>> Session::output(SequenceId id) const {
  CallGate::Hold hold = impl->gate.enter();
  MTP_ASSIGN_OR_RETURN(const Sequence *sequence, impl->find(id));
  return std::span<const int32_t>(sequence->output);
}

Result<FinishReason> Session::finishReason(SequenceId id) const {
  CallGate::Hold hold = impl->gate.enter();
  MTP_ASSIGN_OR_RETURN(const Sequence *sequence, impl->find(id));
  return sequence->finish;
}

Result<Statistics> Session::statistics(SequenceId id) const {
  CallGate::Hold hold = impl->gate.enter();
  MTP_ASSIGN_OR_RETURN(const Sequence *sequence, impl->find(id));
  return sequence->statistics;
}

Result<std::span<const float>> Session::logits(SequenceId id,
                                               size_t index) const {
  CallGate::Hold hold = impl->gate.enter();
  MTP_ASSIGN_OR_RETURN(const Sequence *sequence, impl->find(id));
  size_t count = sequence->output.size();
  if (index >= count)
    return outOfRange(
        strCat("expected an output token below ", count, ", got ", index));
  LogitsMode mode = impl->options.logits;
  if (mode == LogitsMode::None ||
      (mode == LogitsMode::Last && index + 1 != count))
    return failedPrecondition("the session does not keep these logits");
  return sequence->logits.row(mode == LogitsMode::All ? index : 0);
}

const Statistics &Session::statistics() const { return impl->statistics; }

Statistics Session::copyStatistics() const {
  CallGate::Hold hold = impl->gate.enter();
  return impl->statistics;
}

KvUsage Session::kvUsage() const {
  CallGate::Hold hold = impl->gate.enter();
  if (!impl->kv)
    return {};
  return {impl->kv->freePages(), impl->kv->cachedPages(),
          impl->kv->heldPages()};
}

Status Session::checkInvariants() const {
  CallGate::Hold hold = impl->gate.enter();
  if (!impl->kv)
    return okStatus();
  MTP_RETURN_IF_ERROR(impl->kv->checkInvariant());
  return impl->snapshots ? impl->snapshots->checkInvariant(*impl->kv)
                         : okStatus();
}

const std::string &Session::promptKernels() const {
  return impl->library.kernels;
}

const SessionOptions &Session::options() const { return impl->options; }
const std::shared_ptr<const Model> &Session::model() const {
  return impl->model;
}
uint64_t Session::snapshotBytes() const {
  return impl->snapshots ? impl->snapshots->bytes() : 0;
}
uint64_t Session::memoryBytes() const {
  return impl->executable->memoryBytes();
}

Result<std::vector<Tensor>>
Session::runFunction(std::string_view name, std::span<const Tensor> inputs) {
  CallGate::Hold hold = impl->gate.enter();
  MTP_RETURN_IF_ERROR(impl->checkUsable());
  return impl->runFunction(name, inputs);
}
