//===- HostCopy.cpp - Copies in host memory by threads --------------------===//

#include "runtime/device/cuda/HostCopy.h"
#include "runtime/core/Processors.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <sys/mman.h>
#include <unistd.h>

using namespace mtp;

HostCopy::HostCopy(uint32_t threads)
    : wanted((threads ? threads : std::min(usableProcessors(), kMostThreads)) -
             1) {}

HostCopy::~HostCopy() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    ends = true;
  }
  hasWork.notify_all();
  for (pthread_t thread : threads)
    ::pthread_join(thread, nullptr);
}

void *HostCopy::threadMain(void *self) {
  static_cast<HostCopy *>(self)->serve();
  return nullptr;
}

void HostCopy::start() {
  for (; wanted != 0; --wanted) {
    pthread_t thread;
    if (::pthread_create(&thread, nullptr, threadMain, this) != 0) {
      // Copies with the threads that were started.
      wanted = 0;
      return;
    }
    threads.push_back(thread);
  }
}

/// Maps all pages of a range at once. Otherwise each page, or each few pages,
/// would be a fault.
static void readAhead(const uint8_t *from, uint64_t bytes) {
  static const auto page = uintptr_t(::sysconf(_SC_PAGESIZE));
  size_t inPage = reinterpret_cast<uintptr_t>(from) % page;
  void *start = const_cast<uint8_t *>(from - inPage);
  size_t length = inPage + bytes;
#ifdef MADV_POPULATE_READ
  if (::madvise(start, length, MADV_POPULATE_READ) == 0 || errno != EINVAL)
    return;
#endif
  // For systems before Linux 5.14. A failure does no harm: the copy maps the
  // pages itself.
  (void)::madvise(start, length, MADV_WILLNEED);
}

static void copySlice(uint8_t *to, const uint8_t *from, uint64_t bytes) {
  readAhead(from, bytes);
  std::memcpy(to, from, bytes);
}

/// Copies the next slice, without the lock.
void HostCopy::copyNext(std::unique_lock<std::mutex> &lock) {
  uint64_t begin = nextSlice++ * kSliceBytes;
  uint8_t *to = target + begin;
  const uint8_t *from = source + begin;
  uint64_t size = std::min(kSliceBytes, bytes - begin);
  lock.unlock();
  copySlice(to, from, size);
  lock.lock();
  if (++copied == slices)
    isDone.notify_one();
}

void HostCopy::serve() {
  std::unique_lock<std::mutex> lock(mutex);
  while (!ends)
    if (nextSlice < slices)
      copyNext(lock);
    else
      hasWork.wait(lock);
}

void HostCopy::run(uint8_t *to, const uint8_t *from, uint64_t size) {
  if (size == 0)
    return;
  if (size <= kSliceBytes) {
    copySlice(to, from, size);
    return;
  }
  start();
  std::unique_lock<std::mutex> lock(mutex);
  target = to;
  source = from;
  bytes = size;
  slices = (size + kSliceBytes - 1) / kSliceBytes;
  nextSlice = copied = 0;
  lock.unlock();
  hasWork.notify_all();
  lock.lock();
  while (nextSlice < slices)
    copyNext(lock);
  isDone.wait(lock, [&] { return copied == slices; });
}
