//===- Generation.h - The answer to one request -----------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_SERVE_GENERATION_H
#define MTP_TOOLS_MTP_SERVE_GENERATION_H

#include "tools/mtp-serve/Answers.h"
#include "tools/mtp-serve/BodyBudget.h"
#include "tools/mtp-serve/Choice.h"
#include "tools/mtp-serve/Engine.h"
#include "tools/mtp-serve/Prompts.h"

#include <atomic>
#include <functional>
#include <string>
#include <vector>

namespace mtp::serve {

/// What a generation asks of who runs its sequences.
struct SequenceControls {
  /// Ends a sequence, as an event then says.
  std::function<void(Handle)> cancel;
  /// Its slot is for others until it is resumed.
  std::function<void(Handle)> pause, resume;
};

/// The sequences of one request, and its answer as it grows: one JSON object,
/// or a stream of events. A stream whose reader is slow pauses its sequences
/// while much waits for it. For one thread.
class Generation {
public:
  /// Bytes of text in one event.
  static constexpr size_t kMostText = 8 << 10;
  /// Bytes that wait for the reader of a stream when its sequences are paused,
  /// where nothing else is said. They go on behind a quarter of it.
  static constexpr size_t kMostPending = 64 << 10;

  /// The sequence of answer i to prompt p has the handle
  /// first + p * n + i. `id` and `created` (seconds since 1970) are told.
  Generation(GenerationRequest request, const ModelFacts &facts, std::string id,
             uint64_t created, Handle first, SequenceControls controls,
             size_t mostPending = kMostPending);

  const GenerationRequest &asked() const { return request; }
  /// The prompts are there, before anything of the sequences comes. Not after
  /// fail() or abort().
  void begin(std::vector<PreparedPrompt> prepared);
  /// Ends all with an error, which is the answer. The first one counts.
  void fail(ApiError error);
  /// Keeps what its prompts take of the memory for bodies until begin().
  void holdBody(BodyBudget::Share share) {
    if (!begun)
      body = std::move(share);
  }
  /// Whether nobody wants it any more. Any thread may ask.
  bool isAborted() const { return aborted; }
  const std::atomic<bool> &abortedFlag() const { return aborted; }

  /// What is to be submitted, in order of handles. `seed` is used where the
  /// request has none, the same each time.
  std::vector<Request> sequences(uint64_t seed) const;
  /// Whether nobody has been given anything of it, and it may begin anew.
  bool canRestart() const;
  /// As begin() leaves it.
  void restart();
  Handle firstHandle() const { return first; }
  size_t size() const { return request.promptCount() * request.n; }

  /// Of one of the sequences.
  void take(const EngineEvent &event);
  /// What is called when something has come; one at a time, or none.
  void setListener(std::function<void()> call) { listener = std::move(call); }
  /// Ends all sequences: the client is gone, or the server ends.
  void abort();
  /// Who runs the sequences is no more.
  void abandon() {
    controls.cancel = controls.pause = controls.resume = [](Handle) {};
  }

  /// All sequences were accepted, or one has failed (error()).
  bool hasStarted() const {
    return failed || (begun && accepted == choices.size());
  }
  /// All sequences have ended, or there will be none.
  bool hasEnded() const {
    return begun ? ended == choices.size() : failed || aborted;
  }
  const MaybeError &error() const { return failed; }
  bool streams() const { return request.streams; }

  /// The whole answer; hasEnded() and no error().
  std::string answer();
  /// Events that are not taken yet, some of them: nothing until something
  /// comes. The last ones behind hasEnded() make isFinished() true.
  std::string takeEvents();
  bool isFinished() const { return finished; }
  /// Whether takeEvents() would give something.
  bool hasNews() const;

  size_t promptTokens() const;
  size_t outputTokens() const;
  /// Why the answer of a sequence has ended; None while it has not. A stop
  /// string ends one whose sequence is only cancelled.
  FinishReason finishOf(Handle handle) const {
    return choices[handle - first].choice.finishReason();
  }

private:
  struct Answer {
    Choice choice;
    /// Its first event, with the role or the prompt, and its last are out.
    bool hasBegun = false;
    bool isClosed = false;
    bool isAccepted = false;
  };

  bool hasNews(const Answer &answer) const;
  size_t pendingBytes() const;
  void makeChoices();
  void holdIfMuchWaits();
  void goOnIfLittleWaits();
  AnswerHead head() const;
  /// What is new of an answer, of text at most `mostText` bytes.
  ChoicePart partOf(size_t index, size_t mostText);
  /// Returns the new part of an answer as events; empty if there is none.
  std::string eventsOf(size_t index);
  std::string eventOf(const ChoicePart &part) const;
  Usage usage() const;

  GenerationRequest request;
  std::vector<PreparedPrompt> prompts;
  const ModelFacts &facts;
  std::string id;
  uint64_t created;
  Handle first;
  SequenceControls controls;
  size_t mostPending;
  std::function<void()> listener;
  std::vector<Answer> choices;
  size_t accepted = 0, ended = 0;
  MaybeError failed;
  bool begun = false, finished = false;
  std::atomic<bool> aborted = false;
  BodyBudget::Share body;
  /// Whether the sequences are paused.
  bool holds = false;
  /// Whether something has been taken of it.
  bool wasRead = false;
};

} // namespace mtp::serve

#endif // MTP_TOOLS_MTP_SERVE_GENERATION_H
