//===- WorkerPool.cpp - Threads that work in lockstep ---------------------===//

#include "runtime/device/cpu/WorkerPool.h"
#include "runtime/core/Processors.h"
#include "runtime/core/StrCat.h"
#include "runtime/schema/Limits.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <ctime>
#include <linux/futex.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace mtp;

// One look takes about 40 nanoseconds.

/// Number of looks before a share that its thread has not begun is taken over
/// (2.5 microseconds: a running thread has begun by then).
static constexpr uint32_t kGraceSpins = 64;
/// Number of looks within a job before a check that the other threads run (40
/// microseconds: about the cost of a sleep and a wake). Between jobs, the
/// number of looks before a sleep (half a millisecond).
static constexpr uint32_t kSpins = 1024;
static constexpr uint32_t kIdleSpins = 16384;
/// Minimum time between wakes within a job. A thread that fell asleep within a
/// job was late or waited for a late thread. Other threads do its shares, so it
/// need not be woken at every stage.
static constexpr uint64_t kWakeInterval = 200'000;
/// Absence in the middle of a share that counts as long. A suspended thread
/// delays all others; if that happens often, the pool runs with fewer threads
/// for a while.
static constexpr uint64_t kLongAbsence = 500'000;

/// Minimum processor time of a running thread while another thread spins.
static constexpr uint64_t kLeastProgress = 10'000;
/// Minimum time between two moves of a thread to another processor.
static constexpr uint64_t kMoveInterval = 10'000'000;

/// Number of threads that can look at one cache line without harm.
static constexpr uint32_t kFewWorkers = 4;

/// Bits of the phase that hold the number of shares.
static constexpr uint32_t kShareBits = 11;
static constexpr uint64_t kShareMask = (1u << kShareBits) - 1;
static_assert(kMostWorkers <= kShareMask);

//===----------------------------------------------------------------------===//
// The system
//===----------------------------------------------------------------------===//

static inline void pauseCpu() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// std::atomic::wait would yield before it sleeps. If another program's thread
// uses the processor, each yield costs a time slice.
static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t) &&
              std::atomic<uint32_t>::is_always_lock_free);

static void futexWait(std::atomic<uint32_t> &word, uint32_t expected) {
  ::syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, nullptr, nullptr,
            0);
}

