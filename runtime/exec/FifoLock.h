//===- FifoLock.h - One call of a session at a time -------------*- C++ -*-===//

#ifndef MTP_RUNTIME_EXEC_FIFOLOCK_H
#define MTP_RUNTIME_EXEC_FIFOLOCK_H

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace mtp {

/// Lets calls of several threads through one by one, and lets a thread sleep
/// until another one has made work. A thread that steps again and again does
/// not keep others out: its next step first lets in the calls that came before
/// that step.
class FifoLock {
public:
  /// Held by a call while it goes on.
  using Hold = std::unique_lock<std::mutex>;

  Hold enter() {
    arrived.fetch_add(1);
    Hold hold(mutex);
    ++served;
    // A sleeping thread looks again when this call is over.
    changed.notify_all();
    return hold;
  }

  Hold enterStep() {
    Hold hold(mutex);
    uint64_t before = arrived.load();
    changed.wait(hold, [&] { return served >= before; });
    return hold;
  }

  /// Whether a call waits. For the thread that holds the gate.
  bool isAwaited() const { return arrived.load() > served; }

  /// Sleeps until `hasWork()`, until wake(), or for `seconds`. Returns whether
  /// there is work.
  template <typename Condition>
  bool sleep(double seconds, Condition hasWork) {
    Hold hold(mutex);
    auto isOver = [&] { return isWoken || hasWork(); };
    // A time that no clock can count, NaN too, means for ever.
    if (seconds < 1e9)
      changed.wait_for(hold, std::chrono::duration<double>(seconds), isOver);
    else
      changed.wait(hold, isOver);
    isWoken = false;
    return hasWork();
  }

  void wake() {
    Hold hold = enter();
    isWoken = true;
  }

private:
  std::mutex mutex;
  std::condition_variable changed;
  std::atomic<uint64_t> arrived = 0;
  uint64_t served = 0;
  bool isWoken = false;
};

} // namespace mtp

#endif // MTP_RUNTIME_EXEC_FIFOLOCK_H
