//===- worker_pool_test.cpp - Waiting, sleep and takeover -----------------===//

#include "runtime/core/Processors.h"
#include "runtime/device/cpu/WorkerBackoff.h"
#include "runtime/device/cpu/WorkerPool.h"

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <random>
#include <sched.h>
#include <semaphore>
#include <thread>

using namespace mtp;

namespace {

/// A job that checks itself: every share of a stage reads the values that all
/// shares of the previous stage wrote.
struct CheckedJob {
  explicit CheckedJob(std::vector<uint32_t> counts)
      : shares(std::move(counts)) {
    for (uint32_t count : shares)
      runs.emplace_back(count, 0);
  }

  std::vector<uint32_t> shares;
  /// Not atomic, so that a thread sanitizer sees a missing order.
  std::vector<std::vector<uint32_t>> runs;
  std::atomic<uint32_t> errors = 0;
  /// Shares that thread 0 ran.
  std::atomic<uint32_t> byFirst = 0;
  /// Probability that a share sleeps, in thousandths.
  uint32_t sleepy = 0;

  static void run(void *context, uint32_t stage, uint32_t begin, uint32_t end,
                  uint32_t runner) {
    CheckedJob &job = *static_cast<CheckedJob *>(context);
    for (uint32_t share = begin; share < end; ++share) {
      if (stage > 0)
        for (uint32_t count : job.runs[stage - 1])
          job.errors += count != 1;
      job.errors += ++job.runs[stage][share] != 1;
      job.byFirst += runner == 0;
      thread_local std::minstd_rand random{runner + 1};
      if (random() % 1000 < job.sleepy)
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 300));
    }
  }

  void runOn(WorkerPool &pool) {
    pool.run({shares, run, this});
    for (const std::vector<uint32_t> &stage : runs)
      for (uint32_t count : stage)
        errors += count != 1;
  }
};

std::vector<uint32_t> randomShares(std::mt19937 &random, uint32_t workers) {
  std::vector<uint32_t> shares(1 + random() % 40);
  for (uint32_t &count : shares)
    count = random() % 3 ? workers : 1 + random() % workers;
  return shares;
}

} // namespace

TEST(WorkerPool, EveryShareRunsOnceAndStagesKeepTheirOrder) {
  std::mt19937 random(1);
  for (uint32_t workers : {1u, 2u, 3u, 5u, 16u})
    for (uint32_t processors : {1u, 2u, workers}) {
      auto pool = WorkerPool::create(workers, false, processors);
      ASSERT_TRUE(pool.isOk());
      for (int repeat = 0; repeat < 60; ++repeat) {
        CheckedJob job(randomShares(random, workers));
        job.sleepy = repeat % 3 == 0 ? 20 : 0;
        job.runOn(**pool);
        EXPECT_EQ(job.errors, 0u) << workers << " on " << processors;
        // Long enough for threads to fall asleep, or not.
        if (repeat % 10 == 9)
          std::this_thread::sleep_for(
              std::chrono::microseconds(random() % 2000));
      }
    }
}

TEST(WorkerPool, SharesOneProcessor) {
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
  int cpu = 0;
  while (!CPU_ISSET(cpu, &before))
    ++cpu;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
  EXPECT_EQ(usableProcessors(), 1u);
  auto pool = WorkerPool::create(4, false);
  ASSERT_TRUE(pool.isOk());
  // Once the other threads sleep, they are not woken only to wait for a
  // processor.
  bool firstDidAll = false;
  for (int repeat = 0; repeat < 200; ++repeat) {
    CheckedJob job(std::vector<uint32_t>(50, 4));
    job.runOn(**pool);
    EXPECT_EQ(job.errors, 0u);
    firstDidAll |= job.byFirst == 200;
  }
  EXPECT_TRUE(firstDidAll);
  EXPECT_EQ(sched_setaffinity(0, sizeof(before), &before), 0);
}

namespace {
std::binary_semaphore stopped{0}, goOn{0};
void stopHere(int) {
  stopped.release();
  goOn.acquire();
}
} // namespace