static void futexWake(std::atomic<uint32_t> &word) {
  ::syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

static uint64_t now() {
  auto time = std::chrono::steady_clock::now().time_since_epoch();
  return uint64_t(
      std::chrono::duration_cast<std::chrono::nanoseconds>(time).count());
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

//===----------------------------------------------------------------------===//
// Start and end
//===----------------------------------------------------------------------===//

WorkerPool::WorkerPool(uint32_t workers, uint32_t processors)
    : workers(workers), processors(processors), each(workers),
      remaining(workers <= kFewWorkers ? remainingNear : remainingFar),
      backoff(workers) {}

Result<std::unique_ptr<WorkerPool>>
WorkerPool::create(uint32_t workers, bool pin, uint32_t processors) {
  if (workers < 1 || workers > kMostWorkers)
    return invalidArgument(
        strCat("expected 1 to ", kMostWorkers, " threads, got ", workers));
  std::unique_ptr<WorkerPool> pool(
      new WorkerPool(workers, processors ? processors : usableProcessors()));
  MTP_RETURN_IF_ERROR(pool->start(pin));
  return pool;
}

/// Stack size of a worker, whatever `ulimit -s` is: kernels keep tiles on it.
static constexpr size_t kStackBytes = 2 << 20;

static int startThread(pthread_t &handle, void *(*main)(void *), void *data) {
  pthread_attr_t attributes;
  if (int error = ::pthread_attr_init(&attributes))
    return error;
  int error = ::pthread_attr_setstacksize(&attributes, kStackBytes);
  if (error == 0)
    error = ::pthread_create(&handle, &attributes, main, data);
  ::pthread_attr_destroy(&attributes);
  return error;
}

Status WorkerPool::start(bool pin) {
  isPinned = pin;
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  ::sched_getaffinity(0, sizeof(allowed), &allowed);
  threads.reserve(workers - 1);
  for (uint32_t worker = 1; worker < workers; ++worker) {
    threads.push_back({this, worker, {}});
    int error = startThread(threads.back().handle, threadMain, &threads.back());
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
  stopping.store(true, std::memory_order_seq_cst);
  open((phase.load(std::memory_order_relaxed) >> kShareBits) + 1, 0,
       std::memory_order_seq_cst);
  // A thread that falls asleep counts itself first: it is seen here, or it sees
  // the store above.
  sleepers.fetch_add(0, std::memory_order_seq_cst);
  for (uint32_t worker = 1; worker < workers; ++worker)
    wake(worker);
  for (Thread &thread : threads)
    ::pthread_join(thread.handle, nullptr);
}

void *WorkerPool::threadMain(void *argument) {
  Thread *thread = static_cast<Thread *>(argument);
  thread->pool->loop(thread->worker);
  return nullptr;
}

/// Records the clock of the calling thread's processor time.
void WorkerPool::noteClock(uint32_t self) {
  clockid_t clock = CLOCK_MONOTONIC;
  ::pthread_getcpuclockid(::pthread_self(), &clock);
  each[self].clock.store(clock, std::memory_order_relaxed);
}

void WorkerPool::loop(uint32_t self) {
  noteClock(self);
  for (;;) {
    uint64_t seen = phase.load(std::memory_order_acquire);
    if (stopping.load(std::memory_order_relaxed))
      return;
    if (seen & kShareMask)
      step(seen, self);
    else
      awaitJob(seen, self);
  }
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

void WorkerPool::run(const Job &newJob) {
  if (newJob.shares.empty())
    return;
  if (workers == 1) {
    for (uint32_t stage = 0; stage < newJob.shares.size(); ++stage)
      newJob.run(newJob.context, stage, 0, 1, 0);
    return;
  }
  job = newJob;
  first = phase.load(std::memory_order_relaxed) >> kShareBits;
  each[0].processor.store(::sched_getcpu(), std::memory_order_relaxed);
  noteClock(0);
  open(first, job.shares[0], std::memory_order_seq_cst);
  if (sleepers.load(std::memory_order_seq_cst) && !backoff.isQuiet(now()))
    wakeSome();
  for (;;) {
    uint64_t seen = phase.load(std::memory_order_acquire);
    if ((seen & kShareMask) == 0)
      return;
    step(seen, 0);
  }
}

/// Publishes a stage or, with no shares, the end of a job.
void WorkerPool::open(uint64_t stage, uint32_t shares,
                      std::memory_order order) {
  remaining.store(shares, std::memory_order_relaxed);
  phase.store(stage << kShareBits | shares, order);
}

/// Works on a stage that the thread has seen: runs its own share, then other
/// threads' shares, or waits. Returns when the phase may have changed.
void WorkerPool::step(uint64_t seen, uint32_t self) {
  if (each[self].away.load(std::memory_order_relaxed))
    setAway(self, false);
  if (self < (seen & kShareMask) && claim(seen >> kShareBits, self))
    runOwn(seen, self);
  else
    await(seen, self);
}

/// Tries to claim a share of a stage for the caller. A stage ends only when all
/// its shares have been claimed. A thread that has seen an older stage
/// therefore gets no share, and a thread with a share may read the job.
bool WorkerPool::claim(uint64_t stage, uint32_t share) {
  std::atomic<uint64_t> &claimed = each[share].claimed;
  uint64_t before = claimed.load(std::memory_order_relaxed);
  return before <= stage && claimed.compare_exchange_strong(
                                before, stage + 1, std::memory_order_relaxed);
}

/// Runs the caller's share together with the next shares whose threads are
/// away. It is one call, because a kernel does some work for each call.
void WorkerPool::runOwn(uint64_t seen, uint32_t self) {
  uint32_t begin = self, end = self + 1;
  if (awayCount.load(std::memory_order_relaxed)) {
    uint64_t stage = seen >> kShareBits;
    uint32_t shares = seen & kShareMask, most = fairCount(seen);
    auto isAway = [&](uint32_t worker) {
      return each[worker].away.load(std::memory_order_relaxed);
    };
    while (end < shares && end - begin < most && isAway(end) &&
           claim(stage, end))
      ++end;
    while (begin > 0 && end - begin < most && isAway(begin - 1) &&
           claim(stage, begin - 1))
      --begin;
  }
  runShares(seen, begin, end, self);
}

/// Runs shares that their threads have not begun. Returns false if there were
/// none.
bool WorkerPool::takeOver(uint64_t seen, uint32_t self) {
  uint64_t stage = seen >> kShareBits;
  uint32_t shares = seen & kShareMask, begin = 0;
  while (begin < shares && !claim(stage, begin))
    ++begin;
  if (begin == shares)
    return false;
  uint32_t end = begin + 1, most = fairCount(seen);
  while (end < shares && end - begin < most && claim(stage, end))
    ++end;
  for (uint32_t share = begin; share < end; ++share)
    setAway(share, true);
  runShares(seen, begin, end, self);
  return true;
}

/// Returns the number of shares per thread that is not away.
uint32_t WorkerPool::fairCount(uint64_t seen) const {
  uint32_t away = awayCount.load(std::memory_order_relaxed);
  uint32_t there = std::max(workers - std::min(away, workers), 1u);
  return (uint32_t(seen & kShareMask) + there - 1) / there;
}

void WorkerPool::runShares(uint64_t seen, uint32_t begin, uint32_t end,
                           uint32_t self) {
  uint64_t stage = seen >> kShareBits;
  job.run(job.context, uint32_t(stage - first), begin, end, self);
  uint32_t count = end - begin;
  if (count == (seen & kShareMask) ||
      remaining.fetch_sub(count, std::memory_order_acq_rel) == count)
    complete(stage, self);
}

/// Continues after the last share of a stage, which ended on thread `self`.
void WorkerPool::complete(uint64_t stage, uint32_t self) {
  uint64_t next = stage - first + 1;
  if (next == job.shares.size()) {
    // The job may be over from here on.
    open(stage + 1, 0, std::memory_order_seq_cst);
    if (sleepers.load(std::memory_order_seq_cst))
      wake(0);
    return;
  }
  // A thread that falls asleep at this moment may be missed: the next stage
  // wakes it.
  open(stage + 1, job.shares[next], std::memory_order_release);
  if (sleepers.load(std::memory_order_relaxed) == 0)
    return;
  uint64_t time = now();
  uint64_t absence = wasPutAside(stage, self, time);
  if (absence && backoff.add(time - absence, time) > 0) {
    if (self != 0)
      rest(self);
    return;
  }
  if (time >= nextWake.load(std::memory_order_relaxed) &&
      !backoff.isQuiet(time)) {
    nextWake.store(time + kWakeInterval, std::memory_order_relaxed);
    each[self].processor.store(::sched_getcpu(), std::memory_order_relaxed);
    wakeSome();
  }
}

/// Returns how long other threads had slept when thread `self` ended a share,
/// if the system had given its processor to another program. 0: not long, or
/// the thread worked.
uint64_t WorkerPool::wasPutAside(uint64_t stage, uint32_t self, uint64_t time) {
  if (awaitedStage.load(std::memory_order_acquire) != stage)
    return 0;
  uint64_t since = awaitedSince.load(std::memory_order_relaxed);
  if (since >= time || time - since < kLongAbsence)
    return 0;
  rusage usage = {};
  ::getrusage(RUSAGE_THREAD, &usage);
  bool isPreempted = usage.ru_nivcsw > each[self].preemptions;
  each[self].preemptions = usage.ru_nivcsw;
  return isPreempted ? time - since : 0;
}

//===----------------------------------------------------------------------===//
// Waiting
//===----------------------------------------------------------------------===//

/// Waits until the phase changes, or runs a share of a late thread.
void WorkerPool::await(uint64_t seen, uint32_t self) {
  bool maySpin = workers <= processors;
  // A look at the other threads' claims costs them a cache miss, so they first
  // get time to begin.
  if (maySpin && spin(seen, kGraceSpins))
    return;
  if (takeOver(seen, self))
    return;
  // All shares have begun: now only the threads that run them can help.
  while (maySpin && !isBesideAnother(self)) {
    uint64_t before = leastTime(self);
    if (spin(seen, kSpins))
      return;
    if (leastTime(self) < before + kLeastProgress)
      break;
  }
  if (maySpin && moveAway(self))
    return;
  sleep(seen, self);
}

void WorkerPool::awaitJob(uint64_t seen, uint32_t self) {
  for (uint32_t i = 0; i < kIdleSpins && workers <= processors; i += kSpins) {
    if (isBesideAnother(self) && !moveAway(self))
      break;
    if (spin(seen, kSpins))
      return;
  }
  sleep(seen, self);
}

/// Looks for another phase; returns true if it came.
bool WorkerPool::spin(uint64_t seen, uint32_t times) const {
  for (uint32_t i = 0; i < times; ++i) {
    if (phase.load(std::memory_order_acquire) != seen)
      return true;
    pauseCpu();
  }
  return false;
}

/// Whether another thread of the pool was last seen on the caller's processor,
/// and so cannot run now.
bool WorkerPool::isBesideAnother(uint32_t self) {
  int32_t processor = ::sched_getcpu();
  each[self].processor.store(processor, std::memory_order_relaxed);
  for (uint32_t worker = 0; worker < workers; ++worker)
    if (worker != self &&
        each[worker].processor.load(std::memory_order_relaxed) == processor &&
        !each[worker].asleep.load(std::memory_order_relaxed))
      return true;
  return false;
}

/// Returns the smallest processor time, in nanoseconds, of the other threads
/// that are awake. If it does not grow, a thread has been suspended or waits
/// for a page.
uint64_t WorkerPool::leastTime(uint32_t self) const {
  uint64_t least = UINT64_MAX / 2;
  for (uint32_t worker = 0; worker < workers; ++worker) {
    if (worker == self || each[worker].asleep.load(std::memory_order_relaxed))
      continue;
    timespec time = {};
    ::clock_gettime(each[worker].clock.load(std::memory_order_relaxed), &time);
    least = std::min(least, uint64_t(time.tv_sec) * 1'000'000'000 +
                                uint64_t(time.tv_nsec));
  }
  return least;
}

/// Moves a thread that shares a processor with another thread of the pool to
/// another processor that it may use. The system itself moves only threads that
/// do not sleep.
bool WorkerPool::moveAway(uint32_t self) {
  uint64_t time = now();
  if (self == 0 || isPinned || time < each[self].nextMove ||
      !isBesideAnother(self))
    return false;
  each[self].nextMove = time + kMoveInterval;
  cpu_set_t allowed, others;
  CPU_ZERO(&allowed);
  if (::sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
    return false;
  others = allowed;
  CPU_CLR(each[self].processor.load(std::memory_order_relaxed), &others);
  if (CPU_COUNT(&others) == 0 ||
      ::sched_setaffinity(0, sizeof(others), &others) != 0)
    return false;
  ::sched_setaffinity(0, sizeof(allowed), &allowed);
  each[self].processor.store(::sched_getcpu(), std::memory_order_relaxed);
  return true;
}

void WorkerPool::setAway(uint32_t worker, bool away) {
  if (each[worker].away.exchange(away, std::memory_order_relaxed) == away)
    return;
  if (away)
    awayCount.fetch_add(1, std::memory_order_relaxed);
  else
    awayCount.fetch_sub(1, std::memory_order_relaxed);
}

/// Sleeps until another thread wakes this one, unless the phase has changed.
///
/// The work completes without wakes. A thread sleeps only when all shares of
/// its stage are claimed by threads that are awake, and those threads take over
/// the shares of sleepers. Only thread 0 must be woken, at the end.
void WorkerPool::sleep(uint64_t seen, uint32_t self) {
  Worker &own = each[self];
  if (seen & kShareMask) {
    // A thread that sees the stage sees a time of this stage or of a later one.
    awaitedSince.store(now(), std::memory_order_relaxed);
    awaitedStage.store(seen >> kShareBits, std::memory_order_release);
  }
  setAway(self, true);
  own.asleep.store(1, std::memory_order_relaxed);
  sleepers.fetch_add(1, std::memory_order_seq_cst);
  // A thread that ends the job after this check sees a sleeper.
  if (phase.load(std::memory_order_seq_cst) == seen)
    futexWait(own.asleep, 1);
  awake(self);
}

/// Leaves the work to other threads, thread 0 first, until another thread wakes
/// this one, whatever the phase.
void WorkerPool::rest(uint32_t self) {
  Worker &own = each[self];
  setAway(self, true);
  own.asleep.store(1, std::memory_order_relaxed);
  sleepers.fetch_add(1, std::memory_order_seq_cst);
  // Thread 0 sleeps and is seen, or it sees the stage that was just opened.
  wake(0);
  if (!stopping.load(std::memory_order_seq_cst))
    futexWait(own.asleep, 1);
  awake(self);
}

/// Continues after a sleep. The system tends to wake a thread on its waker's
/// processor, where neither can progress.
void WorkerPool::awake(uint32_t self) {
  Worker &own = each[self];
  if (own.asleep.exchange(0, std::memory_order_acq_rel))
    sleepers.fetch_sub(1, std::memory_order_relaxed);
  own.processor.store(::sched_getcpu(), std::memory_order_relaxed);
  moveAway(self);
}

/// Wakes a thread if it sleeps.
void WorkerPool::wake(uint32_t worker) {
  std::atomic<uint32_t> &asleep = each[worker].asleep;
  if (asleep.load(std::memory_order_relaxed) &&
      asleep.exchange(0, std::memory_order_acq_rel)) {
    sleepers.fetch_sub(1, std::memory_order_relaxed);
    // The thread gets its share and time to begin.
    setAway(worker, false);
    futexWake(asleep);
  }
}

/// Wakes the number of threads that can run in addition to the awake threads.
void WorkerPool::wakeSome() {
  for (uint32_t worker = 0; worker < workers; ++worker) {
    uint32_t awake = workers - sleepers.load(std::memory_order_relaxed);
    if (awake >= processors)
      return;
    wake(worker);
  }
}
