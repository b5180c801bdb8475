//===- Dispatcher.cpp - Generations and their sequences -------------------===//

#include "tools/mtp-serve/engine/Dispatcher.h"
#include "runtime/core/StrCat.h"

#include <algorithm>
#include <cmath>
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

Dispatcher::Dispatcher(std::unique_ptr<Session> session,
                       const ModelFacts &facts, const Limits &limits,
                       Post given)
    : facts(facts), limits(limits), post(std::move(given)),
      numbers(facts.names.front()),
      budget(std::make_shared<BodyBudget>(limits.bodiesBytes,
                                          limits.keyCount > 1)),
      random(seededRandom()),
      engine(std::move(session), [this](EngineReport report) {
        post([this, report = std::move(report)] { deliver(report); });
      }) {}

Dispatcher::~Dispatcher() {
  for (auto &[handle, generation] : running) {
    current().cancel(handle);
    generation->abandon();
  }
}

std::string Dispatcher::makeId() {
  char text[40];
  std::snprintf(text, sizeof(text), "%016llx%016llx",
                (unsigned long long)random(), (unsigned long long)random());
  return text;
}

ApiError Dispatcher::tooMany(std::string what) const {
  ApiError error;
  error.status = 429;
  error.code = "queue_full";
  error.message = strCat("expected at most ", what, ", got more; try later");
  // Estimate: the time until enough sequences have ended for the waiting ones.
  double seconds = secondsEach * double(atHand) / std::max(1u, facts.slots);
  error.retryAfter = unsigned(std::clamp(std::ceil(seconds), 1.0, 60.0));
  return error;
}

ApiError Dispatcher::ending() {
  ApiError error;
  error.status = 503;
  error.message = "expected requests before the server ends";
  error.retryAfter = 1;
  return error;
}

MaybeError Dispatcher::checkRoom(const GenerationRequest &request) const {
  if (refuses)
    return ending();
  size_t count = request.promptCount() * request.n;
  size_t most = size_t(facts.slots) + limits.waiting;
  if (limits.perKey > 0)
    most = std::min<size_t>(most, limits.perKey);
  if (count > most)
    return wrongField("n",
                      strCat("expected prompts times 'n' to be at most ", most,
                             ", which run and wait at a time, got ", count));
  if (atHand + count > size_t(facts.slots) + limits.waiting)
    return tooMany(strCat(limits.waiting, " sequences that wait"));
  auto own = ofClient.find(request.client);
  size_t others = own == ofClient.end() ? 0 : own->second;
  if (limits.perKey > 0 && others + count > limits.perKey)
    return tooMany(strCat(limits.perKey, " sequences and texts of one key"));
  return std::nullopt;
}

MaybeError Dispatcher::start(GenerationRequest request, const std::string &id,
                             std::shared_ptr<Generation> &generation) {
  if (MaybeError error = checkRoom(request)) {
    if (error->status == 429)
      numbers.refused();
    return error;
  }
  Clock::time_point arrived = Clock::now();
  SequenceControls controls = {[this](Handle h) { current().cancel(h); },
                               [this](Handle h) { current().pause(h); },
                               [this](Handle h) { current().resume(h); }};
  bool isQuick = !hasTexts(request);
  auto begun = std::make_shared<Generation>(
      std::move(request), facts, id, uint64_t(std::time(nullptr)), next,
      std::move(controls), limits.streamBytes);
  std::vector<PreparedPrompt> prompts;
  if (isQuick)
    if (MaybeError error = preparePrompts(begun->asked(), facts, prompts))
      return error;
  generation = begun;
  next += generation->size();
  atHand += generation->size();
  ofClient[generation->asked().client] += generation->size();
  if (isQuick) {
    submit(generation, std::move(prompts), std::nullopt, arrived);
    return std::nullopt;
  }
  setEncoding(generation, true);
  worker.put(generation->asked().client, [this, generation, arrived] {
    std::vector<PreparedPrompt> prompts;
    MaybeError error;
    if (!generation->isAborted())
      error = preparePrompts(generation->asked(), facts, prompts,
                             &generation->abortedFlag());
    post([this, generation, arrived, prompts = std::move(prompts), error] {
      submit(generation, prompts, error, arrived);
    });
  });
  return std::nullopt;
}

void Dispatcher::setEncoding(const std::shared_ptr<Generation> &generation,
                             bool isEncoding) {
  if (isEncoding && encoding.insert(generation).second)
    encodingSequences += generation->size();
  else if (!isEncoding && encoding.erase(generation) > 0)
    encodingSequences -= generation->size();
  numbers.setEncoding(encodingSequences);
}

void Dispatcher::submit(const std::shared_ptr<Generation> &generation,
                        std::vector<PreparedPrompt> prompts, MaybeError error,
                        Clock::time_point arrived) {
  setEncoding(generation, false);
  if (error || generation->isAborted()) {
    forget(*generation, generation->size());
    if (error)
      generation->fail(std::move(*error));
    return;
  }
  generation->begin(std::move(prompts));
  Clock::time_point now = Clock::now();
  Handle handle = generation->firstHandle();
  seeds[handle] = random();
  for (const Request &sequence : generation->sequences(0)) {
    running[handle] = generation;
    began[handle] = now;
    numbers.submitted(handle++, sequence.prompt.size(), arrived);
  }
  submitAll(*generation);
}