TEST(WorkerPool, GoesOnWithoutAThreadThatTheSystemPutAside) {
  auto pool = WorkerPool::create(2, false, 2);
  ASSERT_TRUE(pool.isOk());
  // The share that blocks until the other has begun runs at the same time.
  struct Both {
    std::atomic<uint32_t> there = 0;
    pthread_t threads[2];
  } both;
  auto await = [](void *context, uint32_t, uint32_t begin, uint32_t end,
                  uint32_t runner) {
    Both &b = *static_cast<Both *>(context);
    b.threads[runner] = pthread_self();
    b.there += end - begin;
    while (b.there < 2 && end - begin == 1)
      std::this_thread::yield();
  };
  uint32_t two[] = {2};
  both.threads[1] = pthread_self();
  while (pthread_equal(both.threads[1], pthread_self())) {
    both.there = 0;
    (*pool)->run({two, await, &both});
  }
  struct sigaction action = {}, old;
  action.sa_handler = stopHere;
  ASSERT_EQ(sigaction(SIGUSR1, &action, &old), 0);
  ASSERT_EQ(pthread_kill(both.threads[1], SIGUSR1), 0);
  stopped.acquire();
  CheckedJob job(std::vector<uint32_t>(300, 2));
  job.runOn(**pool);
  EXPECT_EQ(job.errors, 0u);
  EXPECT_EQ(job.byFirst, 600u);
  goOn.release();
  sigaction(SIGUSR1, &old, nullptr);
  CheckedJob after(std::vector<uint32_t>(300, 2));
  after.runOn(**pool);
  EXPECT_EQ(after.errors, 0u);
}

TEST(WorkerPool, TakesNoMoreThreadsThanItsLimit) {
  for (uint32_t workers : {0u, 1025u})
    EXPECT_EQ(WorkerPool::create(workers, false).status().message(),
              "expected 1 to 1024 threads, got " + std::to_string(workers));
}

//===----------------------------------------------------------------------===//
// Quiet times
//===----------------------------------------------------------------------===//

static constexpr uint64_t kMs = 1'000'000;

TEST(WorkerBackoff, AThreadThatIsSeldomAwayStays) {
  WorkerBackoff two(2), many(16);
  // An occasional absence: an I/O thread's work, or a time slice of another
  // program.
  EXPECT_EQ(two.add(1000 * kMs, 1001 * kMs), 0u);
  EXPECT_EQ(two.add(1030 * kMs, 1034 * kMs), 0u);
  EXPECT_EQ(two.add(1050 * kMs, 1054 * kMs), 0u);
  // Two absences in a row.
  EXPECT_EQ(two.add(1058 * kMs, 1061 * kMs), 0u);
  EXPECT_FALSE(two.isQuiet(1061 * kMs));
  // An absence costs more if more threads wait.
  EXPECT_EQ(many.add(1000 * kMs, 1004 * kMs), 0u);
  EXPECT_EQ(many.add(1004 * kMs, 1008 * kMs), 0u);
  EXPECT_EQ(many.add(1008 * kMs, 1012 * kMs), 0u);
  EXPECT_EQ(many.add(1252 * kMs, 1256 * kMs), 0u);
  EXPECT_EQ(many.add(1495 * kMs, 1499 * kMs), 16 * kMs);
}

TEST(WorkerBackoff, AThreadThatIsOftenAwayIsGivenUpForAWhile) {
  WorkerBackoff pool(2);
  uint64_t time = 1000 * kMs;
  EXPECT_EQ(pool.add(time, time), 0u);
  EXPECT_EQ(pool.add(time, time + 8 * kMs), 0u);
  time += 8 * kMs;
  // After each trial of 15 ms the thread is away for 4 ms.
  for (uint64_t times : {4, 8, 16, 16}) {
    time += 19 * kMs;
    EXPECT_EQ(pool.add(time - 4 * kMs, time), times * 4 * kMs);
    EXPECT_TRUE(pool.isQuiet(time + times * 4 * kMs - 1));
    time += times * 4 * kMs;
    EXPECT_FALSE(pool.isQuiet(time));
  }
  EXPECT_EQ(pool.add(time, time + 13 * kMs), 200 * kMs);
  // A successful trial resets the factor.
  time += 300 * kMs;
  EXPECT_EQ(pool.add(time, time + 4 * kMs), 0u);
  EXPECT_EQ(pool.add(time + 4 * kMs, time + 8 * kMs), 0u);
  EXPECT_EQ(pool.add(time + 9 * kMs, time + 13 * kMs), 0u);
  EXPECT_EQ(pool.add(time + 13 * kMs, time + 17 * kMs), 16 * kMs);
}

TEST(WorkerBackoff, TakesTimesThatStandStill) {
  WorkerBackoff pool(2);
  EXPECT_EQ(pool.add(0, 0), 0u);
  EXPECT_EQ(pool.add(5, 5), 0u);
  // Two threads report at the same time.
  EXPECT_EQ(pool.add(3, 4), 0u);
  EXPECT_EQ(pool.add(0, UINT64_MAX / 2), 200 * kMs);
}

/// Returns the long-term speed of a pool whose thread is suspended for
/// `absence` after each `ran`. `without` is the speed without the thread.
static double speedBeside(uint64_t absence, uint64_t ran, uint32_t workers,
                          double without) {
  WorkerBackoff pool(workers);
  double work = 0, time = 0;
  uint64_t now = 1000 * kMs;
  for (int i = -20; i < 200; ++i) {
    now += ran + absence;
    uint64_t quiet = pool.add(now - absence, now);
    now += quiet;
    if (i < 0)
      continue;
    work += double(ran) + double(quiet) * without;
    time += double(ran + absence) + double(quiet);
  }
  return work / time;
}

