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

TEST(Metrics, PaddingSlotsAreCounted) {
  Metrics metrics("m");
  EngineState state;
  state.statistics.paddedRounds = 3;
  state.statistics.paddingSlots = 7;
  metrics.setState(state);
  state.statistics.paddedRounds = 4;
  state.statistics.paddingSlots = 9;
  metrics.setState(state);
  EXPECT_TRUE(has(metrics, "mtp:rounds_padded_total", "4")) << metrics.text();
  EXPECT_TRUE(has(metrics, "mtp:padding_slots_total", "9"));
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

// Times are measured from the request to the slot, the first token and the
// last one.
TEST(Metrics, TimesOfRequestsAddUp) {
  CacheConfig cache = {16, 100, true};
  Metrics metrics("m", cache);
  Clock::time_point begin;
  auto after = [&](int tenths) {
    return begin + std::chrono::milliseconds(100 * tenths);
  };
  metrics.submitted(1, {7, 50, 2}, begin);
  EngineEvent event;
  event.handle = 1;
  event.admitted = after(4);
  metrics.taken(event, FinishReason::None, after(5));
  event.admitted = {};
  event.tokens = {1};
  metrics.taken(event, FinishReason::None, after(10));
  event.tokens = {2, 3};
  metrics.taken(event, FinishReason::Length, after(30));
  const std::string v = "vllm:request_";
  for (const auto &[name, value] :
       std::vector<std::pair<std::string, const char *>>{
           {v + "queue_time_seconds_sum", "0.4"},
           {v + "prefill_time_seconds_sum", "0.6"},
           {v + "decode_time_seconds_sum", "2"},
           {v + "inference_time_seconds_sum", "2.6"},
           {v + "time_per_output_token_seconds_sum", "1"},
           {v + "prompt_tokens_sum", "7"},
           {v + "generation_tokens_sum", "3"},
           {v + "max_num_generation_tokens_sum", "3"},
           {v + "params_max_tokens_sum", "50"},
           {v + "params_n_sum", "2"},
           {"llamacpp:n_tokens_max", "10"}})
    EXPECT_TRUE(has(metrics, name, value)) << name << metrics.text();
  EXPECT_NE(metrics.text().find("vllm:cache_config_info{block_size=\"16\","),
            std::string::npos);
}

TEST(Metrics, HasLlamaServersNames) {
  Metrics metrics("m");
  EngineState state;
  Statistics &s = state.statistics;
  s.prefillTokens = 30;
  s.prefillSeconds = 0.5;
  s.prefillChunks = 2;
  s.outputTokens = 21;
  s.decodeTokens = 20;
  s.decodeSeconds = 0.25;
  s.rounds = 8;
  s.slotRounds = 12;
  state.running = 3;
  state.waiting = 4;
  metrics.setState(state);
  for (auto [name, value] : std::vector<std::pair<const char *, const char *>>{
           {"prompt_tokens_total", "30"},
           {"prompt_seconds_total", "0.5"},
           {"prompt_tokens_seconds", "60"},
           {"tokens_predicted_total", "21"},
           {"tokens_predicted_seconds_total", "0.25"},
           {"predicted_tokens_seconds", "80"},
           {"n_decode_total", "10"},
           {"n_busy_slots_per_decode", "1.5"},
           {"requests_processing", "3"},
           {"requests_deferred", "4"}})
    EXPECT_TRUE(has(metrics, std::string("llamacpp:") + name, value))
        << name << metrics.text();
}
