//===- WorkerPool.h - Threads that work in step -----------------*- C++ -*-===//

#ifndef MTP_RUNTIME_DEVICE_CPU_WORKERPOOL_H
#define MTP_RUNTIME_DEVICE_CPU_WORKERPOOL_H

#include "runtime/core/Result.h"
#include "runtime/device/cpu/QuietTime.h"

#include <atomic>
#include <cstdint>
#include <ctime>
#include <memory>
#include <pthread.h>
#include <span>
#include <vector>

namespace mtp {

/// A fixed set of threads that go through stages of work together; the caller
/// of run() is thread 0.
///
/// A stage is divided into shares. Share i is thread i's, but where that thread
/// is late, another runs the share in its place: a thread that the system has
/// put aside holds up the others only in the middle of a share. README.md of
/// the folder above says how threads wait.
class WorkerPool {
public:
  /// Runs the shares [begin, end) of stage `stage` on thread `runner`.
  using RunShares = void (*)(void *context, uint32_t stage, uint32_t begin,
                             uint32_t end, uint32_t runner);

  struct Job {
    /// How many shares each stage has: 1 to size().
    std::span<const uint32_t> shares;
    RunShares run;
    void *context;
  };

  /// `pin`: bind thread i to the i-th processor that this process may use.
  /// `processors`: how many threads can run at a time; zero: as many as this
  /// process may use.
  static Result<std::unique_ptr<WorkerPool>> create(uint32_t workers, bool pin,
                                                    uint32_t processors = 0);

  WorkerPool(const WorkerPool &) = delete;
  WorkerPool &operator=(const WorkerPool &) = delete;
  ~WorkerPool();

  /// Runs every share of every stage once. A stage begins when all shares of
  /// the one before have ended, and sees what they wrote. One call at a time.
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

  /// What the other threads need to know of a thread.
  struct alignas(64) Worker {
    /// The first stage in which the thread's share is not claimed yet.
    std::atomic<uint64_t> claimed = 0;
    /// 1 while the thread sleeps or is about to. It sleeps on this word.
    std::atomic<uint32_t> asleep = 0;
    /// Whether the thread sleeps or was late, so that no thread waits for it to
    /// begin. The thread clears this when it reads the phase.
    std::atomic<bool> away = false;
    /// The processor on which the thread was when it last looked.
    std::atomic<int32_t> processor = -1;
    /// How often the system had put the thread aside when it last asked.
    int64_t preemptions = 0;
    /// The clock of the thread's processor time.
    std::atomic<clockid_t> clock = CLOCK_MONOTONIC;
    /// When the thread may move to another processor again, in nanoseconds.
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

  /// The number of the open stage, counted since the pool was made, above the
  /// number of its shares; no shares: no job.
  alignas(64) std::atomic<uint64_t> phase = 0;
  std::atomic<uint32_t> remainingNear = 0;
  alignas(64) std::atomic<uint32_t> remainingFar = 0;
  /// Shares of the open stage that have not ended. With few threads, beside the
  /// phase: whoever ends the stage then has the line. Many would wait for one
  /// another's looks at the phase.
  std::atomic<uint32_t> &remaining;
  /// How many threads sleep or are about to, and how many are away.
  alignas(64) std::atomic<uint32_t> sleepers = 0;
  std::atomic<uint32_t> awayCount = 0;
  /// The stage that somebody sleeps for, at first none, and since when, in
  /// nanoseconds.
  std::atomic<uint64_t> awaitedStage = UINT64_MAX;
  std::atomic<uint64_t> awaitedSince = 0;
  /// When a sleeper may be woken again, within a job and at all.
  std::atomic<uint64_t> nextWake = 0;
  QuietTime quietTime;
};

} // namespace mtp

#endif // MTP_RUNTIME_DEVICE_CPU_WORKERPOOL_H