TEST(WorkerBackoff, LosesLittleAgainstTheBetterWay) {
  for (uint32_t workers : {2u, 4u, 16u})
    for (uint64_t absence : {1 * kMs, 4 * kMs, 12 * kMs})
      for (uint64_t ran = kMs / 8; ran < 4000 * kMs; ran *= 2) {
        double with = double(ran) / double(ran + absence);
        // If a second thread makes the pool 1.25 times as fast, and twice as
        // fast.
        double little = 1 - 1.0 / (4 * workers - 3), much = 1 - 1.0 / workers;
        EXPECT_GE(speedBeside(absence, ran, workers, little),
                  0.94 * std::max(with, little))
            << workers << " threads, " << absence << " of " << ran;
        EXPECT_GE(speedBeside(absence, ran, workers, much),
                  0.65 * std::max(with, much))
            << workers << " threads, " << absence << " of " << ran;
      }
}

//===----------------------------------------------------------------------===//
// Quotas
//===----------------------------------------------------------------------===//

namespace {
/// A fake system in a directory of its own.
class Quota : public testing::Test {
protected:
  void SetUp() override {
    root = testing::TempDir() + "mtp-quota-" + std::to_string(getpid());
    write("proc/self/cgroup", "3:cpuset:/x\n2:cpuacct,cpu:/a/b\n0::/c/d\n");
  }
  void TearDown() override { std::filesystem::remove_all(root); }

  void write(const std::string &path, const std::string &text) {
    std::filesystem::path file(root + "/" + path);
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  void writeVersion1(const std::string &group, const std::string &quota,
                     const std::string &period = "100000\n") {
    write("cgroup/cpu" + group + "/cpu.cfs_quota_us", quota);
    write("cgroup/cpu" + group + "/cpu.cfs_period_us", period);
  }
  std::optional<uint32_t> get() const {
    return quotaProcessors({root + "/proc", root + "/cgroup"});
  }

  std::string root;
};
} // namespace

TEST_F(Quota, NothingThere) {
  EXPECT_EQ(get(), std::nullopt);
  EXPECT_EQ(quotaProcessors({"/nowhere", "/nowhere/at/all"}), std::nullopt);
}

TEST_F(Quota, VersionTwoRoundsUp) {
  write("cgroup/c/d/cpu.max", "150000 100000\n");
  EXPECT_EQ(get(), 2u);
  write("cgroup/c/d/cpu.max", "10000 100000\n");
  EXPECT_EQ(get(), 1u);
  write("cgroup/c/d/cpu.max", "800000 200000\n");
  EXPECT_EQ(get(), 4u);
}

TEST_F(Quota, TheGroupThatGrantsLeastCounts) {
  write("cgroup/c/d/cpu.max", "max 100000\n");
  EXPECT_EQ(get(), std::nullopt);
  write("cgroup/c/cpu.max", "300000 100000\n");
  EXPECT_EQ(get(), 3u);
  write("cgroup/cpu.max", "200000 100000\n");
  EXPECT_EQ(get(), 2u);
  write("cgroup/other/cpu.max", "100000 100000\n");
  EXPECT_EQ(get(), 2u);
}

TEST_F(Quota, VersionOne) {
  writeVersion1("/a/b", "-1\n");
  EXPECT_EQ(get(), std::nullopt);
  writeVersion1("/a/b", "250000\n");
  EXPECT_EQ(get(), 3u);
  writeVersion1("/a", "50000\n", "50000\n");
  EXPECT_EQ(get(), 1u);
  // Both versions at once: the smaller quota counts.
  write("cgroup/unified/c/cpu.max", "700000 100000\n");
  EXPECT_EQ(get(), 1u);
}

TEST_F(Quota, OddContents) {
  for (const char *text :
       {"", "\n", "max", "100000", "0 100000", "100000 0", "-5 100000",
        "100000 -1", "1e5 100000", "99999999999999999999 100000", "x y z"}) {
    write("cgroup/c/d/cpu.max", text);
    EXPECT_EQ(get(), std::nullopt) << text;
  }
  write("cgroup/c/d/cpu.max", "9000000000000000000 1");
  EXPECT_EQ(get(), UINT32_MAX);
  write("cgroup/c/d/cpu.max", "100000 100000");
  for (const char *text :
       {"", "::\n:", "0:\n0\n", "no colon\n", "0::\n", "0::c/d\n", "0::c"}) {
    write("proc/self/cgroup", text);
    EXPECT_EQ(get(), std::nullopt) << text;
  }
  write("proc/self/cgroup", "0::/c/d");
  EXPECT_EQ(get(), 1u);
}
