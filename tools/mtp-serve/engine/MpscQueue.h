//===- MpscQueue.h - Queue from many threads to one -------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_SERVE_ENGINE_MPSCQUEUE_H
#define MTP_TOOLS_MTP_SERVE_ENGINE_MPSCQUEUE_H

#include <condition_variable>
#include <mutex>
#include <utility>
#include <vector>

namespace mtp::serve {

/// A queue that one thread empties, and on which the thread sleeps while it has
/// no work. Any thread may call put() and close().
template <typename T>
class MpscQueue {
public:
  void put(T thing) {
    {
      std::lock_guard lock(mutex);
      things.push_back(std::move(thing));
    }
    changed.notify_one();
  }

  /// Wakes the waiting thread. Items put later are still taken.
  void close() {
    {
      std::lock_guard lock(mutex);
      closed = true;
    }
    changed.notify_one();
  }

  /// Takes all items, in order. With `mayWait` it waits until there is an item;
  /// an empty result then means that the queue was closed.
  std::vector<T> take(bool mayWait) {
    std::unique_lock lock(mutex);
    if (mayWait)
      changed.wait(lock, [this] { return closed || !things.empty(); });
    return std::exchange(things, {});
  }

private:
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<T> things;
  bool closed = false;
};

} // namespace mtp::serve

#endif // MTP_TOOLS_MTP_SERVE_ENGINE_MPSCQUEUE_H
