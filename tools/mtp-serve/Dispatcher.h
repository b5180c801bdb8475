//===- Dispatcher.h - Generations and their sequences -----------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_SERVE_DISPATCHER_H
#define MTP_TOOLS_MTP_SERVE_DISPATCHER_H

#include "tools/mtp-serve/BodyBudget.h"
#include "tools/mtp-serve/Generation.h"
#include "tools/mtp-serve/Metrics.h"
#include "tools/mtp-serve/Options.h"
#include "tools/mtp-serve/TextJob.h"
#include "tools/mtp-serve/Worker.h"

#include <functional>
#include <memory>
#include <random>
#include <set>
#include <unordered_map>

namespace mtp::serve {

/// Starts generations on the engine and gives them what their sequences give.
/// For one thread, the I/O thread; `post` runs a call there from any.
class Dispatcher {
public:
  using Post = std::function<void(std::function<void()>)>;

  Dispatcher(std::unique_ptr<Session> session, const ModelFacts &facts,
             const Limits &limits, Post post);
  ~Dispatcher();

  /// Encodes the prompts, texts on the worker's thread, and submits the
  /// sequences. 429 where too many wait, 400 where so many never can, 503 where
  /// the server ends.
  MaybeError start(GenerationRequest request, const std::string &id,
                   std::shared_ptr<Generation> &generation);

  /// Lets the worker make a reply. 429 where too much waits, 503 where the
  /// server ends; it is not begun then.
  MaybeError runLater(const std::shared_ptr<TextJob> &job);

  /// No more generations; those at hand go on.
  void refuse() { refuses = true; }
  bool isRefusing() const { return refuses; }
  /// Ends all at hand, texts that wait for the worker too.
  void abortAll();

  /// Where a step fails, generations of which nobody has been given anything
  /// begin anew, once, on a session that this makes, on the worker's thread.
  using MakeSession = std::function<Result<std::unique_ptr<Session>>()>;
  void setFallback(MakeSession make) { makeFallback = std::move(make); }
  /// Whether some have begun anew.
  bool isRetrying() const { return retries; }

  /// Called with the first failure of a step.
  void setFailureListener(std::function<void(Status)> call) {
    onFailure = std::move(call);
  }

  const ModelFacts &model() const { return facts; }
  Metrics &metrics() { return numbers; }
  const EngineState &state() const { return lastState; }
  const std::shared_ptr<BodyBudget> &bodies() const { return budget; }
  /// An id that no other request has.
  std::string makeId();

private:
  void deliver(const EngineReport &report);
  void take(const EngineEvent &event, Clock::time_point now);
  /// Lets begin anew what can; returns its sequences.
  std::set<Handle> retry(const EngineReport &report);
  void resubmit(const std::vector<std::shared_ptr<Generation>> &generations,
                Result<std::unique_ptr<Session>> session);
  void submitAll(const Generation &generation);
  Engine &current() { return fallback ? *fallback : engine; }
  ApiError tooMany(std::string what) const;
  static ApiError ending();
  MaybeError checkRoom(const GenerationRequest &request) const;
  /// What start() began, when the prompts are there or cannot be had.
  void submit(const std::shared_ptr<Generation> &generation,
              std::vector<PreparedPrompt> prompts, MaybeError error,
              Clock::time_point arrived);
  /// Of a generation's sequences `count` are no more at hand.
  void forget(const Generation &generation, size_t count);
  /// The same of what a key has at hand.
  void forget(uint64_t client, size_t count);
  void finish(const std::shared_ptr<TextJob> &job,
              std::optional<HttpReply> reply);
  /// A generation has begun or ceased to wait for its prompts.
  void setEncoding(const std::shared_ptr<Generation> &generation,
                   bool isEncoding);

  const ModelFacts &facts;
  Limits limits;
  Post post;
  Metrics numbers;
  std::function<void(Status)> onFailure;
  MakeSession makeFallback;
  bool retries = false;
  std::shared_ptr<BodyBudget> budget;
  /// Those whose prompts are being encoded, which have no sequences yet, and
  /// how many these will be.
  std::set<std::shared_ptr<Generation>> encoding;
  size_t encodingSequences = 0;
  std::set<std::shared_ptr<TextJob>> texts;
  /// By the handles of their sequences that have not ended.
  std::unordered_map<Handle, std::shared_ptr<Generation>> running;
  std::unordered_map<Handle, Clock::time_point> began;
  /// Seeds of those that say none, by the first handle of their generation.
  std::unordered_map<Handle, uint64_t> seeds;
  /// Sequences at hand, those whose prompts are being encoded too: of all, and
  /// of each key, of which texts for the worker count too.
  size_t atHand = 0;
  std::unordered_map<uint64_t, size_t> ofClient;
  Handle next = 1;
  /// Mean of what a sequence took of late.
  double secondsEach = 1;
  bool refuses = false;
  EngineState lastState;
  std::mt19937_64 random;
  // Last: their threads call while the others live.
  Engine engine;
  std::unique_ptr<Engine> fallback;
  Worker worker;
};

} // namespace mtp::serve

#endif // MTP_TOOLS_MTP_SERVE_DISPATCHER_H
