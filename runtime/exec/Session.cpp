//===- Session.cpp - The lock around a session ----------------------------===//

#include "runtime/core/Processors.h"
#include "runtime/core/StrCat.h"
#include "runtime/exec/SessionImpl.h"

#include <utility>

using namespace mtp;

//===----------------------------------------------------------------------===//
// Start
//===----------------------------------------------------------------------===//

Result<std::unique_ptr<Session>>
SessionFactory::create(std::shared_ptr<const Model> model,
                       const SessionOptions &options, SessionSetup setup) {
  if (!model)
    return invalidArgument("expected a model, got null");
  const Model::Impl &inner = ModelAccess::impl(*model);
  auto impl = std::make_unique<Session::Impl>(std::move(model), inner, options,
                                              std::move(setup));
  MTP_RETURN_IF_ERROR(impl->start());
  return std::unique_ptr<Session>(new Session(std::move(impl)));
}

Result<std::unique_ptr<Session>>
Session::create(std::shared_ptr<const Model> model,
                const SessionOptions &options) {
  return SessionFactory::create(std::move(model), options, {});
}

Session::Session(std::unique_ptr<Impl> impl) : impl(std::move(impl)) {}
Session::~Session() = default;

uint32_t Session::usableProcessors() { return mtp::usableProcessors(); }

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

Result<SequenceId> Session::add(Request request) {
  FifoLock::Hold hold = impl->gate.enter();
  return impl->add(std::move(request));
}

Result<std::vector<SequenceUpdate>> Session::step() {
  FifoLock::Hold hold = impl->gate.enterStep();
  return impl->step();
}

Status Session::setInput(SequenceId id, RequestInput input) {
  FifoLock::Hold hold = impl->gate.enter();
  return impl->setInput(id, std::move(input));
}

bool Session::awaitsHost() const {
  FifoLock::Hold hold = impl->gate.enter();
  return impl->parts && impl->parts->launch.isStopped();
}

bool Session::idle() const {
  FifoLock::Hold hold = impl->gate.enter();
  return impl->isIdle();
}

bool Session::wait(double seconds) {
  return impl->gate.sleep(seconds, [this] { return !impl->isIdle(); });
}

void Session::wake() { impl->gate.wake(); }

std::vector<SequenceId> Session::unfinished() const {
  FifoLock::Hold hold = impl->gate.enter();
  std::vector<SequenceId> ids;
  if (!impl->parts)
    return ids;
  for (const auto &[id, sequence] : impl->parts->table.all())
    if (sequence.phase() != Sequence::Phase::Done)
      ids.push_back(id);
  return ids;
}

Status Session::pause(SequenceId id) {
  FifoLock::Hold hold = impl->gate.enter();
  return impl->pause(id);
}

Status Session::resume(SequenceId id) {
  FifoLock::Hold hold = impl->gate.enter();
  return impl->resume(id);
}

Status Session::cancel(SequenceId id) {
  FifoLock::Hold hold = impl->gate.enter();
  return impl->cancel(id);
}

Status Session::release(SequenceId id) {
  FifoLock::Hold hold = impl->gate.enter();
  return impl->release(id);
}

Result<SequenceState> Session::state(SequenceId id) const {
  FifoLock::Hold hold = impl->gate.enter();
  MTP_ASSIGN_OR_RETURN(const Sequence *sequence, impl->find(id));
  switch (sequence->phase()) {
  case Sequence::Phase::Waiting:
    return SequenceState::Waiting;
  case Sequence::Phase::Prefilling:
    return SequenceState::Prefilling;
  case Sequence::Phase::Running:
    return SequenceState::Running;
  case Sequence::Phase::Paused:
    return SequenceState::Paused;
  case Sequence::Phase::Done:
    break;
  }
  return SequenceState::Finished;
}

SequenceCounts Session::counts() const {
  FifoLock::Hold hold = impl->gate.enter();
  return impl->parts ? impl->parts->table.counts() : SequenceCounts();
}

Result<std::span<const int32_t>> Session::output(SequenceId id) const {
  FifoLock::Hold hold = impl->gate.enter();
  MTP_ASSIGN_OR_RETURN(const Sequence *sequence, impl->find(id));
  return std::span<const int32_t>(sequence->output.tokens());
}

Result<FinishReason> Session::finishReason(SequenceId id) const {
  FifoLock::Hold hold = impl->gate.enter();
  MTP_ASSIGN_OR_RETURN(const Sequence *sequence, impl->find(id));
  return sequence->output.finish();
}

Result<Statistics> Session::statistics(SequenceId id) const {
  FifoLock::Hold hold = impl->gate.enter();
  MTP_ASSIGN_OR_RETURN(const Sequence *sequence, impl->find(id));
  return sequence->statistics;
}

Result<std::span<const float>> Session::logits(SequenceId id,
                                               size_t index) const {
  FifoLock::Hold hold = impl->gate.enter();
  MTP_ASSIGN_OR_RETURN(const Sequence *sequence, impl->find(id));
  size_t count = sequence->output.tokens().size();
  if (index >= count)
    return outOfRange(
        strCat("expected an output token below ", count, ", got ", index));
  LogitsMode mode = impl->options.logits;
  if (mode == LogitsMode::None ||
      (mode == LogitsMode::Last && index + 1 != count))
    return failedPrecondition("the session does not keep these logits");
  return sequence->output.logits().row(mode == LogitsMode::All ? index : 0);
}

const Statistics &Session::statistics() const { return impl->statistics(); }

Statistics Session::copyStatistics() const {
  FifoLock::Hold hold = impl->gate.enter();
  return impl->statistics();
}

KvUsage Session::kvUsage() const {
  FifoLock::Hold hold = impl->gate.enter();
  if (!impl->parts)
    return {};
  const KvCacheManager &pages = impl->parts->memory->pages();
  return {pages.freePages(), pages.cachedPages(), pages.heldPages()};
}

Status Session::checkInvariants() const {
  FifoLock::Hold hold = impl->gate.enter();
  return impl->checkInvariants();
}

const std::string &Session::promptKernels() const {
  static const std::string none;
  return impl->parts ? impl->parts->library.kernels : none;
}

const SessionOptions &Session::options() const { return impl->options; }
const std::shared_ptr<const Model> &Session::model() const {
  return impl->model;
}
uint64_t Session::snapshotBytes() const {
  const Snapshots *snapshots =
      impl->parts ? impl->parts->memory->snapshots() : nullptr;
  return snapshots ? snapshots->bytes() : 0;
}
uint64_t Session::memoryBytes() const {
  return impl->executable->memoryBytes();
}

Result<std::vector<Tensor>>
Session::runFunction(std::string_view name, std::span<const Tensor> inputs) {
  FifoLock::Hold hold = impl->gate.enter();
  return impl->runFunction(name, inputs);
}
