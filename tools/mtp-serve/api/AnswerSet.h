//===- AnswerSet.h - The answers to one request -----------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_SERVE_API_ANSWERSET_H
#define MTP_TOOLS_MTP_SERVE_API_ANSWERSET_H

#include "tools/mtp-serve/api/AnswerWriter.h"
#include "tools/mtp-serve/api/Choice.h"
#include "tools/mtp-serve/api/Prompts.h"

#include <chrono>
#include <string>
#include <vector>

namespace mtp::serve {

/// The growing answers to one request: `n` to each prompt, in order of prompts.
/// Writes them as one JSON object or as a stream of events.
class AnswerSet {
public:
  /// The largest number of bytes of text in one event.
  static constexpr size_t kMostText = 8 << 10;

  /// When a sequence got a slot, its first token, and its last one so far.
  struct Times {
    using Clock = std::chrono::steady_clock;
    std::optional<Clock::time_point> admitted, first, last;

    /// Notes an event of the engine. admission: when the sequence got a slot,
    /// if the event says so.
    void note(Clock::time_point time,
              std::optional<Clock::time_point> admission, bool hasTokens);
    /// Return the seconds for the prompt and for the tokens after the first.
    double promptSeconds() const;
    double outputSeconds() const;
  };

  /// The tokens that an answer has taken and the gate does not know, the
  /// log-probabilities of these tokens if later events repeat them, and whether
  /// the gate knows the answer's first and last events. For takeComment().
  struct ResumeLog {
    std::vector<int32_t> tokens;
    std::vector<TokenLogprobs> scores;
    bool hasBegun = false, isClosed = false;
  };

  struct Answer {
    Choice choice;
    Times times;
    /// Progress that was not taken yet.
    std::optional<PromptProgress> progress;
    /// Whether the answer's first event (with the role or the prompt) was
    /// taken, and whether its last event was taken.
    bool hasBegun = false;
    bool isClosed = false;
    /// Whether the engine has accepted its sequence.
    bool isAccepted = false;
    ResumeLog log;
    /// Log-probabilities of the prompt, and whether they came.
    std::vector<TokenLogprobs> promptScores;
    bool hasPrompt = false;
  };

  /// The answers contain `id` and `created` (seconds since 1970).
  AnswerSet(const GenerationRequest &request, const ModelFacts &facts,
            std::string id, uint64_t created)
      : request(request), facts(facts), id(std::move(id)), created(created),
        writer(makeWriter(request)) {}

  /// Makes the answers, which are empty, or have what a gate's client has of
  /// them. Fails if the latter cannot be decoded.
  Status begin(std::vector<PreparedPrompt> prepared);
  /// Resets all answers to the state after begin().
  Status restart();

  const std::vector<PreparedPrompt> &prompts() const { return sources; }
  size_t size() const { return answers.size(); }
  Answer &at(size_t index) { return answers[index]; }
  const Answer &at(size_t index) const { return answers[index]; }

  /// Takes the log-probabilities of an answer's prompt, which are known when
  /// its first tokens come. Further calls have no effect.
  void takePrompt(size_t index, const std::vector<TokenLogprobs> &scores);

  /// Returns the whole answer.
  std::string whole();
  /// Returns some of the new events; empty if there are none.
  std::string takeEvents();
  /// Returns the events after all others.
  std::string lastEvents();
  /// Returns the last event of a stream that fails.
  std::string errorEvent(const ApiError &error) {
    return writer->errorEvent(error);
  }
  /// The comment after the last event of a stream that needs no continuation.
  static constexpr std::string_view kLastComment =
      ": resume {\"end\": true}\n\n";
  /// Returns the comment for a gate after the events so far. It is empty if the
  /// events have less text than the tokens give, or if an answer has failed.
  std::string takeComment(bool isLast);
  /// Notes how much of an answer's prompt was read.
  void noteProgress(size_t index, Times::Clock::time_point time,
                    const Statistics &statistics);
  /// Returns whether takeEvents() would return events.
  bool hasNews() const;
  /// Returns whether the last event of each answer was taken.
  bool areClosed() const;
  /// Returns whether output was taken.
  bool wasRead() const { return isRead; }

  /// Returns the bytes that were not taken yet.
  size_t pendingBytes() const;
  size_t promptTokens() const;
  size_t outputTokens() const;

private:
  /// Returns whether answers begin with the scores of their prompts.
  bool echoesScores() const { return request.echo && request.scores.output; }
  bool hasNews(const Answer &answer) const;
  AnswerHead head() const;
  /// Returns the new part of an answer, with at most `mostText` bytes of text.
  ChoicePart partOf(size_t index, size_t mostText);
  /// Adds the end of an answer to its last part.
  void addEnd(ChoicePart &part) const;
  Timings timingsOf(const Answer &answer, size_t index) const;
  /// Returns the new part of an answer as events; empty if there is none.
  std::string eventsOf(size_t index);
  std::string eventOf(const ChoicePart &part);
  Status replay(size_t index, const BegunAnswer &begun);
  Usage usage() const;

  const GenerationRequest &request;
  const ModelFacts &facts;
  std::string id;
  uint64_t created;
  std::unique_ptr<AnswerWriter> writer;
  std::vector<PreparedPrompt> sources;
  std::vector<Answer> answers;
  bool isRead = false;
};

} // namespace mtp::serve

#endif // MTP_TOOLS_MTP_SERVE_API_ANSWERSET_H
