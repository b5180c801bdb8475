//===- Dispatcher.h - Generations and their sequences -----------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_SERVE_ENGINE_DISPATCHER_H
#define MTP_TOOLS_MTP_SERVE_ENGINE_DISPATCHER_H

#include "tools/mtp-serve/api/BodyBudget.h"
#include "tools/mtp-serve/api/Options.h"
#include "tools/mtp-serve/engine/Generation.h"
#include "tools/mtp-serve/engine/Metrics.h"
#include "tools/mtp-serve/engine/TextJob.h"
#include "tools/mtp-serve/engine/Worker.h"

#include <functional>
#include <memory>
#include <random>
#include <set>
#include <unordered_map>

namespace mtp::serve {

/// Starts generations on the engine and delivers the events of their sequences.
/// For one thread, the I/O thread; `post` runs a call there from any thread.
class Dispatcher {
public:
  using Post = std::function<void(std::function<void()>)>;

  Dispatcher(std::unique_ptr<Session> session, const ModelFacts &facts,
             const Limits &limits, Post post);
  ~Dispatcher();

  /// Encodes the prompts (texts on the worker's thread) and submits the
  /// sequences. Fails with 429 if too many wait, 400 if there can never be room
  /// for all of them, and 503 if the server ends.
  MaybeError start(GenerationRequest request, const std::string &id,
                   std::shared_ptr<Generation> &generation);

  /// Lets the worker make a reply. Fails with 429 if too many wait and 503 if
  /// the server ends; the job is not begun then.
  MaybeError runLater(const std::shared_ptr<TextJob> &job);

  /// Refuses new generations; running ones go on.
  void refuse() { refuses = true; }
  bool isRefusing() const { return refuses; }
  /// Ends all generations, and texts that wait for the worker.
  void abortAll();

  /// Sets the session for retries. If a step fails, generations of which no
  /// output was taken restart once on the session that `make` returns. It is
  /// called on the worker's thread.
  using MakeSession = std::function<Result<std::unique_ptr<Session>>()>;
  void setFallback(MakeSession make) { makeFallback = std::move(make); }
  /// Returns whether generations have restarted.
  bool isRetrying() const { return retries; }

  /// Sets the function called with the first failure of a step.
  void setFailureListener(std::function<void(Status)> call) {
    onFailure = std::move(call);
  }

  const ModelFacts &model() const { return facts; }
  Metrics &metrics() { return numbers; }
  const EngineState &state() const { return lastState; }
  const std::shared_ptr<BodyBudget> &bodies() const { return budget; }
  /// Returns an id that no other request has.
  std::string makeId();

private:
  void deliver(const EngineReport &report);
  void take(const EngineEvent &event, Clock::time_point now);
  /// Restarts all generations that can; returns their sequences.
  std::set<Handle> retry(const EngineReport &report);
  void resubmit(const std::vector<std::shared_ptr<Generation>> &generations,
                Result<std::unique_ptr<Session>> session);
  void submitAll(const Generation &generation);
  Engine &current() { return fallback ? *fallback : engine; }
  ApiError tooMany(std::string what) const;
  static ApiError ending();
  MaybeError checkRoom(const GenerationRequest &request) const;
  /// Completes start() when the prompts are encoded or have failed.
  void submit(const std::shared_ptr<Generation> &generation,
              std::vector<PreparedPrompt> prompts, MaybeError error,
              Clock::time_point arrived);
  /// Subtracts `count` of a generation's sequences from the counts.
  void forget(const Generation &generation, size_t count);
  /// Subtracts `count` from a key's sequences and texts.
  void forget(uint64_t client, size_t count);
  void finish(const std::shared_ptr<TextJob> &job,
              std::optional<HttpReply> reply);
  /// Records that a generation has begun or ceased to wait for its prompts.
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
  /// Generations whose prompts are being encoded, which have no sequences yet,
  /// and the number of their future sequences.
  std::set<std::shared_ptr<Generation>> encoding;
  size_t encodingSequences = 0;
  std::set<std::shared_ptr<TextJob>> texts;
  /// Generations by the handles of their sequences that have not ended.
  std::unordered_map<Handle, std::shared_ptr<Generation>> running;
  std::unordered_map<Handle, Clock::time_point> began;
  /// Seeds of generations without a seed of their own, by the generation's
  /// first handle.
  std::unordered_map<Handle, uint64_t> seeds;
  /// The number of sequences, including those whose prompts are being encoded:
  /// in total, and per key. The number per key includes texts for the worker.
  size_t atHand = 0;
  std::unordered_map<uint64_t, size_t> ofClient;
  Handle next = 1;
  /// The mean duration of recent sequences.
  double secondsEach = 1;
  bool refuses = false;
  EngineState lastState;
  std::mt19937_64 random;
  // Last: their threads use the other members.
  Engine engine;
  std::unique_ptr<Engine> fallback;
  Worker worker;
};

} // namespace mtp::serve

#endif // MTP_TOOLS_MTP_SERVE_ENGINE_DISPATCHER_H
