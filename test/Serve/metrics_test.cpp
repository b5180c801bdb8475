//===- metrics_test.cpp - Numbers for Prometheus --------------------------===//

#include "tools/mtp-serve/engine/Metrics.h"

#include <gtest/gtest.h>
#include <thread>

using namespace mtp;
using namespace mtp::serve;

/// Returns whether the text has this value of a metric, for the model "m".
static bool has(const Metrics &metrics, const std::string &name,
                const std::string &value) {
  std::string line = "\n" + name + "{model_name=\"m\"} " + value + "\n";
  return metrics.text().find(line) != std::string::npos;
}

// Counters grow by the difference; bytes are the current ones.
TEST(Metrics, CopiesOfRecurrentStatesAreCounted) {
  Metrics metrics("m");
  EngineState state;
  Statistics &s = state.statistics;
  s.snapshots = 7;
  s.droppedSnapshots = 2;
  s.snapshotBytes = 4096;
  s.restoredSnapshots = 5;
  s.restoredPreemptions = 3;
  metrics.setState(state);
  EXPECT_TRUE(has(metrics, "mtp:snapshots_stored_total", "7"))
      << metrics.text();
  EXPECT_TRUE(has(metrics, "mtp:snapshots_dropped_total", "2"));
  EXPECT_TRUE(has(metrics, "mtp:snapshot_bytes", "4096"));
  EXPECT_TRUE(has(metrics, "mtp:snapshots_restored_total", "5"));
  EXPECT_TRUE(has(metrics, "mtp:preemptions_restored_total", "3"));
  s.snapshots = 8;
  s.droppedSnapshots = 6;
  s.snapshotBytes = 1024;
  metrics.setState(state);
  EXPECT_TRUE(has(metrics, "mtp:snapshots_stored_total", "8"));
  EXPECT_TRUE(has(metrics, "mtp:snapshots_dropped_total", "6"));
  EXPECT_TRUE(has(metrics, "mtp:snapshot_bytes", "1024"));
  EXPECT_TRUE(has(metrics, "mtp:snapshots_restored_total", "5"));
}

static double heapBytes(const Metrics &metrics) {
  std::string text = metrics.text();
  std::string name = "\nmtp:heap_bytes{model_name=\"m\"} ";
  size_t at = text.find(name);
  return at == text.npos ? -1 : std::atof(text.c_str() + at + name.size());
}

// Sanitizers have allocators of their own.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define MTP_OTHER_ALLOCATOR
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MTP_OTHER_ALLOCATOR
#endif

// Small and large allocations, from any thread.
TEST(Metrics, WhatIsAllocatedIsCountedUntilItIsFreed) {
#ifdef MTP_OTHER_ALLOCATOR
  GTEST_SKIP() << "the allocator is not the C library's";
#endif
  Metrics metrics("m");
  heapBytes(metrics);
  double before = heapBytes(metrics);
  ASSERT_GT(before, 0);
  std::vector<std::unique_ptr<char[]>> all;
  std::thread other([&] {
    for (int i = 0; i < 1000; ++i)
      all.push_back(std::make_unique<char[]>(100));
  });
  other.join();
  all.push_back(std::make_unique<char[]>(8 << 20));
  double most = heapBytes(metrics);
  EXPECT_GE(most - before, (8 << 20) + 100000);
  EXPECT_LT(most - before, (8 << 20) + 300000);
  all.clear();
  EXPECT_LT(heapBytes(metrics) - before, 50000);
}
