//===- program_runner_test.cpp - Programs at any context and acceptance ---===//

#include "test/Runtime/support/FakeModel.h"
#include "tools/mtp-bench/measure/Measure.h"
#include "tools/mtp-bench/measure/ProgramRunner.h"

#include <cstring>
#include <gtest/gtest.h>

using namespace mtp;
using namespace mtp::bench;
using namespace mtp::test;

namespace {

std::unique_ptr<ProgramRunner> makeRunner(uint32_t slots,
                                          const FakeOptions &options = {}) {
  auto runner =
      ProgramRunner::create(loadFakeModel(options), slots, 2, false, 1);
  EXPECT_TRUE(runner.isOk()) << runner.status().toString();
  return std::move(*runner);
}

std::vector<int32_t> generate(ProgramRunner &runner, uint32_t slots, uint32_t k,
                              size_t count) {
  runner.activate(slots);
  std::vector<int32_t> tokens;
  while (tokens.size() < count) {
    EXPECT_TRUE(runner.run(runner.programs().decode(slots, k), slots).isOk());
    std::span<const int32_t> round = runner.emitted(slots - 1);
    tokens.insert(tokens.end(), round.begin(), round.end());
  }
  tokens.resize(count);
  return tokens;
}

/// Returns the words of a state from saved states.
std::vector<int32_t> words(ProgramRunner &runner, std::string_view name) {
  std::vector<uint8_t> saved = runner.saveStates();
  size_t at = 0;
  for (const State &state : runner.artifact().states) {
    if (state.name == name) {
      std::vector<int32_t> values(state.bytes / 4);
      std::memcpy(values.data(), saved.data() + at, state.bytes);
      return values;
    }
    at += state.bytes;
  }
  ADD_FAILURE() << "no state " << name;
  return {};
}

} // namespace

TEST(ProgramRunner, GeneratesWhatASessionDoes) {
  Request request;
  request.prompt = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3};
  request.maxTokens = 20;
  std::vector<int32_t> expected = expectedOutput(request).tokens;
  for (uint32_t k : {0u, 2u, 4u}) {
    std::unique_ptr<ProgramRunner> runner = makeRunner(2);
    for (uint32_t slot : {0u, 1u})
      ASSERT_TRUE(runner->prefill(slot, request.prompt, true).isOk());
    std::vector<int32_t> tokens = {runner->emitted(1)[0]};
    std::vector<uint8_t> start = runner->saveStates();
    std::vector<int32_t> rest = generate(*runner, 2, k, 19);
    tokens.insert(tokens.end(), rest.begin(), rest.end());
    EXPECT_EQ(tokens, expected) << "k = " << k;
    // From the prompt's end again, the output is equal.
    runner->restoreStates(start);
    EXPECT_EQ(generate(*runner, 2, k, 19), rest);
  }
}

TEST(ProgramRunner, RepeatsTokens) {
  std::unique_ptr<ProgramRunner> runner = makeRunner(2);
  runner->repeatTokens(7);
  runner->activate(2);
  runner->place(1, /*context=*/40, /*accepted=*/2);
  // The anchor, the last token of the round's output, is at position 39.
  std::vector<int32_t> window = words(*runner, "window");
  size_t row = runner->model().envelope()->maxK + 1;
  for (size_t i = 0; i < 3; ++i)
    EXPECT_EQ(window[row + i], int32_t((37 + i) % 7));
}

TEST(ProgramRunner, PlacesASlotBehindARound) {
  std::unique_ptr<ProgramRunner> runner = makeRunner(3);
  runner->activate(3);
  runner->place(1, /*context=*/40, /*accepted=*/2);
  EXPECT_EQ(words(*runner, "length")[1], 39);
  EXPECT_EQ(words(*runner, "accepted")[1], 2);
  for (int32_t token : words(*runner, "window")) {
    EXPECT_GE(token, 0);
    EXPECT_LT(uint32_t(token), runner->model().envelope()->vocab);
  }
  // A round runs from there, and the slots are placed there again.
  for (int repeat = 0; repeat < 2; ++repeat) {
    for (uint32_t slot = 0; slot < 3; ++slot)
      runner->place(slot, 40, repeat);
    ASSERT_TRUE(runner->run(runner->programs().decode(3, 4), 3).isOk());
    size_t emitted = runner->emitted(1).size();
    ASSERT_GE(emitted, 1u);
    EXPECT_EQ(words(*runner, "length")[1], 39 + int32_t(emitted));
  }
}

