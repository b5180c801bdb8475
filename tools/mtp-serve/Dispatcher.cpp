//===- Dispatcher.cpp - Generations and their sequences -------------------===//

#include "tools/mtp-serve/Dispatcher.h"
#include "runtime/core/StrCat.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>

using namespace mtp;
using namespace mtp::serve;

static std::mt19937_64 seededRandom() {
  std::random_device device;
  std::seed_seq seed{device(), device(), device(), device()};
  return std::mt19937_64(seed);
}

Dispatcher::Dispatcher(std::unique_ptr<Session> session,
                       const ModelFacts &facts, uint32_t maxWaiting, Post post)
    : facts(facts), maxWaiting(maxWaiting), numbers(facts.names.front()),
      random(seededRandom()),
      engine(std::move(session), [this, post](EngineReport report) {
        post([this, report = std::move(report)] { deliver(report); });
      }) {}

Dispatcher::~Dispatcher() {
  for (auto &[handle, generation] : running) {
    engine.cancel(handle);
    generation->abandon();
  }
}

std::string Dispatcher::makeId() {
  char text[40];
  std::snprintf(text, sizeof(text), "%016llx%016llx",
                (unsigned long long)random(), (unsigned long long)random());
  return text;
}

ApiError Dispatcher::tooMany() const {
  ApiError error;
  error.status = 429;
  error.code = "queue_full";
  error.message = strCat("expected at most ", maxWaiting,
                         " sequences that wait, got more; try again later");
  // Until about so many have ended as wait for a slot.
  double seconds =
      secondsEach * double(running.size()) / std::max(1u, facts.slots);
  error.retryAfter = unsigned(std::clamp(std::ceil(seconds), 1.0, 60.0));
  return error;
}

MaybeError Dispatcher::start(GenerationRequest request, const std::string &id,
                             std::shared_ptr<Generation> &generation) {
  if (refuses) {
    ApiError error;
    error.status = 503;
    error.message = "expected requests before the server ends";
    error.retryAfter = 1;
    return error;
  }
  size_t count = request.promptCount() * request.n;
  if (running.size() + count > size_t(facts.slots) + maxWaiting) {
    numbers.refused();
    return tooMany();
  }
  std::vector<PreparedPrompt> prompts;
  if (MaybeError error = preparePrompts(request, facts, prompts))
    return error;
  generation = std::make_shared<Generation>(
      std::move(request), std::move(prompts), facts, id,
      uint64_t(std::time(nullptr)), next,
      [this](Handle handle) { engine.cancel(handle); });
  Clock::time_point now = Clock::now();
  for (Request &sequence : generation->sequences(random())) {
    Handle handle = next++;
    running[handle] = generation;
    began[handle] = now;
    numbers.submitted(handle, sequence.prompt.size(), now);
    engine.submit(handle, std::move(sequence));
  }
  return std::nullopt;
}

void Dispatcher::deliver(const EngineReport &report) {
  Clock::time_point now = Clock::now();
  numbers.setState(report.state);
  lastState = report.state;
  for (const EngineEvent &event : report.events) {
    numbers.taken(event, now);
    auto found = running.find(event.handle);
    if (found == running.end())
      continue;
    std::shared_ptr<Generation> generation = found->second;
    if (event.finish != FinishReason::None) {
      running.erase(found);
      std::chrono::duration<double> took = now - began[event.handle];
      secondsEach += (took.count() - secondsEach) / 16;
      began.erase(event.handle);
    }
    generation->take(event);
  }
  if (!report.failure.isOk() && onFailure)
    onFailure(report.failure);
}

void Dispatcher::abortAll() {
  std::vector<std::shared_ptr<Generation>> all;
  for (auto &[handle, generation] : running)
    all.push_back(generation);
  for (auto &generation : all)
    generation->abort();
}
