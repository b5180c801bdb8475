//===- WorkerPool.cpp - Threads that work in step -------------------------===//

#include "runtime/device/cpu/WorkerPool.h"
#include "runtime/core/StrCat.h"

#include <cstring>
#include <sched.h>

using namespace mtp;

/// How often to look before giving the processor away (about 10 microseconds),
/// and how often before an idle worker sleeps (about half a millisecond).
static constexpr uint32_t kSpins = 256;
static constexpr uint32_t kIdleSpins = 16384;

static inline void pauseCpu() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

void SpinBarrier::wait() {
  uint32_t mine = phase.load(std::memory_order_relaxed);
  if (arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == count) {
    arrived.store(0, std::memory_order_relaxed);
    phase.store(mine + 1, std::memory_order_release);
    return;
  }
  for (uint32_t spins = 0; phase.load(std::memory_order_acquire) == mine;
       ++spins) {
    if (spins < kSpins)
      pauseCpu();
    else
      ::sched_yield();
  }
}

uint32_t mtp::usableProcessors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof(set), &set) != 0)
    return 1;
  int count = CPU_COUNT(&set);
  return count > 0 ? uint32_t(count) : 1;
}

/// Binds the calling thread to the n-th processor of its set, if there is one.
static void pinTo(pthread_t thread, uint32_t n, const cpu_set_t &allowed) {
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed) || n-- != 0)
      continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    ::pthread_setaffinity_np(thread, sizeof(one), &one);
    return;
  }
}

Result<std::unique_ptr<WorkerPool>> WorkerPool::create(uint32_t workers,
                                                       bool pin) {
  if (workers < 1 || workers > 1024)
    return invalidArgument(strCat("expected 1 to 1024 threads, got ", workers));
  std::unique_ptr<WorkerPool> pool(new WorkerPool(workers));
  MTP_RETURN_IF_ERROR(pool->start(pin));
  return pool;
}

Status WorkerPool::start(bool pin) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  ::sched_getaffinity(0, sizeof(allowed), &allowed);
  threads.reserve(workers - 1);
  for (uint32_t worker = 1; worker < workers; ++worker) {
    threads.push_back({this, worker, {}});
    int error = ::pthread_create(&threads.back().handle, nullptr, threadMain,
                                 &threads.back());
    if (error) {
      threads.pop_back();
      return resourceExhausted(strCat("cannot start thread ", worker, " of ",
                                      workers, ": ", std::strerror(error)));
    }
    if (pin)
      pinTo(threads.back().handle, worker, allowed);
  }
  if (pin)
    pinTo(::pthread_self(), 0, allowed);
  return okStatus();
}

WorkerPool::~WorkerPool() {
  stopping.store(true, std::memory_order_relaxed);
  started.fetch_add(1, std::memory_order_release);
  started.notify_all();
  for (Thread &thread : threads)
    ::pthread_join(thread.handle, nullptr);
}

void *WorkerPool::threadMain(void *argument) {
  Thread *thread = static_cast<Thread *>(argument);
  thread->pool->loop(thread->worker);
  return nullptr;
}

void WorkerPool::loop(uint32_t worker) {
  for (uint32_t seen = 0;; ++seen) {
    uint32_t spins = 0;
    while (started.load(std::memory_order_acquire) == seen) {
      if (spins < kIdleSpins) {
        ++spins;
        pauseCpu();
      } else {
        started.wait(seen, std::memory_order_acquire);
      }
    }
    if (stopping.load(std::memory_order_relaxed))
      return;
    job(context, worker);
    finished.fetch_add(1, std::memory_order_release);
  }
}

void WorkerPool::run(Job newJob, void *newContext) {
  if (workers > 1) {
    job = newJob;
    context = newContext;
    finished.store(0, std::memory_order_relaxed);
    started.fetch_add(1, std::memory_order_release);
    started.notify_all();
  }
  newJob(newContext, 0);
  for (uint32_t spins = 0;
       workers > 1 && finished.load(std::memory_order_acquire) != workers - 1;
       ++spins) {
    if (spins < kSpins)
      pauseCpu();
    else
      ::sched_yield();
  }
}
