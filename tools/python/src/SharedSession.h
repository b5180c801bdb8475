//===- SharedSession.h - A session with several callers ---------*- C++ -*-===//
//
// A step() of a session returns the updates of all sequences. Here each
// sequence has one reader: a stream, or the caller of step() for sequences that
// belong to no stream. The thread that waits for an update runs the next step,
// unless another thread runs one. Updates of other sequences are kept for their
// readers, so sequences of several threads share rounds.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_TOOLS_PYTHON_SRC_SHAREDSESSION_H
#define MTP_TOOLS_PYTHON_SRC_SHAREDSESSION_H

#include "mtp/session.h"

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

namespace mtp::python {

/// Returns whether a wait must end early. It is called without locks, a few
/// times per second.
using IsInterrupted = std::function<bool()>;
/// Reads an update, and may shorten or end it. It is called without locks.
using OnUpdate = std::function<Status(SequenceUpdate &)>;

/// A session whose sequences have readers in different threads. All functions
/// may be called from any thread.
class SharedSession {
public:
  static Result<std::shared_ptr<SharedSession>>
  create(std::shared_ptr<const Model> model, const SessionOptions &options);

  /// Adds a request. With `hasStream`, next() reads its updates; otherwise
  /// step() does.
  Result<SequenceId> add(Request request, bool hasStream);

  /// Waits for an update of a sequence with a stream. If `isInterrupted`
  /// returns true, the update is empty. Fails with FailedPrecondition for an id
  /// without a stream, and as Session::step() does.
  Result<SequenceUpdate> next(SequenceId id,
                              const IsInterrupted &isInterrupted);

  /// Waits until a sequence with a stream has finished, or until `onUpdate`
  /// ends an update. Returns the sum of its updates. If `isInterrupted` returns
  /// true, the update is not finished.
  Result<SequenceUpdate> finish(SequenceId id, const OnUpdate &onUpdate,
                                const IsInterrupted &isInterrupted);

  /// Runs a step, or waits for the end of the step that another thread runs,
  /// and returns the updates of sequences without streams.
  Result<std::vector<SequenceUpdate>> step();

  /// Ends a sequence. Its stream gets an update with FinishReason::Cancelled.
  Status cancel(SequenceId id);

  /// Ends a sequence and forgets its output.
  Status drop(SequenceId id);

  /// Calls `function` with the session while no thread steps. Spans of the
  /// session are valid inside.
  template <typename F>
  auto locked(F function) {
    std::lock_guard lock(mutex);
    return function(*session);
  }

  /// Returns the session for calls that do not depend on its sequences.
  const Session &get() const { return *session; }

private:
  explicit SharedSession(std::unique_ptr<Session> session)
      : session(std::move(session)) {}

  Status runStep(std::unique_lock<std::mutex> &lock);
  void keep(SequenceUpdate update);

  std::unique_ptr<Session> session;
  std::mutex mutex;
  /// Notified after each step and each cancelled sequence.
  std::condition_variable changed;
  /// Whether a thread is inside Session::step(), and the number of ended steps.
  bool isStepping = false;
  uint64_t steps = 0;
  /// Updates that were not read yet, of each sequence with a stream.
  std::map<SequenceId, std::vector<SequenceUpdate>> streams;
  /// Sequences without streams, and their updates that were not read yet.
  std::set<SequenceId> plain;
  std::vector<SequenceUpdate> plainUpdates;
};

/// Adds the tokens, drafts and outputs of a later update to an earlier one.
void append(SequenceUpdate &update, SequenceUpdate later);

} // namespace mtp::python

#endif // MTP_TOOLS_PYTHON_SRC_SHAREDSESSION_H
