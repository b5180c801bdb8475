//===- metrics_test.cpp - Numbers for Prometheus --------------------------===//

#include "tools/mtp-serve/Metrics.h"

#include <gtest/gtest.h>

using namespace mtp;
using namespace mtp::serve;

/// Whether the text has the number under that name, of the model "m".
static bool has(const Metrics &metrics, const std::string &name,
                const std::string &value) {
  std::string line = "\n" + name + "{model_name=\"m\"} " + value + "\n";
  return metrics.text().find(line) != std::string::npos;
}

// Counters grow by what is new, and bytes are those of now.
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
