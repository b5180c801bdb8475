//===- Engine.h - The thread that runs the model ----------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_SERVE_ENGINE_ENGINE_H
#define MTP_TOOLS_MTP_SERVE_ENGINE_ENGINE_H

#include "mtp/session.h"
#include "tools/mtp-serve/engine/MpscQueue.h"

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <thread>
#include <variant>

namespace mtp::serve {

using Clock = std::chrono::steady_clock;

/// A sequence's name, chosen by the submitter; each name is used once.
using Handle = uint64_t;

/// News of a sequence.
struct EngineEvent {
  /// When the engine made the event. Reports may reach the server later.
  Clock::time_point time = Clock::now();
  Handle handle = 0;
  /// True if the session has accepted it. Comes once, before any token.
  bool accepted = false;
  std::vector<int32_t> tokens;
  /// Log-probabilities of the tokens and of the prompt, if the request asks for
  /// them. Those of the prompt come once, at the latest with the first token.
  std::vector<TokenLogprobs> logprobs, promptLogprobs;
  /// The number of drafts in the rounds that produced the tokens.
  uint32_t drafted = 0;
  /// Failed without an earlier `accepted` means that it was refused; `error`
  /// gives the reason.
  FinishReason finish = FinishReason::None;
  /// The end or stop token that ended it, if one did.
  std::optional<int32_t> stopToken;
  Status error;
  /// Whether the request is at fault, though it was accepted: for example if
  /// its rules leave no token.
  bool isRequestsFault = false;
  /// When it got a slot for the first time. Comes once, not after the first
  /// token.
  std::optional<Clock::time_point> admitted;
  /// Whether `statistics` says how much of the prompt was read.
  bool isProgress = false;
  /// Set when the sequence has ended, or in each event if the submitter asked.
  Statistics statistics;
};

/// The events that a sequence has besides its tokens and its end.
struct EventDetail {
  /// Whether each event has statistics.
  bool countsEach = false;
  /// Whether events before the first token report progress.
  bool reportsProgress = false;
};

/// The state of the session after a step.
struct EngineState {
  Statistics statistics;
  KvUsage pages;
  /// The number of sequences in a slot, waiting for one, and paused.
  uint32_t running = 0;
  uint32_t waiting = 0;
  uint32_t paused = 0;
};

struct EngineReport {
  std::vector<EngineEvent> events;
  EngineState state;
  /// The failure of a step. Nothing runs any more, and all sequences have
  /// failed with this status.
  Status failure;
};

/// Owns a session and the one thread that runs it. The thread sleeps while
/// there is no work.
///
/// Any thread may call submit(), cancel(), pause(), resume() and close(). The
/// engine's thread calls `sink` and waits for it.
class Engine {
public:
  using Sink = std::function<void(EngineReport)>;

  Engine(std::unique_ptr<Session> session, Sink sink);
  /// Waits for all submitted sequences; cancel them first to be quick.
  ~Engine();

  void submit(Handle handle, Request request, EventDetail detail = {});
  /// Ends a sequence with the event Cancelled. No effect if it has ended.
  void cancel(Handle handle);
  /// Frees the sequence's slot for others until resume(). No effect if it has
  /// ended.
  void pause(Handle handle);
  void resume(Handle handle);
  /// Returns the session. Any thread may call its functions; only the engine
  /// adds sequences.
  Session &ownSession() { return *session; }
  /// Ends the thread once all submitted sequences have ended or are paused.
  void close();

private:
  struct Submission {
    Handle handle;
    Request request;
    EventDetail detail;
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
  /// Runs one step; its results go into `report`.
  void step();
  /// Moves the log-probabilities out of the update.
  void take(SequenceUpdate &update);
  /// Reports sequences that a step has admitted, which began at `begin`, and
  /// the progress of their prompts.
  void reportPrompts(Clock::time_point begin);
  /// Reports that a sequence has ended, and forgets it.
  void end(SequenceId id, EngineEvent event);
  /// Fails all sequences.
  void fail(const Status &status);
  EngineState state() const;
  /// Delivers the collected report.
  void send();

  std::unique_ptr<Session> session;
  Sink sink;
  MpscQueue<Command> inbox;
  std::map<SequenceId, Handle> handles;
  std::map<Handle, SequenceId> ids;
  /// Sequences whose events all carry statistics.
  std::set<SequenceId> counting;
  /// Sequences without a token: whether each has had a slot, and whether it
  /// reports progress.
  struct Prompt {
    bool isAdmitted, reportsProgress;
  };
  std::map<SequenceId, Prompt> prompts;
  EngineReport report;
  Status failure;
  std::thread thread;
};

} // namespace mtp::serve

#endif // MTP_TOOLS_MTP_SERVE_ENGINE_ENGINE_H