TEST(ProgramRunner, LetsSlotsVerifyFewerDrafts) {
  FakeOptions fake;
  fake.hasLimit = true;
  std::unique_ptr<ProgramRunner> runner = makeRunner(3, fake);
  for (uint32_t slot = 0; slot < 3; ++slot)
    runner->place(slot, 40, /*accepted=*/0, /*limit=*/2 * slot);
  std::vector<int32_t> limits = words(*runner, "draft_limit");
  ASSERT_GE(limits.size(), 3u);
  EXPECT_EQ(std::vector<int32_t>(limits.begin(), limits.begin() + 3),
            (std::vector<int32_t>{0, 2, 4}));
}

TEST(ProgramRunner, MeasuresEveryPointThatWasAskedFor) {
  std::unique_ptr<ProgramRunner> runner = makeRunner(4);
  Options options;
  options.turns = options.rounds = 2;
  ASSERT_TRUE(settle(options, runner->model().envelope()).isOk());
  auto machine = Machine::create(2, false);
  ASSERT_TRUE(machine.isOk());
  Results results;
  results.points = choosePoints(options, *runner->model().envelope());
  ASSERT_TRUE(measurePoints(*runner, options, **machine, results).isOk());
  EXPECT_EQ(results.machine.size(), 2u);
  for (uint32_t k = 0; k <= 4; ++k)
    EXPECT_NE(results.find(1, k, options.contexts[0]), nullptr);
  EXPECT_NE(results.find(4, 0, options.contexts[0]), nullptr);
  for (const Point &point : results.points) {
    EXPECT_EQ(point.seconds.size(), 2u);
    EXPECT_EQ(point.targetSeconds.size(), 2u);
    EXPECT_EQ(point.sample.commands(), point.commands.size());
    EXPECT_EQ(point.sample.workers(), 2u);
  }
  std::vector<SpeculativeResult> compared = compareRounds(results, options);
  ASSERT_EQ(compared.size(), 5u);
  EXPECT_EQ(compared[0].ratio, 1);
  EXPECT_EQ(compared[0].speedup, 1);
  EXPECT_TRUE(std::isnan(compared[1].speedup));
  options.acceptance = {0.5};
  EXPECT_EQ(compareRounds(results, options)[3].acceptanceLength, 1.5);
}

TEST(ProgramRunner, TheFastestIsOneRunOfEachTurn) {
  std::unique_ptr<ProgramRunner> runner = makeRunner(4);
  Options options;
  options.turns = 2;
  options.rounds = 6;
  options.acceptance = {0.5, 0.5};
  ASSERT_TRUE(settle(options, runner->model().envelope()).isOk());
  auto machine = Machine::create(2, false);
  ASSERT_TRUE(machine.isOk());
  for (Estimate estimate : {Estimate::Median, Estimate::Fastest}) {
    options.estimate = estimate;
    Results results;
    results.points = choosePoints(options, *runner->model().envelope());
    ASSERT_TRUE(measurePoints(*runner, options, **machine, results).isOk());
    for (const Point &point : results.points) {
      EXPECT_EQ(point.rounds, 12u);
      EXPECT_EQ(point.fastest.size(), 3u);
      EXPECT_EQ(point.fastest[0] == estimateSeconds(point.seconds, estimate),
                estimate == Estimate::Fastest);
      EXPECT_EQ(point.seconds.size(), 2u);
      EXPECT_EQ(point.targetSeconds.size(), 2u);
      EXPECT_EQ(point.sample.commands(), point.commands.size());
    }
    // Only the fastest estimate repeats a prompt within a turn.
    ASSERT_TRUE(measurePrefills(*runner, options, results).isOk());
    for (const PrefillResult &prefill : results.prefills) {
      EXPECT_EQ(prefill.rounds, estimate == Estimate::Fastest ? 12u : 2u);
      EXPECT_EQ(prefill.seconds.size(), 2u);
    }
    // The model has no recurrent layers, and so nothing to copy.
    EXPECT_TRUE(results.snapshotSeconds.empty());
  }
}

