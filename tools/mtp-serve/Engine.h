//===- Engine.h - The thread that runs the model ----------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_SERVE_ENGINE_H
#define MTP_TOOLS_MTP_SERVE_ENGINE_H

#include "mtp/session.h"
#include "tools/mtp-serve/Inbox.h"

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <thread>
#include <variant>

namespace mtp::serve {

/// A sequence, named by who submits it; each name is used once.
using Handle = uint64_t;

/// What became of a sequence.
struct EngineEvent {
  Handle handle = 0;
  /// The session has taken it. Comes once, before any token.
  bool accepted = false;
  std::vector<int32_t> tokens;
  /// Of the rounds that gave them.
  uint32_t drafted = 0;
  /// Failed without `accepted` before: it was refused, and `error` says why.
  FinishReason finish = FinishReason::None;
  Status error;
  /// Set when the sequence has ended, or in each event if the submitter asked.
  Statistics statistics;
};

/// What the session is at, behind a step.
struct EngineState {
  Statistics statistics;
  KvUsage pages;
  /// Sequences in a slot, those that wait for one, and those that are paused.
  uint32_t running = 0;
  uint32_t waiting = 0;
  uint32_t paused = 0;
};

struct EngineReport {
  std::vector<EngineEvent> events;
  EngineState state;
  /// The step that failed: nothing runs any more, and all that was at hand has
  /// failed with this.
  Status failure;
};

/// Owns a session and the one thread that works on it. The thread sleeps while
/// there is nothing to do.
///
/// submit(), cancel(), pause(), resume() and close() may be called by any
/// thread; `sink` is called by the engine's, which waits for it.
class Engine {
public:
  using Sink = std::function<void(EngineReport)>;

  Engine(std::unique_ptr<Session> session, Sink sink);
  /// Waits for what has been submitted: cancel it first to be quick.
  ~Engine();

  /// `countsEach`: all of its events say what it has cost so far.
  void submit(Handle handle, Request request, bool countsEach = false);
  /// Ends it with Cancelled, as an event says. Nothing where it has ended.
  void cancel(Handle handle);
  /// Its slot is for others until resume(). Nothing where it has ended.
  void pause(Handle handle);
  void resume(Handle handle);
  /// The thread ends when all that was submitted has, or is paused.
  void close();

private:
  struct Submission {
    Handle handle;
    Request request;
    bool countsEach;
  };
  struct Cancellation {
    Handle handle;
  };
  struct Hold {
    Handle handle;
    bool isPaused;
  };
  using Command = std::variant<Submission, Cancellation, Hold>;

  void run();
  void apply(Submission &submission);
  void apply(Cancellation &cancellation);
  void apply(Hold &hold);
  /// One step; what it gave goes into `report`.
  void step();
  void take(const SequenceUpdate &update);
  /// Says that a sequence has ended, and forgets it.
  void end(SequenceId id, EngineEvent event);
  /// All that is at hand fails.
  void fail(const Status &status);
  EngineState state() const;
  /// Hands out what has gathered.
  void send();

  std::unique_ptr<Session> session;
  Sink sink;
  Inbox<Command> inbox;
  std::map<SequenceId, Handle> handles;
  std::map<Handle, SequenceId> ids;
  /// Sequences whose events all carry statistics.
  std::set<SequenceId> counting;
  EngineReport report;
  Status failure;
  std::thread thread;
};

} // namespace mtp::serve

#endif // MTP_TOOLS_MTP_SERVE_ENGINE_H
