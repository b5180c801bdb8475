//===- Generation.h - The answer to one request -----------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_SERVE_ENGINE_GENERATION_H
#define MTP_TOOLS_MTP_SERVE_ENGINE_GENERATION_H

#include "tools/mtp-serve/api/AnswerSet.h"
#include "tools/mtp-serve/api/RequestMemoryLimit.h"
#include "tools/mtp-serve/engine/Engine.h"

#include <atomic>
#include <functional>
#include <string>
#include <vector>

namespace mtp::serve {

/// The calls by which a generation controls its sequences.
struct SequenceControls {
  /// Ends a sequence; an event reports it.
  std::function<void(Handle)> cancel;
  /// `pause` frees its slot for others until `resume`.
  std::function<void(Handle)> pause, resume;
};

/// The sequences of one request, and its growing answer: one JSON object, or a
/// stream of events. If the reader of a stream is slow, its sequences pause
/// while much text waits. For one thread.
class Generation {
public:
  /// The default number of bytes waiting for the reader of a stream at which
  /// its sequences pause. They resume below a quarter of it.
  static constexpr size_t kMostPending = 64 << 10;

  /// Answer i to prompt p has the handle first + p * n + i. Answers contain
  /// `id` and `created` (seconds since 1970).
  Generation(GenerationRequest request, const ModelFacts &facts, std::string id,
             uint64_t created, Handle first, SequenceControls controls,
             size_t mostPending = kMostPending);

  const GenerationRequest &asked() const { return request; }
  /// Sets the prompts and the request's compiled grammar, if it has one, before
  /// any event of the sequences. Must not follow fail() or abort(). Fails if
  /// the answers that a gate continues are wrong.
  MaybeError begin(std::vector<PreparedPrompt> prepared,
                   std::shared_ptr<const TokenConstraint> constraint = nullptr);
  /// Ends all with an error, which becomes the answer. The first error counts.
  void fail(ApiError error);
  /// Keeps the prompts' share of the body budget until begin().
  void holdBody(RequestMemoryLimit::Share share) {
    if (!begun)
      body = std::move(share);
  }
  /// Returns whether the answer is no longer wanted. For any thread.
  bool isAborted() const { return aborted; }
  const std::atomic<bool> &abortedFlag() const { return aborted; }

  /// Returns the requests to submit, in order of handles. `seed` is used if the
  /// request has none, and is equal for each call.
  std::vector<Request> sequences(uint64_t seed) const;
  /// Returns whether no output was taken yet, so that the generation may
  /// restart.
  bool canRestart() const;
  /// Resets the generation to the state after begin().
  void restart();
  Handle firstHandle() const { return first; }
  size_t size() const { return request.promptCount() * request.n; }

  /// Takes an event of one of the sequences.
  void take(const EngineEvent &event);
  /// Sets the function called when there is news; there is one listener or
  /// none.
  void setListener(std::function<void()> call) { listener = std::move(call); }
  /// Ends all sequences: the client is gone, or the server ends.
  void abort();
  /// Stops calling the engine; for use when the engine is gone.
  void abandon() {
    controls.cancel = controls.pause = controls.resume = [](Handle) {};
  }

  /// Returns whether all sequences were accepted or one has failed (error()).
  bool hasStarted() const {
    return failed || (begun && accepted == answers.size());
  }
  /// Returns whether all sequences have ended, or none will be started.
  bool hasEnded() const {
    return begun ? ended == answers.size() : failed || aborted;
  }
  const MaybeError &error() const { return failed; }
  bool streams() const { return request.streams; }

  /// Returns the whole answer. Requires hasEnded() and no error().
  std::string answer();
  /// Returns some of the new events; empty if there are none. After hasEnded(),
  /// the last events set isFinished().
  std::string takeEvents();
  bool isFinished() const { return finished; }
  /// Returns whether takeEvents() would return events.
  bool hasNews() const;

  const AnswerSet::Answer &answerOf(Handle handle) const {
    return answers.at(handle - first);
  }
  size_t promptTokens() const { return answers.promptTokens(); }
  size_t outputTokens() const { return answers.outputTokens(); }
  /// Returns why the answer of a sequence has ended; None while it has not. If
  /// a stop string ended the answer, the sequence itself may only be cancelled.
  FinishReason finishOf(Handle handle) const {
    return answerOf(handle).choice.finishReason();
  }

private:
  void holdIfMuchWaits();
  void goOnIfLittleWaits();

  GenerationRequest request;
  const ModelFacts &facts;
  AnswerSet answers;
  Handle first;
  SequenceControls controls;
  size_t mostPending;
  std::function<void()> listener;
  size_t accepted = 0, ended = 0;
  MaybeError failed;
  bool begun = false, finished = false;
  std::atomic<bool> aborted = false;
  RequestMemoryLimit::Share body;
  /// Whether the sequences are paused.
  bool holds = false;
};

} // namespace mtp::serve

#endif // MTP_TOOLS_MTP_SERVE_ENGINE_GENERATION_H
