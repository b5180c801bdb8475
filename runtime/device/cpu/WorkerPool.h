//===- WorkerPool.h - Threads that work in step -----------------*- C++ -*-===//

#ifndef MTP_RUNTIME_DEVICE_CPU_WORKERPOOL_H
#define MTP_RUNTIME_DEVICE_CPU_WORKERPOOL_H

#include "runtime/core/Result.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <pthread.h>
#include <vector>

namespace mtp {

/// A barrier for threads that meet every few microseconds: it spins, and gives
/// the processor away only when another thread is late.
class SpinBarrier {
public:
  explicit SpinBarrier(uint32_t count) : count(count) {}

  /// Returns when `count` threads have called it. What they wrote before is
  /// visible to all of them after.
  void wait();

private:
  const uint32_t count;
  alignas(64) std::atomic<uint32_t> arrived = 0;
  alignas(64) std::atomic<uint32_t> phase = 0;
};

/// A fixed set of threads; the caller of run() is worker 0.
class WorkerPool {
public:
  /// What each worker runs.
  using Job = void (*)(void *context, uint32_t worker);

  /// `pin`: bind worker i to the i-th processor that this process may use.
  static Result<std::unique_ptr<WorkerPool>> create(uint32_t workers, bool pin);

  WorkerPool(const WorkerPool &) = delete;
  WorkerPool &operator=(const WorkerPool &) = delete;
  ~WorkerPool();

  /// Runs `job` once on every worker; returns when all are done. One call at a
  /// time.
  void run(Job job, void *context);

  uint32_t size() const { return workers; }

  /// For use between the workers of a running job.
  SpinBarrier &barrier() { return innerBarrier; }

private:
  explicit WorkerPool(uint32_t workers)
      : workers(workers), innerBarrier(workers) {}
  Status start(bool pin);
  static void *threadMain(void *argument);
  void loop(uint32_t worker);

  struct Thread {
    WorkerPool *pool;
    uint32_t worker;
    pthread_t handle;
  };

  const uint32_t workers;
  SpinBarrier innerBarrier;
  /// Threads 1 .. workers-1. Never moves once threads run.
  std::vector<Thread> threads;
  Job job = nullptr;
  void *context = nullptr;
  std::atomic<bool> stopping = false;
  /// Raised once for every job.
  alignas(64) std::atomic<uint32_t> started = 0;
  /// Workers other than 0 that have finished the job.
  alignas(64) std::atomic<uint32_t> finished = 0;
};

/// Processors that this process may run on; at least 1.
uint32_t usableProcessors();

} // namespace mtp

#endif // MTP_RUNTIME_DEVICE_CPU_WORKERPOOL_H
