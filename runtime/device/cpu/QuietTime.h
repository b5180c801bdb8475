//===- QuietTime.h - When to go on without a thread -------------*- C++ -*-===//

#ifndef MTP_RUNTIME_DEVICE_CPU_QUIETTIME_H
#define MTP_RUNTIME_DEVICE_CPU_QUIETTIME_H

#include <atomic>
#include <cstdint>

namespace mtp {

/// Decides for how long a pool goes on without a thread that the system has put
/// aside in the middle of a share, so that all others waited. Times are in
/// nanoseconds from any point on; it has no clock of its own. Any thread may
/// call it; of calls at one time one may be lost.
///
/// With the thread the pool has all of its speed between absences and none in
/// them, without it that of one thread less all the time. So a thread that is
/// seldom put aside stays, and one that is away for more than a part in
/// (4 (workers - 1) + 1) of the time, and then for 8 milliseconds more, is
/// given up. It is tried again behind a few times the absence, and each time
/// that was too early behind twice as many.
class QuietTime {
public:
  /// Of a pool of so many threads, 2 or more.
  explicit QuietTime(uint32_t workers) : workers(workers) {}

  /// A thread was away from `begin` to `end`. Returns for how long the pool is
  /// to go on without it from there; 0: it is not.
  uint64_t add(uint64_t begin, uint64_t end);

  /// Whether it is still to do so.
  bool isQuiet(uint64_t time) const {
    return time < until.load(std::memory_order_relaxed);
  }

private:
  const uint32_t workers;
  /// The end of the last absence, or of the time without the thread.
  std::atomic<uint64_t> until = 0;
  /// Of all absences, what the time in between has not paid for.
  std::atomic<uint64_t> owed = 0;
  /// Of the last absence, how many times it took; 0: the thread stayed.
  std::atomic<uint64_t> times = 0;
};

} // namespace mtp

#endif // MTP_RUNTIME_DEVICE_CPU_QUIETTIME_H
