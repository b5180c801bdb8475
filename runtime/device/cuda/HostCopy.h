//===- HostCopy.h - Copies in host memory by threads ------------*- C++ -*-===//

#ifndef MTP_RUNTIME_DEVICE_CUDA_HOSTCOPY_H
#define MTP_RUNTIME_DEVICE_CUDA_HOSTCOPY_H

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <vector>

#include <pthread.h>

namespace mtp {

/// Copies from memory that may be a mapped file to memory that is already
/// mapped. One thread is slower than a bus, mainly because of page faults. For
/// use by one thread at a time.
class HostCopy {
public:
  /// Number of bytes that a thread copies at a time.
  static constexpr uint64_t kSliceBytes = 1 << 20;
  /// Limit on the threads. With more threads, memory is the bottleneck.
  static constexpr uint32_t kMostThreads = 16;

  /// `threads` is the number of threads that copy, including the caller's. Zero
  /// means the number of usable processors, at most kMostThreads. The first
  /// copy of several slices starts the other threads. If the system starts
  /// fewer threads, fewer threads copy.
  explicit HostCopy(uint32_t threads = 0);
  HostCopy(const HostCopy &) = delete;
  HostCopy &operator=(const HostCopy &) = delete;
  /// Ends the threads.
  ~HostCopy();

  /// Copies all bytes before it returns.
  void run(uint8_t *to, const uint8_t *from, uint64_t bytes);

private:
  static void *threadMain(void *self);
  void start();
  void serve();
  void copyNext(std::unique_lock<std::mutex> &lock);

  /// Number of threads that are still to be started.
  uint32_t wanted;
  std::vector<pthread_t> threads;
  /// Protects all members below.
  std::mutex mutex;
  std::condition_variable hasWork, isDone;
  uint8_t *target = nullptr;
  const uint8_t *source = nullptr;
  uint64_t bytes = 0;
  uint64_t slices = 0, nextSlice = 0, copied = 0;
  bool ends = false;
};

} // namespace mtp

#endif // MTP_RUNTIME_DEVICE_CUDA_HOSTCOPY_H
