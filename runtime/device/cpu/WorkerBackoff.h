//===- WorkerBackoff.h - When to run without a thread -----------*- C++ -*-===//

#ifndef MTP_RUNTIME_DEVICE_CPU_WORKERBACKOFF_H
#define MTP_RUNTIME_DEVICE_CPU_WORKERBACKOFF_H

#include <atomic>
#include <cstdint>

namespace mtp {

/// Decides for how long a pool runs without a thread that the system has
/// suspended in the middle of a share, so that all other threads waited. Times
/// are in nanoseconds from any origin; the class has no clock of its own. Any
/// thread may call it. Of concurrent calls one may be lost.
///
/// With the thread, the pool has its full speed between absences and none
/// during them. Without the thread, it always has the speed of one thread less.
/// A thread that is seldom suspended therefore stays. A thread is given up if
/// it is away for more than 1 / (4 (workers - 1) + 1) of the time, and then for
/// 8 milliseconds more. It is tried again after a few times the absence, and
/// after twice that time whenever a trial was too early.
class WorkerBackoff {
public:
  /// Makes the state for a pool of `workers` threads, 2 or more.
  explicit WorkerBackoff(uint32_t workers) : workers(workers) {}

  /// Records that a thread was away from `begin` to `end`. Returns for how long
  /// the pool is to run without it after `end`; 0: the thread stays.
  uint64_t add(uint64_t begin, uint64_t end);

  /// Whether the pool is still to run without the thread.
  bool isQuiet(uint64_t time) const {
    return time < until.load(std::memory_order_relaxed);
  }

private:
  const uint32_t workers;
  /// The end of the last absence, or of the time without the thread.
  std::atomic<uint64_t> until = 0;
  /// Total absence that the time in between has not paid for.
  std::atomic<uint64_t> owed = 0;
  /// Factor of the last absence; 0: the thread stayed.
  std::atomic<uint64_t> times = 0;
};

} // namespace mtp

#endif // MTP_RUNTIME_DEVICE_CPU_WORKERBACKOFF_H
