//===- Dispatcher.cpp - Generations and their sequences -------------------===//

#include "tools/mtp-serve/engine/Dispatcher.h"
#include "runtime/core/StrCat.h"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <utility>

using namespace mtp;
using namespace mtp::serve;

/// The worker's client number for the server's own work.
static constexpr uint64_t kOwnWork = UINT64_MAX;

static std::mt19937_64 seededRandom() {
  std::random_device device;
  std::seed_seq seed{device(), device(), device(), device()};
  return std::mt19937_64(seed);
}

static CacheConfig cacheOf(const Session &session) {
  const SessionOptions &options = session.options();
  return {session.model()->envelope()->pageTokens, options.kvPages,
          options.prefixCache};
}

Dispatcher::Dispatcher(std::unique_ptr<Session> session,
                       const ModelFacts &facts, const Limits &limits,
                       Post given)
    : facts(facts), post(std::move(given)),
      numbers(facts.names.front(), cacheOf(*session)),
      budget(std::make_shared<RequestMemoryLimit>(limits.bodiesBytes,
                                                  limits.keyCount > 1)),
      gate(limits, facts.slots), random(seededRandom()),
      engine(std::move(session),
             [this](EngineReport report) {
               post([this, report = std::move(report)] { deliver(report); });
             }),
      workers(facts) {}

Dispatcher::~Dispatcher() {
  for (auto &[handle, sequence] : running) {
    current().cancel(handle);
    sequence.generation->abandon();
  }
}

std::string Dispatcher::makeId() {
  char text[40];
  std::snprintf(text, sizeof(text), "%016llx%016llx",
                (unsigned long long)random(), (unsigned long long)random());
  return text;
}

MaybeError Dispatcher::start(GenerationRequest request, const std::string &id,
                             std::shared_ptr<Generation> &generation) {
  if (MaybeError error = gate.checkSequences(
          request.client, request.promptCount() * request.n)) {
    if (error->status == 429)
      numbers.refused();
    return error;
  }
  Clock::time_point arrived = Clock::now();
  SequenceControls controls = {[this](Handle h) { current().cancel(h); },
                               [this](Handle h) { current().pause(h); },
                               [this](Handle h) { current().resume(h); }};
  bool isQuick = !hasTexts(request) && !request.isRestricted();
  uint64_t created = request.resume ? request.resume->created : 0;
  auto begun = std::make_shared<Generation>(
      std::move(request), facts, id,
      created > 0 ? created : uint64_t(std::time(nullptr)), next,
      std::move(controls), gate.limits().streamBytes);
  Prepared quick;
  if (isQuick)
    if (MaybeError error = preparePrompts(begun->asked(), facts, quick.prompts))
      return error;
  generation = begun;
  next += generation->size();
  gate.addSequences(generation->asked().client, generation->size());
  if (isQuick) {
    submit(generation, std::move(quick), arrived);
    return std::nullopt;
  }
  setEncoding(generation, true);
  Worker &thread =
      generation->asked().isRestricted() ? workers.compiling : workers.texts;
  thread.put(generation->asked().client, [this, generation, arrived] {
    post([this, generation, arrived, prepared = prepare(*generation)] {
      submit(generation, prepared, arrived);
    });
  });
  return std::nullopt;
}

Dispatcher::Prepared Dispatcher::prepare(const Generation &generation) {
  Prepared prepared;
  if (generation.isAborted())
    return prepared;
  const GenerationRequest &asked = generation.asked();
  prepared.error =
      preparePrompts(asked, facts, prepared.prompts, &generation.abortedFlag());
  if (!prepared.error && !prepared.prompts.empty() && asked.isRestricted())
    prepared.error = workers.grammars.compile(
        asked, prepared.prompts.front().text, prepared.constraint);
  return prepared;
}

void Dispatcher::setEncoding(const std::shared_ptr<Generation> &generation,
                             bool isEncoding) {
  if (isEncoding)
    encoding.insert(generation);
  else
    encoding.erase(generation);
  size_t sequences = 0;
  for (const auto &waiting : encoding)
    sequences += waiting->size();
  numbers.setEncoding(sequences);
}

void Dispatcher::submit(const std::shared_ptr<Generation> &generation,
                        Prepared prepared, Clock::time_point arrived) {
  setEncoding(generation, false);
  MaybeError error = std::move(prepared.error);
  if (!error && !generation->isAborted())
    error = generation->begin(std::move(prepared.prompts),
                              std::move(prepared.constraint));
  if (error || generation->isAborted()) {
    gate.removeSequences(generation->asked().client, generation->size());
    if (error)
      generation->fail(std::move(*error));
    return;
  }
  Running begun = {generation, Clock::now(), random()};
  Handle handle = generation->firstHandle();
  for (const Request &sequence : generation->sequences(0)) {
    running[handle] = begun;
    numbers.submitted(
        handle++,
        {sequence.prompt.size(), sequence.maxTokens, generation->asked().n},
        arrived);
  }
  submitAll(*generation);
}

/// Returns the end of a sequence that has no token left to generate, because
/// another server has generated all of them.
static std::optional<EngineEvent> endOf(const Choice &choice, Handle handle,
                                        const Request &rest) {
  if (rest.maxTokens > 0 && !choice.isComplete())
    return std::nullopt;
  EngineEvent event;
  event.handle = handle;
  event.accepted = true;
  event.finish =
      choice.isComplete() ? choice.finishReason() : FinishReason::Length;
  return event;
}

