//===- arrivals_test.cpp - What the scheduler promises --------------------===//
//
// A million steps of the real scheduler and planners over random arrivals. Each
// step checks the table.
//
//===----------------------------------------------------------------------===//

#include "support/ArrivalSimulator.h"

#include <gtest/gtest.h>

using namespace mtp;
using namespace mtp::test;

namespace {

constexpr uint64_t kSteps = 250'000;

/// Steps until all sequences have ended.
void drain(ArrivalSimulator &simulator) {
  for (uint64_t step = 0; !simulator.sequences().isIdle(); ++step) {
    ASSERT_TRUE(simulator.step().isOk());
    ASSERT_LT(step, kSteps);
  }
  EXPECT_TRUE(simulator.sequences().all().empty());
}

/// Counts for each prompt the tokens of later prompts that were computed while
/// it had a slot.
class LaterTokens {
public:
  explicit LaterTokens(ArrivalSimulator &simulator) : simulator(simulator) {
    simulator.onRows = [this](const Sequence &sequence, uint32_t rows) {
      note(sequence, rows);
    };
  }
  /// Largest wait of a prompt, as a share of the promised limit.
  double worst = 0;
  uint64_t prompts = 0;

private:
  void note(const Sequence &sequence, uint32_t rows) {
    const SequenceTable &table = simulator.sequences();
    for (SequenceId id : table.prefilling())
      if (id < sequence.id)
        later[id] += rows;
    if (sequence.residency->rest() > 0)
      return;
    double promised = double(8 + table.freeSlots() + table.admitted().size()) *
                      double(sequence.residency->context.size());
    worst = std::max(worst, double(later[sequence.id]) / promised);
    later.erase(sequence.id);
    ++prompts;
  }

  ArrivalSimulator &simulator;
  std::map<SequenceId, uint64_t> later;
};

} // namespace

TEST(Arrivals, APromptWaitsForABoundedNumberOfLaterTokens) {
  for (uint32_t chunksPerStep : {0u, 1u}) {
    ArrivalSimulator::Options options;
    options.shapes.slots = 8;
    options.shapes.chunk = 16;
    options.session.chunksPerStep = chunksPerStep;
    ArrivalSimulator simulator(options);
    LaterTokens later(simulator);
    // Short prompts come all the time, and now and then a long one.
    for (uint64_t step = 0; step < kSteps; ++step) {
      while (simulator.sequences().waiting().size() < 8)
        simulator.add(simulator.pick(0, 50) ? simulator.pick(1, 20)
                                            : simulator.pick(100, 900),
                      /*maxTokens=*/1);
      ASSERT_TRUE(simulator.step().isOk());
    }
    EXPECT_GT(later.prompts, kSteps / 4);
    EXPECT_GT(later.worst, 0.3);
    EXPECT_LE(later.worst, 1);
    drain(simulator);
  }
}

TEST(Arrivals, GroupsGetEqualShares) {
  ArrivalSimulator::Options options;
  options.shapes.slots = 4;
  ArrivalSimulator simulator(options);
  std::map<uint64_t, uint64_t> tokens, waiting;
  simulator.onEnd = [&](const Sequence &sequence) {
    const Request &request = sequence.request;
    tokens[request.group] += request.prompt.size() + request.maxTokens;
    --waiting[request.group];
  };
  // Group 1 has a few large requests, group 2 many small ones, and group 3 is
  // there in the second half only.
  auto fill = [&](uint64_t group, uint32_t size, uint64_t count) {
    for (; waiting[group] < count; ++waiting[group])
      simulator.add(simulator.pick(1, size), simulator.pick(1, size), 0, group);
  };
  std::map<uint64_t, uint64_t> half;
  for (uint64_t step = 0; step < kSteps; ++step) {
    fill(1, 200, 6);
    fill(2, 20, 60);
    if (step == kSteps / 2)
      half = tokens;
    if (step >= kSteps / 2)
      fill(3, 60, 12);
    ASSERT_TRUE(simulator.step().isOk());
  }
  // Every slot may hold the largest request of a group that was first.
  double most = 4 * 400 + 400;
  EXPECT_GT(half[1], 50 * most);
  EXPECT_NEAR(double(half[1]), double(half[2]), most);
  EXPECT_NEAR(double(tokens[1] - half[1]), double(tokens[2] - half[2]),
              2 * most);
  // A group that was away has nothing to make up for.
  EXPECT_NEAR(double(tokens[1] - half[1]), double(tokens[3]), 2 * most);
}

TEST(Arrivals, NoSequenceStarvesWherePagesAreShort) {
  ArrivalSimulator::Options options;
  options.shapes.slots = 6;
  options.pages = 40;
  ArrivalSimulator simulator(options);
  // In one group and priority the oldest sequence is never preempted. It ends
  // after the passes of its prompt and one round for each token. Each pass of
  // its prompt has at most 24 tokens of others before each of its own.
  SequenceId oldest = 0;
  uint64_t since = 0, longest = 0, ended = 0;
  simulator.onEnd = [&](const Sequence &) { ++ended; };
  for (uint64_t step = 0; step < kSteps; ++step) {
    if (simulator.sequences().waiting().size() < 20)
      simulator.add(simulator.pick(1, 300), simulator.pick(1, 200));
    ASSERT_TRUE(simulator.step().isOk());
    SequenceId first = simulator.sequences().all().begin()->first;
    if (std::exchange(oldest, first) != first)
      since = step;
    longest = std::max(longest, step - since);
    ASSERT_LE(simulator.freePages(), options.pages);
  }
  EXPECT_GT(simulator.preemptions(), 1000u);
  EXPECT_GT(ended, 1000u);
  EXPECT_LE(longest, 600u);
  drain(simulator);
  EXPECT_EQ(simulator.freePages(), options.pages);
}

TEST(Arrivals, UrgentSequencesNeverWaitForOthers) {
  ArrivalSimulator::Options options;
  options.shapes.slots = 4;
  options.pages = 60;
  ArrivalSimulator simulator(options);
  uint64_t checked = 0;
  simulator.onAdmission = [&] {
    const SequenceTable &table = simulator.sequences();
    int32_t first = INT32_MAX;
    for (SequenceId id : table.waiting())
      first = std::min(first, table.at(id).request.priority);
    for (SequenceId id : table.admitted())
      EXPECT_LE(table.at(id).request.priority, first);
    checked += first == 0;
  };
  for (uint64_t step = 0; step < kSteps; ++step) {
    if (simulator.sequences().waiting().size() < 10)
      simulator.add(simulator.pick(1, 200), simulator.pick(1, 60),
                    simulator.pick(0, 1));
    ASSERT_TRUE(simulator.step().isOk());
  }
  EXPECT_GT(checked, 100u);
  EXPECT_GT(simulator.preemptions(), 1000u);
  drain(simulator);
}
