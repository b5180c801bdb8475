//===- WorkerPool.h - Threads that work in lockstep -------------*- C++ -*-===//

#ifndef MTP_RUNTIME_DEVICE_CPU_WORKERPOOL_H
#define MTP_RUNTIME_DEVICE_CPU_WORKERPOOL_H

#include "runtime/core/Result.h"
#include "runtime/device/cpu/WorkerBackoff.h"

#include <atomic>
#include <cstdint>
#include <ctime>
#include <memory>
#include <pthread.h>
#include <span>
#include <vector>

namespace mtp {

/// A fixed set of threads that go through stages of work together. The caller
/// of run() is thread 0.
///
/// A stage is divided into shares. Share i belongs to thread i. If that thread
/// is late, another thread runs the share: a thread that the system has
/// suspended delays the others only in the middle of a share. README.md of the
/// folder above describes how threads wait.
class WorkerPool {
public:
  /// Runs the shares [begin, end) of stage `stage` on thread `runner`.
  using RunShares = void (*)(void *context, uint32_t stage, uint32_t begin,
                             uint32_t end, uint32_t runner);

  struct Job {
    /// Number of shares of each stage: 1 to size().
    std::span<const uint32_t> shares;
    RunShares run;
    void *context;
  };

  /// `pin`: binds thread i to the i-th processor that this process may use.
  /// `processors`: number of threads that can run at a time; zero: the number
  /// of processors that this process may use.
  static Result<std::unique_ptr<WorkerPool>> create(uint32_t workers, bool pin,
                                                    uint32_t processors = 0);

  WorkerPool(const WorkerPool &) = delete;
  WorkerPool &operator=(const WorkerPool &) = delete;
  ~WorkerPool();

  /// Runs every share of every stage once. A stage begins when all shares of
  /// the previous stage have ended, and sees their writes. One call at a time.
  void run(const Job &job);

  uint32_t size() const { return workers; }

private:
  WorkerPool(uint32_t workers, uint32_t processors);
  Status start(bool pin);
  static void *threadMain(void *argument);
  void loop(uint32_t self);

  void open(uint64_t stage, uint32_t shares, std::memory_order order);
  void step(uint64_t seen, uint32_t self);
  bool claim(uint64_t stage, uint32_t share);
  void runOwn(uint64_t seen, uint32_t self);
  bool takeOver(uint64_t seen, uint32_t self);
  void runShares(uint64_t seen, uint32_t begin, uint32_t end, uint32_t self);
  void complete(uint64_t stage, uint32_t self);
  uint64_t wasPutAside(uint64_t stage, uint32_t self, uint64_t time);

  void await(uint64_t seen, uint32_t self);
  void awaitJob(uint64_t seen, uint32_t self);
  bool spin(uint64_t seen, uint32_t times) const;
  bool isBesideAnother(uint32_t self);
  void noteClock(uint32_t self);
  uint64_t leastTime(uint32_t self) const;
  bool moveAway(uint32_t self);
  void setAway(uint32_t worker, bool away);
  uint32_t fairCount(uint64_t seen) const;
  void sleep(uint64_t seen, uint32_t self);
  void rest(uint32_t self);
  void awake(uint32_t self);
  void wake(uint32_t worker);
  void wakeSome();

  struct Thread {
    WorkerPool *pool;
    uint32_t worker;
    pthread_t handle;
  };

  /// The data of a thread that other threads read.
  struct alignas(64) Worker {
    /// The first stage whose share of the thread is not yet claimed.
    std::atomic<uint64_t> claimed = 0;
    /// 1 while the thread sleeps or is about to. It sleeps on this word.
    std::atomic<uint32_t> asleep = 0;
    /// Whether the thread sleeps or was late, so that other threads do not wait
    /// for it to begin. The thread clears this when it reads the phase.
    std::atomic<bool> away = false;
    /// The processor of the thread when it last checked.
    std::atomic<int32_t> processor = -1;
    /// How many times the system had suspended the thread when it last checked.
    int64_t preemptions = 0;
    /// The clock of the thread's processor time.
    std::atomic<clockid_t> clock = CLOCK_MONOTONIC;
    /// When the thread may next move to another processor, in nanoseconds.
    uint64_t nextMove = 0;
  };

  const uint32_t workers;
  const uint32_t processors;
  bool isPinned = false;
  /// Threads 1 .. workers-1. Never moves once threads run.
  std::vector<Thread> threads;
  std::vector<Worker> each;

  /// Valid while a stage is open; `first` is the job's first stage.
  Job job = {};
  uint64_t first = 0;
  std::atomic<bool> stopping = false;

  /// Number of the open stage, counted since the pool was made, shifted above
  /// the number of its shares. No shares: no job.
  alignas(64) std::atomic<uint64_t> phase = 0;
  std::atomic<uint32_t> remainingNear = 0;
  alignas(64) std::atomic<uint32_t> remainingFar = 0;
  /// Number of shares of the open stage that have not ended. With few threads
  /// it is next to the phase, so that the thread that ends the stage already
  /// has the cache line. With many threads their reads of the phase would delay
  /// one another.
  std::atomic<uint32_t> &remaining;
  /// Number of threads that sleep or are about to, and number of threads that
  /// are away.
  alignas(64) std::atomic<uint32_t> sleepers = 0;
  std::atomic<uint32_t> awayCount = 0;
  /// The stage that some thread sleeps for (at first none), and since when, in
  /// nanoseconds.
  std::atomic<uint64_t> awaitedStage = UINT64_MAX;
  std::atomic<uint64_t> awaitedSince = 0;
  /// `nextWake` is the earliest time at which a sleeper may be woken within a
  /// job. `backoff` decides whether it may be woken at all.
  std::atomic<uint64_t> nextWake = 0;
  WorkerBackoff backoff;
};

} // namespace mtp

#endif // MTP_RUNTIME_DEVICE_CPU_WORKERPOOL_H