TEST(ProgramRunner, RAtTheLimitIsThatOfTheLimits) {
  Options options;
  options.batches = {1};
  options.contexts = {64};
  options.ks = {0, 2};
  Results results;
  results.rates.bytes = 10;
  results.rates.ops = {1, 1, 1};
  for (uint32_t k : options.ks) {
    Point &point = results.points.emplace_back();
    point.k = k;
    point.context = 64;
    point.seconds = {2.0 + k};
    // The target takes at least 4 seconds, each draft one.
    point.commands.resize(2);
    point.commands[0].work.weightBytes = 40;
    point.commands[1].work.ops = k;
  }
  std::vector<SpeculativeResult> compared = compareRounds(results, options);
  ASSERT_EQ(compared.size(), 2u);
  EXPECT_EQ(compared[0].limitRatio, 1);
  EXPECT_EQ(compared[1].limitRatio, 1.5);
  EXPECT_EQ(compared[1].ratio, 2);
}

TEST(Options, ATurnGoesOnUntilItHasToldSomething) {
  Options options;
  auto goesOn = [&](const std::vector<double> &runs,
                    const std::vector<double> &before = {}) {
    return needsAnotherRun(options, runs, before);
  };
  // A turn lasts a tenth of a second, with lower and upper limits on the runs.
  EXPECT_TRUE(goesOn({}));
  EXPECT_TRUE(goesOn({1, 1}));
  EXPECT_FALSE(goesOn({1, 2, 3}));
  EXPECT_TRUE(goesOn({0.03, 0.03, 0.03}));
  EXPECT_TRUE(goesOn(std::vector<double>(199, 1e-6)));
  EXPECT_FALSE(goesOn(std::vector<double>(200, 1e-6)));
  // The fastest run must come again, but within a limit.
  options.estimate = Estimate::Fastest;
  EXPECT_FALSE(goesOn({0.05, 0.05, 0.05}));
  EXPECT_TRUE(goesOn({0.05, 0.06, 0.07}));
  EXPECT_FALSE(goesOn({0.5, 1, 1.5}));
  EXPECT_TRUE(goesOn(std::vector<double>(300, 1e-6)));
  EXPECT_FALSE(goesOn(std::vector<double>(2000, 1e-6)));
  // Runs of earlier turns count, too.
  EXPECT_FALSE(goesOn({0.06, 0.07, 0.08}, {0.05, 0.05, 0.05}));
  EXPECT_TRUE(goesOn({0.04, 0.07, 0.08}, {0.05, 0.05, 0.05}));
  options.rounds = 2;
  EXPECT_TRUE(goesOn({1}));
  EXPECT_FALSE(goesOn({1, 2}));
}

TEST(Options, TheFastestOfAllTurnsAreKept) {
  std::vector<double> fastest;
  keepFastest(fastest, {5, 2});
  EXPECT_EQ(fastest, (std::vector<double>{2, 5}));
  keepFastest(fastest, {3, 1, 4});
  EXPECT_EQ(fastest, (std::vector<double>{1, 2, 3}));
}

TEST(Options, AreCheckedAgainstTheEnvelope) {
  EnvelopeInfo e;
  e.maxK = 2;
  e.maxBatch = 4;
  e.maxContext = 64;
  e.modules = 1;
  e.vocab = 100;
  auto refused = [&](auto change) {
    Options options;
    options.tokens = 8;
    change(options);
    Status status = settle(options, &e);
    EXPECT_FALSE(status.isOk());
    return std::string(status.message());
  };
  EXPECT_EQ(refused([](Options &o) { o.batches = {1, 5}; }),
            "--batch: expected 1 to 4 (the envelope's batch), got 5");
  EXPECT_EQ(refused([](Options &o) { o.contexts = {65}; }),
            "--context: expected 4 to 64 (the envelope's context), got 65");
  EXPECT_EQ(refused([](Options &o) { o.contexts = {3}; }),
            "--context: expected 4 to 64 (the envelope's context), got 3");
  EXPECT_EQ(refused([](Options &o) { o.ids = {1, 100}; }),
            "--ids: expected tokens of 0 to 99 (the vocabulary), got 100");
  EXPECT_EQ(refused([](Options &o) { o.ids.assign(57, 1); }),
            "--ids: expected at most 64 tokens with --max-tokens (the "
            "envelope's context), got 57 and 8");
  EXPECT_EQ(refused([](Options &o) {
              o.ids = {1};
              o.estimate = Estimate::Fastest;
            }),
            "--estimate: expected median with --ids (rounds of a text differ "
            "in their work), got fastest");
  Options options;
  options.tokens = 8;
  ASSERT_TRUE(settle(options, &e).isOk());
  EXPECT_EQ(options.ks, (std::vector<uint32_t>{0, 1, 2}));
  EXPECT_EQ(options.contexts, std::vector<uint32_t>{32});
  EXPECT_FALSE(settle(options, nullptr).isOk());
}