void Dispatcher::submitAll(const Generation &generation) {
  Handle handle = generation.firstHandle();
  for (Request &sequence : generation.sequences(seeds.at(handle)))
    current().submit(handle++, std::move(sequence),
                     /*countsEach=*/!generation.asked().stops.empty());
}

void Dispatcher::forget(const Generation &generation, size_t count) {
  atHand -= count;
  forget(generation.asked().client, count);
}

void Dispatcher::forget(uint64_t client, size_t count) {
  auto own = ofClient.find(client);
  own->second -= count;
  if (own->second == 0)
    ofClient.erase(own);
}

MaybeError Dispatcher::runLater(const std::shared_ptr<TextJob> &job) {
  if (refuses)
    return ending();
  auto own = ofClient.find(job->client);
  size_t others = own == ofClient.end() ? 0 : own->second;
  MaybeError error;
  // Other clients have turns of their own.
  if (worker.waiting(job->client) > limits.waiting)
    error = tooMany(strCat(limits.waiting, " texts that wait"));
  else if (limits.perKey > 0 && others >= limits.perKey)
    error = tooMany(strCat(limits.perKey, " sequences and texts of one key"));
  if (error) {
    numbers.refused();
    return error;
  }
  texts.insert(job);
  ++ofClient[job->client];
  worker.put(job->client, [this, job] {
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
  forget(job->client, 1);
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
  if (!report.failure.isOk() && makeFallback)
    again = retry(report);
  Clock::time_point now = Clock::now();
  for (const EngineEvent &event : report.events)
    if (!again.contains(event.handle))
      take(event, now);
  if (!report.failure.isOk() && onFailure)
    onFailure(report.failure);
}

void Dispatcher::take(const EngineEvent &event, Clock::time_point now) {
  auto found = running.find(event.handle);
  if (found == running.end())
    return;
  std::shared_ptr<Generation> generation = found->second;
  if (event.finish != FinishReason::None) {
    running.erase(found);
    forget(*generation, 1);
    std::chrono::duration<double> took = now - began[event.handle];
    secondsEach += (took.count() - secondsEach) / 16;
    began.erase(event.handle);
    seeds.erase(event.handle);
  }
  generation->take(event);
  // If a stop string ended the answer, the server ended the sequence
  // afterwards.
  FinishReason reason = event.finish;
  if (reason != FinishReason::None)
    reason = generation->finishOf(event.handle);
  numbers.taken(event, reason, now);
}

/// Restarts what it can. Events of the failed sequences in the report are
/// dropped.
std::set<Handle> Dispatcher::retry(const EngineReport &report) {
  auto makes = std::exchange(makeFallback, {});
  std::vector<std::shared_ptr<Generation>> again;
  std::set<Handle> handles;
  for (const EngineEvent &event : report.events) {
    auto found = running.find(event.handle);
    if (event.finish != FinishReason::Failed || found == running.end() ||
        handles.contains(event.handle) || !found->second->canRestart())
      continue;
    again.push_back(found->second);
    for (size_t i = 0; i < again.back()->size(); ++i)
      handles.insert(again.back()->firstHandle() + i);
    again.back()->restart();
  }
  if (again.empty())
    return handles;
  retries = true;
  worker.put(kOwnWork, [this, again, makes] {
    auto made = std::make_shared<Result<std::unique_ptr<Session>>>(makes());
    post([this, again, made] { resubmit(again, std::move(*made)); });
  });
  return handles;
}

void Dispatcher::resubmit(
    const std::vector<std::shared_ptr<Generation>> &generations,
    Result<std::unique_ptr<Session>> session) {
  if (session)
    fallback = std::make_unique<Engine>(
        std::move(*session), [this](EngineReport report) {
          post([this, report = std::move(report)] { deliver(report); });
        });
  for (const auto &generation : generations) {
    if (fallback && !generation->isAborted()) {
      submitAll(*generation);
      continue;
    }
    // The sequence ends like one that was not retried.
    EngineEvent event;
    event.finish = fallback ? FinishReason::Cancelled : FinishReason::Failed;
    if (!fallback)
      event.error =
          internalError(strCat("a step failed, and no other device can go on: ",
                               session.status().message()));
    for (size_t i = 0; i < generation->size(); ++i) {
      event.handle = generation->firstHandle() + i;
      take(event, Clock::now());
    }
  }
}

void Dispatcher::abortAll() {
  // None of these has begun, so another server may answer.
  for (auto &generation : encoding)
    generation->fail(ending());
  for (const auto &job : texts) {
    job->isDropped = true;
    if (!job->isDone())
      job->error = ending();
    if (job->listener)
      job->listener();
  }
  std::vector<std::shared_ptr<Generation>> all;
  for (auto &[handle, generation] : running)
    all.push_back(generation);
  for (auto &generation : all)
    generation->abort();
}
