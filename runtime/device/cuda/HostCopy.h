//===- HostCopy.h - Copies of the host's memory by threads ------*- C++ -*-===//

#ifndef MTP_RUNTIME_DEVICE_CUDA_HOSTCOPY_H
#define MTP_RUNTIME_DEVICE_CUDA_HOSTCOPY_H

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <vector>

#include <pthread.h>

namespace mtp {

/// Copies from memory that may be a mapped file to memory that is there. One
/// thread is too slow for a bus, less by the copying than by the pages that it
/// meets for the first time. For use by one thread at a time.
class HostCopy {
public:
  /// Bytes that a thread copies without asking for more.
  static constexpr uint64_t kSliceBytes = 1 << 20;
  /// Beyond so many threads memory is what limits them.
  static constexpr uint32_t kMostThreads = 16;

  /// `threads` are all that copy, the caller's included; zero: as many as there
  /// are usable processors, and no more than kMostThreads. Those beside the
  /// caller's are started by the first copy of several slices. Where the system
  /// starts fewer, fewer copy.
  explicit HostCopy(uint32_t threads = 0);
  HostCopy(const HostCopy &) = delete;
  HostCopy &operator=(const HostCopy &) = delete;
  /// Ends the threads.
  ~HostCopy();

  /// Copies all before it returns.
  void run(uint8_t *to, const uint8_t *from, uint64_t bytes);

private:
  static void *threadMain(void *self);
  void start();
  void serve();
  void copyNext(std::unique_lock<std::mutex> &lock);

  /// Those that are wanted, until they are started.
  uint32_t wanted;
  std::vector<pthread_t> threads;
  /// For all below.
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
