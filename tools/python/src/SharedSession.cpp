//===- SharedSession.cpp - A session with several callers -----------------===//

#include "tools/python/src/SharedSession.h"

#include "runtime/core/StrCat.h"
#include "runtime/exec/program/RequestPorts.h"

#include <chrono>
#include <iterator>

using namespace mtp;
using namespace mtp::python;
using Clock = std::chrono::steady_clock;

/// How often a waiting thread asks whether it is interrupted.
static constexpr std::chrono::milliseconds kPeriod{20};

static void appendAll(std::vector<TokenLogprobs> &all,
                      std::vector<TokenLogprobs> later) {
  all.insert(all.end(), std::make_move_iterator(later.begin()),
             std::make_move_iterator(later.end()));
}

void python::append(SequenceUpdate &update, SequenceUpdate later) {
  update.id = later.id;
  update.tokens.insert(update.tokens.end(), later.tokens.begin(),
                       later.tokens.end());
  if (update.finish == FinishReason::None)
    update.finish = later.finish;
  if (later.stopToken)
    update.stopToken = later.stopToken;
  if (!later.error.isOk())
    update.error = later.error;
  update.drafted += later.drafted;
  if (update.outputs.empty())
    update.outputs = std::move(later.outputs);
  else
    for (size_t i = 0; i < later.outputs.size(); ++i)
      appendRows(update.outputs[i], later.outputs[i]);
  appendAll(update.logprobs, std::move(later.logprobs));
  appendAll(update.promptLogprobs, std::move(later.promptLogprobs));
  if (later.seen)
    update.seen = std::move(later.seen);
}

Result<std::shared_ptr<SharedSession>>
SharedSession::create(std::shared_ptr<const Model> model,
                      const SessionOptions &options) {
  MTP_ASSIGN_OR_RETURN(std::unique_ptr<Session> session,
                       Session::create(std::move(model), options));
  return std::shared_ptr<SharedSession>(new SharedSession(std::move(session)));
}

Result<SequenceId> SharedSession::add(Request request, bool hasStream) {
  // No thread can hand out updates of the new sequence before it has a reader.
  std::lock_guard lock(mutex);
  MTP_ASSIGN_OR_RETURN(SequenceId id, session->add(std::move(request)));
  if (hasStream)
    streams[id];
  else
    plain.insert(id);
  return id;
}

/// Gives an update to its reader.
void SharedSession::keep(SequenceUpdate update) {
  auto stream = streams.find(update.id);
  if (stream == streams.end()) {
    if (plain.contains(update.id))
      plainUpdates.push_back(std::move(update));
    return;
  }
  // cancel() may come between a step and its updates.
  std::vector<SequenceUpdate> &updates = stream->second;
  if (!updates.empty() && updates.back().finish == FinishReason::Cancelled)
    append(updates.back(), std::move(update));
  else
    updates.push_back(std::move(update));
}

/// Runs a step without the lock, which must be held, and keeps its updates.
Status SharedSession::runStep(std::unique_lock<std::mutex> &lock) {
  isStepping = true;
  lock.unlock();
  Result<std::vector<SequenceUpdate>> updates = session->step();
  lock.lock();
  isStepping = false;
  ++steps;
  if (updates)
    for (SequenceUpdate &update : *updates)
      keep(std::move(update));
  changed.notify_all();
  return updates.status();
}

Result<SequenceUpdate> SharedSession::next(SequenceId id,
                                           const IsInterrupted &isInterrupted) {
  Clock::time_point asked = Clock::now();
  // An update may have nothing but log-probabilities of the prompt.
  SequenceUpdate sum;
  std::unique_lock lock(mutex);
  while (true) {
    auto stream = streams.find(id);
    if (stream == streams.end())
      return failedPrecondition("expected an open stream, got a closed one");
    for (SequenceUpdate &update : stream->second)
      append(sum, std::move(update));
    stream->second.clear();
    sum.id = id;
    if (!sum.tokens.empty() || sum.seen || sum.finish != FinishReason::None)
      return sum;
    if (isStepping) {
      changed.wait_for(lock, kPeriod);
    } else {
      // No update is on its way from another thread.
      MTP_ASSIGN_OR_RETURN(sum.finish, session->finishReason(id));
      if (sum.finish != FinishReason::None)
        return sum;
      if (session->idle())
        changed.wait_for(lock, kPeriod);
      else
        MTP_RETURN_IF_ERROR(runStep(lock));
    }
    if (Clock::now() - asked < kPeriod)
      continue;
    lock.unlock();
    if (isInterrupted())
      return sum;
    asked = Clock::now();
    lock.lock();
  }
}

Result<SequenceUpdate>
SharedSession::finish(SequenceId id, const OnUpdate &onUpdate,
                      const IsInterrupted &isInterrupted) {
  SequenceUpdate sum;
  Clock::time_point asked = Clock::now();
  while (sum.finish == FinishReason::None) {
    MTP_ASSIGN_OR_RETURN(SequenceUpdate update, next(id, isInterrupted));
    bool isEmpty = update.tokens.empty() && !update.seen &&
                   update.finish == FinishReason::None;
    MTP_RETURN_IF_ERROR(onUpdate(update));
    append(sum, std::move(update));
    bool isTime = Clock::now() - asked >= kPeriod;
    if (isEmpty || (isTime && isInterrupted()))
      break;
    if (isTime)
      asked = Clock::now();
  }
  return sum;
}

Result<std::vector<SequenceUpdate>> SharedSession::step() {
  std::unique_lock lock(mutex);
  if (isStepping)
    changed.wait(lock, [&, before = steps] { return steps != before; });
  else
    MTP_RETURN_IF_ERROR(runStep(lock));
  std::vector<SequenceUpdate> updates = std::move(plainUpdates);
  plainUpdates.clear();
  return updates;
}

Status SharedSession::cancel(SequenceId id) {
  std::lock_guard lock(mutex);
  MTP_ASSIGN_OR_RETURN(FinishReason reason, session->finishReason(id));
  if (reason != FinishReason::None)
    return okStatus();
  MTP_RETURN_IF_ERROR(session->cancel(id));
  // The sequence may have ended before cancel() had its turn.
  MTP_ASSIGN_OR_RETURN(reason, session->finishReason(id));
  SequenceUpdate update;
  update.id = id;
  update.finish = reason;
  if (reason == FinishReason::Cancelled && streams.contains(id))
    keep(std::move(update));
  changed.notify_all();
  return okStatus();
}

Status SharedSession::drop(SequenceId id) {
  MTP_RETURN_IF_ERROR(cancel(id));
  std::lock_guard lock(mutex);
  MTP_RETURN_IF_ERROR(session->release(id));
  streams.erase(id);
  plain.erase(id);
  std::erase_if(plainUpdates, [&](const auto &u) { return u.id == id; });
  return okStatus();
}
