//===- Generation.h - The answer to one request -----------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_SERVE_GENERATION_H
#define MTP_TOOLS_MTP_SERVE_GENERATION_H

#include "tools/mtp-serve/Answers.h"
#include "tools/mtp-serve/Choice.h"
#include "tools/mtp-serve/Engine.h"
#include "tools/mtp-serve/Prompts.h"

#include <functional>
#include <string>
#include <vector>

namespace mtp::serve {

/// The sequences of one request, and its answer as it grows: one JSON object,
/// or a stream of events. For one thread.
class Generation {
public:
  /// Bytes of text in one event.
  static constexpr size_t kMostText = 8 << 10;

  /// The sequence of answer i to prompt p has the handle
  /// first + p * n + i. `id` and `created` (seconds since 1970) are told.
  /// `cancel` ends a sequence, as an event then says.
  Generation(GenerationRequest request, std::vector<PreparedPrompt> prompts,
             const ModelFacts &facts, std::string id, uint64_t created,
             Handle first, std::function<void(Handle)> cancel);

  /// What is to be submitted, in order of handles. `seed` is used where the
  /// request has none.
  std::vector<Request> sequences(uint64_t seed) const;
  Handle firstHandle() const { return first; }
  size_t size() const { return choices.size(); }

  /// Of one of the sequences.
  void take(const EngineEvent &event);
  /// What is called when something has come; one at a time, or none.
  void setListener(std::function<void()> call) { listener = std::move(call); }
  /// Ends all sequences: the client is gone, or the server ends.
  void abort();
  /// Who runs the sequences is no more.
  void abandon() {
    cancel = [](Handle) {};
  }

  /// All sequences were accepted, or one has failed (error()).
  bool hasStarted() const { return accepted == choices.size() || failed; }
  /// All sequences have ended.
  bool hasEnded() const { return ended == choices.size(); }
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

private:
  struct Answer {
    Choice choice;
    /// Its first event, with the role or the prompt, and its last are out.
    bool hasBegun = false;
    bool isClosed = false;
    bool isAccepted = false;
  };

  void fail(ApiError error);
  bool hasNews(const Answer &answer) const;
  AnswerHead head() const;
  /// What is new of an answer, of text at most `mostText` bytes.
  ChoicePart partOf(size_t index, size_t mostText);
  std::string eventOf(size_t index);
  Usage usage() const;

  GenerationRequest request;
  std::vector<PreparedPrompt> prompts;
  const ModelFacts &facts;
  std::string id;
  uint64_t created;
  Handle first;
  std::function<void(Handle)> cancel;
  std::function<void()> listener;
  std::vector<Answer> choices;
  size_t accepted = 0, ended = 0;
  MaybeError failed;
  bool finished = false;
};

} // namespace mtp::serve

#endif // MTP_TOOLS_MTP_SERVE_GENERATION_H
