//===- Engine.cpp - The thread that runs the model ------------------------===//

#include "tools/mtp-serve/engine/Engine.h"

#include <utility>

using namespace mtp;
using namespace mtp::serve;

Engine::Engine(std::unique_ptr<Session> session, Sink sink)
    : session(std::move(session)), sink(std::move(sink)),
      thread([this] { run(); }) {}

Engine::~Engine() {
  close();
  thread.join();
}

void Engine::submit(Handle handle, Request request, EventDetail detail) {
  inbox.put(Submission{handle, std::move(request), detail});
}

void Engine::cancel(Handle handle) { inbox.put(Cancellation{handle}); }

void Engine::pause(Handle handle) { inbox.put(Hold{handle, true}); }

void Engine::resume(Handle handle) { inbox.put(Hold{handle, false}); }

void Engine::close() { inbox.close(); }

void Engine::run() {
  // A session whose step has failed would never become idle.
  auto isIdle = [this] { return !failure.isOk() || session->idle(); };
  for (;;) {
    std::vector<Command> commands = inbox.take(/*mayWait=*/isIdle());
    if (commands.empty() && isIdle())
      return;
    for (Command &command : commands)
      std::visit([this](auto &c) { apply(c); }, command);
    if (!isIdle())
      step();
    send();
  }
}

void Engine::apply(Submission &submission) {
  EngineEvent event;
  event.handle = submission.handle;
  Result<SequenceId> id = failure.isOk()
                              ? session->add(std::move(submission.request))
                              : Result<SequenceId>(failure);
  event.accepted = id.isOk();
  if (id) {
    handles[*id] = submission.handle;
    ids[submission.handle] = *id;
    if (submission.detail.countsEach)
      counting.insert(*id);
    prompts[*id] = {false, submission.detail.reportsProgress};
  } else {
    event.finish = FinishReason::Failed;
    event.error = id.status();
  }
  report.events.push_back(std::move(event));
}

void Engine::apply(Cancellation &cancellation) {
  auto found = ids.find(cancellation.handle);
  if (found == ids.end())
    return;
  EngineEvent event;
  event.finish = FinishReason::Cancelled;
  SequenceId id = found->second;
  session->cancel(id).ignore();
  end(id, std::move(event));
}

void Engine::apply(Hold &hold) {
  auto found = ids.find(hold.handle);
  if (found == ids.end())
    return;
  Status status = hold.isPaused ? session->pause(found->second)
                                : session->resume(found->second);
  if (!status.isOk())
    fail(status);
}

void Engine::step() {
  Clock::time_point begin = Clock::now();
  Result<std::vector<SequenceUpdate>> updates = session->step();
  if (!updates)
    return fail(updates.status());
  reportPrompts(begin);
  for (SequenceUpdate &update : *updates)
    take(update);
  // Fetch the counters of rounds that follow each other on a device.
  if (session->idle())
    if (Status status = session->step().status(); !status.isOk())
      fail(status);
}

void Engine::reportPrompts(Clock::time_point begin) {
  for (auto &[id, prompt] : prompts) {
    if (prompt.isAdmitted && !prompt.reportsProgress)
      continue;
    Result<SequenceState> state = session->state(id);
    if (!state || *state == SequenceState::Waiting)
      continue;
    EngineEvent event;
    event.handle = handles.at(id);
    if (!std::exchange(prompt.isAdmitted, true))
      event.admitted = begin;
    if (Result<Statistics> statistics = session->statistics(id);
        statistics && prompt.reportsProgress) {
      event.isProgress = true;
      event.statistics = std::move(*statistics);
    }
    report.events.push_back(std::move(event));
  }
}

void Engine::take(SequenceUpdate &update) {
  auto found = handles.find(update.id);
  if (found == handles.end())
    return;
  EngineEvent event;
  event.tokens = update.tokens;
  event.logprobs = std::move(update.logprobs);
  event.promptLogprobs = std::move(update.promptLogprobs);
  event.drafted = update.drafted;
  event.finish = update.finish;
  event.stopToken = update.stopToken;
  event.error = update.error;
  event.isRequestsFault = update.error.code() == StatusCode::InvalidArgument;
  if (!update.tokens.empty())
    prompts.erase(update.id);
  if (update.finish != FinishReason::None)
    return end(update.id, std::move(event));
  event.handle = found->second;
  if (counting.contains(update.id))
    if (Result<Statistics> statistics = session->statistics(update.id))
      event.statistics = std::move(*statistics);
  report.events.push_back(std::move(event));
}

void Engine::end(SequenceId id, EngineEvent event) {
  event.handle = handles.at(id);
  if (Result<Statistics> statistics = session->statistics(id))
    event.statistics = std::move(*statistics);
  session->release(id).ignore();
  ids.erase(event.handle);
  handles.erase(id);
  counting.erase(id);
  prompts.erase(id);
  report.events.push_back(std::move(event));
}

void Engine::fail(const Status &status) {
  failure = status;
  report.failure = status;
  while (!handles.empty()) {
    EngineEvent event;
    event.finish = FinishReason::Failed;
    event.error = status;
    end(handles.begin()->first, std::move(event));
  }
}

EngineState Engine::state() const {
  EngineState state;
  state.statistics = session->statistics();
  state.pages = session->kvUsage();
  SequenceCounts counts = session->counts();
  state.running = counts.prefilling + counts.running;
  state.waiting = counts.waiting;
  state.paused = counts.paused;
  return state;
}

void Engine::send() {
  report.state = state();
  sink(std::exchange(report, {}));
}