void Dispatcher::submitAll(const Generation &generation) {
  Handle handle = generation.firstHandle();
  const GenerationRequest &asked = generation.asked();
  EventDetail detail = {!asked.stops.empty() || asked.timesEach,
                        asked.streams && asked.reportsProgress};
  for (Request &sequence : generation.sequences(running.at(handle).seed)) {
    const Choice &choice = generation.answerOf(handle).choice;
    if (std::optional<EngineEvent> end = endOf(choice, handle, sequence))
      take(*end);
    else
      current().submit(handle, std::move(sequence), detail);
    ++handle;
  }
}

std::vector<ActiveSequence> Dispatcher::active() const {
  std::vector<ActiveSequence> all;
  for (const auto &[handle, sequence] : running)
    if (sequence.generation->answerOf(handle).times.admitted)
      all.push_back({handle, sequence.generation.get()});
  std::ranges::sort(all, {}, &ActiveSequence::handle);
  return all;
}

MaybeError Dispatcher::runLater(const std::shared_ptr<TextJob> &job) {
  Worker &thread = job->usesFiles ? workers.files : workers.texts;
  if (MaybeError error =
          gate.checkText(job->client, thread.waiting(job->client))) {
    if (error->status == 429)
      numbers.refused();
    return error;
  }
  texts.insert(job);
  gate.addText(job->client);
  thread.put(job->client, [this, job] {
    std::optional<HttpReply> reply;
    if (!job->isDropped)
      reply = job->work();
    post([this, job, reply = std::move(reply)] { finish(job, reply); });
  });
  return std::nullopt;
}

void Dispatcher::finish(const std::shared_ptr<TextJob> &job,
                        std::optional<HttpReply> reply) {
  texts.erase(job);
  gate.removeText(job->client);
  job->share.release();
  if (!job->isDone())
    job->reply = std::move(reply);
  if (job->listener)
    job->listener();
}

void Dispatcher::deliver(const EngineReport &report) {
  numbers.setState(report.state);
  lastState = report.state;
  std::set<Handle> again;
  if (!report.failure.isOk() && fallback.make)
    again = retry(report);
  for (const EngineEvent &event : report.events)
    if (!again.contains(event.handle))
      take(event);
  if (!report.failure.isOk() && onFailure)
    onFailure(report.failure);
}

void Dispatcher::take(const EngineEvent &event) {
  auto found = running.find(event.handle);
  if (found == running.end())
    return;
  std::shared_ptr<Generation> generation = found->second.generation;
  if (event.finish != FinishReason::None) {
    std::chrono::duration<double> took = event.time - found->second.began;
    running.erase(found);
    gate.removeSequences(generation->asked().client, 1);
    gate.noteDuration(took.count());
  }
  generation->take(event);
  // If a stop string ended the answer, the server ended the sequence
  // afterwards.
  FinishReason reason = event.finish;
  if (reason != FinishReason::None)
    reason = generation->finishOf(event.handle);
  numbers.taken(event, reason, event.time);
}

/// Restarts the generations that can restart. Drops the events of failed
/// sequences in the report.
std::set<Handle> Dispatcher::retry(const EngineReport &report) {
  auto makes = std::exchange(fallback.make, {});
  std::vector<std::shared_ptr<Generation>> again;
  std::set<Handle> handles;
  for (const EngineEvent &event : report.events) {
    auto found = running.find(event.handle);
    if (event.finish != FinishReason::Failed || found == running.end() ||
        handles.contains(event.handle) ||
        !found->second.generation->canRestart())
      continue;
    again.push_back(found->second.generation);
    for (size_t i = 0; i < again.back()->size(); ++i)
      handles.insert(again.back()->firstHandle() + i);
    again.back()->restart();
  }
  if (again.empty())
    return handles;
  fallback.isUsed = true;
  workers.texts.put(kOwnWork, [this, again, makes] {
    auto made = std::make_shared<Result<std::unique_ptr<Session>>>(makes());
    post([this, again, made] { resubmit(again, std::move(*made)); });
  });
  return handles;
}

void Dispatcher::resubmit(
    const std::vector<std::shared_ptr<Generation>> &generations,
    Result<std::unique_ptr<Session>> session) {
  if (session)
    fallback.engine = std::make_unique<Engine>(
        std::move(*session), [this](EngineReport report) {
          post([this, report = std::move(report)] { deliver(report); });
        });
  for (const auto &generation : generations) {
    if (fallback.engine && !generation->isAborted()) {
      submitAll(*generation);
      continue;
    }
    // The sequence ends like one that was not retried.
    EngineEvent event;
    event.finish =
        fallback.engine ? FinishReason::Cancelled : FinishReason::Failed;
    if (!fallback.engine)
      event.error =
          internalError(strCat("a step failed, and no other device can go on: ",
                               session.status().message()));
    for (size_t i = 0; i < generation->size(); ++i) {
      event.handle = generation->firstHandle() + i;
      take(event);
    }
  }
}

void Dispatcher::abortAll() {
  // None of these has begun, so another server may answer.
  for (auto &generation : encoding)
    generation->fail(RequestGate::ending());
  for (const auto &job : texts) {
    job->isDropped = true;
    if (!job->isDone())
      job->error = RequestGate::ending();
    if (job->listener)
      job->listener();
  }
  std::vector<std::shared_ptr<Generation>> all;
  for (auto &[handle, sequence] : running)
    all.push_back(sequence.generation);
  for (auto &generation : all)
    generation->abort();
}
