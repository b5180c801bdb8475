//===- Dispatcher.h - Generations and their sequences -----------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_SERVE_ENGINE_DISPATCHER_H
#define MTP_TOOLS_MTP_SERVE_ENGINE_DISPATCHER_H

#include "tools/mtp-serve/api/RequestMemoryLimit.h"
#include "tools/mtp-serve/engine/Generation.h"
#include "tools/mtp-serve/engine/GrammarCompiler.h"
#include "tools/mtp-serve/engine/Metrics.h"
#include "tools/mtp-serve/engine/RequestGate.h"
#include "tools/mtp-serve/engine/TextJob.h"
#include "tools/mtp-serve/engine/Worker.h"

#include <functional>
#include <memory>
#include <random>
#include <set>
#include <unordered_map>

namespace mtp::serve {

/// A sequence that has had a slot and has not ended.
struct ActiveSequence {
  Handle handle = 0;
  /// Valid until the I/O thread's next call.
  const Generation *generation = nullptr;
};

/// Starts generations on the engine and delivers the events of their sequences.
/// For one thread, the I/O thread; `post` runs a call there from any thread.
class Dispatcher {
public:
  using Post = std::function<void(std::function<void()>)>;

  Dispatcher(std::unique_ptr<Session> session, const ModelFacts &facts,
             const Limits &limits, Post post);
  ~Dispatcher();

  /// Encodes the prompts (texts on the worker's thread), compiles the grammar
  /// (on a thread of its own) and submits the sequences. Fails with 429 if too
  /// many wait, 400 if there can never be room for all of them, and 503 if the
  /// server ends.
  MaybeError start(GenerationRequest request, const std::string &id,
                   std::shared_ptr<Generation> &generation);

  /// Lets the worker make a reply. Fails with 429 if too many wait and 503 if
  /// the server ends; the job is not begun then.
  MaybeError runLater(const std::shared_ptr<TextJob> &job);

  /// Refuses new generations; running ones go on.
  void refuse() { gate.close(); }
  bool isRefusing() const { return gate.isClosed(); }
  /// Ends all generations, and texts that wait for the worker.
  void abortAll();

  /// Sets the session for retries. If a step fails, generations of which no
  /// output was taken restart once on the session that `make` returns. It is
  /// called on the worker's thread.
  using MakeSession = std::function<Result<std::unique_ptr<Session>>()>;
  void setFallback(MakeSession make) { fallback.make = std::move(make); }
  /// Returns whether generations have restarted.
  bool isRetrying() const { return fallback.isUsed; }

  /// Sets the function called with the first failure of a step.
  void setFailureListener(std::function<void(Status)> call) {
    onFailure = std::move(call);
  }

  const ModelFacts &model() const { return facts; }
  /// Returns the session that runs now, for work with its prefix cache. It
  /// lives as long as the dispatcher.
  Session &session() { return current().ownSession(); }
  Metrics &metrics() { return numbers; }
  const EngineState &state() const { return lastState; }
  const std::shared_ptr<RequestMemoryLimit> &bodies() const { return budget; }
  /// Returns the active sequences in order of handles.
  std::vector<ActiveSequence> active() const;
  /// Returns the number of sequences that run or wait.
  size_t sequenceCount() const { return gate.sequenceCount(); }
  /// Returns an id that no other request has.
  std::string makeId();

private:
  /// A sequence that has not ended.
  struct Running {
    std::shared_ptr<Generation> generation;
    Clock::time_point began;
    /// The generation's seed, unless its request has one.
    uint64_t seed = 0;
  };
  /// The engine for retries, once it is needed.
  struct Fallback {
    MakeSession make;
    bool isUsed = false;
    std::unique_ptr<Engine> engine;
  };

  /// The threads of slow work.
  struct Workers {
    explicit Workers(const ModelFacts &facts) : grammars(facts) {}
    Worker texts;
    /// Runs the jobs that use files.
    Worker files;
    /// Used by the work of `compiling` alone.
    GrammarCompiler grammars;
    /// Prepares requests with grammars, so that no other request waits for a
    /// grammar.
    Worker compiling;
  };

  void deliver(const EngineReport &report);
  void take(const EngineEvent &event);
  /// Restarts all generations that can restart; returns their sequences.
  std::set<Handle> retry(const EngineReport &report);
  void resubmit(const std::vector<std::shared_ptr<Generation>> &generations,
                Result<std::unique_ptr<Session>> session);
  void submitAll(const Generation &generation);
  Engine &current() { return fallback.engine ? *fallback.engine : engine; }
  /// The prompts and the constraint of a generation, or why it fails.
  struct Prepared {
    std::vector<PreparedPrompt> prompts;
    std::shared_ptr<const TokenConstraint> constraint;
    MaybeError error;
  };
  /// Prepares a generation on the thread of a worker.
  Prepared prepare(const Generation &generation);
  /// Completes start() when the generation is prepared or has failed.
  void submit(const std::shared_ptr<Generation> &generation, Prepared prepared,
              Clock::time_point arrived);
  void finish(const std::shared_ptr<TextJob> &job,
              std::optional<HttpReply> reply);
  /// Records that a generation has begun or ceased to wait for its prompts.
  void setEncoding(const std::shared_ptr<Generation> &generation,
                   bool isEncoding);

  const ModelFacts &facts;
  Post post;
  Metrics numbers;
  std::function<void(Status)> onFailure;
  std::shared_ptr<RequestMemoryLimit> budget;
  RequestGate gate;
  /// Generations whose prompts are being encoded, which have no sequences yet.
  std::set<std::shared_ptr<Generation>> encoding;
  std::set<std::shared_ptr<TextJob>> texts;
  std::unordered_map<Handle, Running> running;
  Handle next = 1;
  EngineState lastState;
  std::mt19937_64 random;
  // Last: their threads use the other members.
  Engine engine;
  Fallback fallback;
  Workers workers;
};

} // namespace mtp::serve

#endif // MTP_TOOLS_MTP_SERVE_ENGINE_DISPATCHER_H
