//===- ScheduleBench.cpp - Waiting times of prompts -----------------------===//
//
// Measures scheduling in milliseconds: on one thread by the process's CPU time,
// or on N threads (--threads=N) by wall time.
//
//   arrivals   Time until the first token of a prompt of 10 tokens: alone, and
//              after 8 prompts of 400 tokens. Also the time until all nine end.
//   beside     The longest step of running sequences while a prompt arrives,
//   the
//              time until its first token, and the time until all end.
//
//   mtp_schedule_bench [--threads=N] ARTIFACT [max-tokens
//   [prefill-budget-ms]]
//
// The fastest of a few turns counts. The artifact needs 9 slots and a context
// of 400 + `max-tokens` tokens.
//
//   mtp_schedule_bench [--threads=N] ARTIFACT steps TOKENS STEP-MILLISECONDS..
//
// This form prints how long steps of four sequences take while a prompt of
// TOKENS tokens arrives, and the total time relative to prompt and sequences
// apart. The prompt's rows run in separate passes and, for each step time, in
// mixed batches.
//
//===----------------------------------------------------------------------===//

#include "runtime/exec/SessionFactory.h"
#include "test/Runtime/support/BenchSupport.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string>

using namespace mtp;
using namespace mtp::test;

static constexpr int kTurns = 4;

/// Clock of the benchmark. The process's CPU time has no meaning for several
/// threads.
static clockid_t benchClock = CLOCK_PROCESS_CPUTIME_ID;

static double benchSeconds() { return secondsOf(benchClock); }

namespace {

class Bench {
public:
  Bench(std::shared_ptr<const Model> model, const SessionOptions &options)
      : vocab(model->envelope()->vocab),
        session(get(SessionFactory::create(std::move(model), options,
                                           {.clock = benchSeconds}))) {}

  SequenceId add(uint32_t tokens, uint32_t maxTokens) {
    Request request;
    for (uint32_t i = 0; i < tokens; ++i) {
      state = state * 1664525 + 1013904223;
      request.prompt.push_back(int32_t((state >> 8) % vocab));
    }
    request.maxTokens = maxTokens;
    request.ignoreEos = true;
    return get(session->add(request));
  }

  /// Returns the duration of a step.
  double step() {
    double begin = benchSeconds();
    get(session->step());
    return benchSeconds() - begin;
  }

  /// Returns the seconds until a sequence has its first token; `longest` is the
  /// longest step.
  double runTo(SequenceId id, double &longest) {
    double all = 0;
    for (longest = 0; get(session->output(id)).empty();) {
      double time = step();
      longest = std::max(longest, time);
      all += time;
    }
    return all;
  }

  double runAll() {
    double all = 0;
    while (!session->idle())
      all += step();
    return all;
  }

  /// Returns the duration of each step until a sequence has its first token.
  std::vector<double> stepsTo(SequenceId id) {
    std::vector<double> times;
    while (get(session->output(id)).empty())
      times.push_back(step());
    return times;
  }

private:
  uint32_t vocab, state = 1;
  std::unique_ptr<Session> session;
};

} // namespace

static void measureArrivals(Bench &bench, uint32_t maxTokens) {
  double alone = 1e9, behind = 1e9, total = 1e9, longest;
  for (int turn = 0; turn < kTurns; ++turn) {
    alone = std::min(alone, bench.runTo(bench.add(10, maxTokens), longest));
    bench.runAll();
    for (int i = 0; i < 8; ++i)
      bench.add(400, maxTokens);
    double first = bench.runTo(bench.add(10, maxTokens), longest);
    behind = std::min(behind, first);
    total = std::min(total, first + bench.runAll());
  }
  std::printf("arrivals: first token %.1f alone, %.1f behind 8 prompts of 400 "
              "(%.1f times); all nine %.1f\n",
              alone * 1e3, behind * 1e3, behind / alone, total * 1e3);
}

static void measureMixed(Bench &bench, uint32_t running, uint32_t tokens) {
  double longest = 1e9, first = 1e9, total = 1e9, round = 1e9;
  for (int turn = 0; turn < kTurns; ++turn) {
    double all = 0, most;
    for (uint32_t i = 0; i < running; ++i)
      bench.add(10, 200);
    for (int i = 0; i < 8; ++i) {
      double time = bench.step();
      all += time;
      if (i > 4)
        round = std::min(round, time);
    }
    double time = bench.runTo(bench.add(tokens, 4), most);
    longest = std::min(longest, most);
    first = std::min(first, time);
    total = std::min(total, all + time + bench.runAll());
  }
  std::printf("beside %u: a round %.1f; with a prompt of %u the longest step "
              "%.1f, its first token %.1f, all %.1f\n",
              running, round * 1e3, tokens, longest * 1e3, first * 1e3,
              total * 1e3);
}

static void measureSteps(const std::shared_ptr<const Model> &model,
                         const SessionOptions &options, uint32_t tokens) {
  constexpr uint32_t kRunning = 4, kLength = 200;
  constexpr int kStepTurns = 3;
  double apart = 1e9, together = 1e9;
  std::vector<double> steps;
  Bench bench(model, options);
  auto start = [&] {
    double time = 0;
    for (uint32_t i = 0; i < kRunning; ++i)
      bench.add(10, kLength);
    for (int i = 0; i < 8; ++i)
      time += bench.step();
    return time;
  };
  for (int turn = 0; turn < kStepTurns; ++turn) {
    bench.add(tokens, 1);
    double alone = bench.runAll();
    alone += start();
    apart = std::min(apart, alone + bench.runAll());
    double both = start();
    std::vector<double> times = bench.stepsTo(bench.add(tokens, 1));
    both += std::accumulate(times.begin(), times.end(), bench.runAll());
    together = std::min(together, both);
    // The first turn is a warm-up for the cost models.
    if (turn > 0)
      steps.insert(steps.end(), times.begin(), times.end());
  }
  std::ranges::sort(steps);
  auto share = [&](double part) {
    return steps[size_t(part * double(steps.size() - 1))] * 1e3;
  };
  std::string name =
      options.separatePrompts
          ? "separate"
          : "step of " + std::to_string(options.stepMilliseconds);
  std::printf("%s: steps with a prompt of %u p50 %.1f, p99 %.1f; all %.0f, "
              "apart %.0f (%.3f)\n",
              name.c_str(), tokens, share(0.5), share(0.99), together * 1e3,
              apart * 1e3, together / apart);
}

static int measureAllSteps(const std::shared_ptr<const Model> &model,
                           SessionOptions options, int argc, char **argv) {
  options.maxSlots = 5;
  options.separatePrompts = true;
  uint32_t tokens = uint32_t(std::atoi(argv[0]));
  measureSteps(model, options, tokens);
  options.separatePrompts = false;
  for (int i = 1; i < argc; ++i) {
    options.stepMilliseconds = uint32_t(std::atoi(argv[i]));
    measureSteps(model, options, tokens);
  }
  return 0;
}

int main(int argc, char **argv) {
  SessionOptions options;
  options.threads = 1;
  options.prefixCache = false;
  constexpr std::string_view kThreads = "--threads=";
  if (argc > 1 && std::string_view(argv[1]).starts_with(kThreads)) {
    options.threads = uint32_t(std::atoi(argv[1] + kThreads.size()));
    benchClock = options.threads > 1 ? CLOCK_MONOTONIC : benchClock;
    --argc;
    ++argv;
  }
  if (argc < 2)
    return std::fprintf(stderr, "usage: mtp_schedule_bench [--threads=N] "
                                "ARTIFACT [max-tokens [prefill-budget-ms]]\n"
                                "       mtp_schedule_bench [--threads=N] "
                                "ARTIFACT steps TOKENS STEP-MILLISECONDS..\n"),
           2;
  std::shared_ptr<const Model> model = get(Model::load(argv[1]));
  if (argc > 3 && std::string_view(argv[2]) == "steps")
    return measureAllSteps(model, options, argc - 3, argv + 3);
  if (argc > 3)
    options.promptMilliseconds = uint32_t(std::atoi(argv[3]));
  Bench bench(model, options);
  measureArrivals(bench, argc > 2 ? uint32_t(std::atoi(argv[2])) : 16);
  for (uint32_t running : {1u, 4u})
    for (uint32_t tokens : {400u, 1900u})
      if (tokens + 4 <= model->envelope()->maxContext)
        measureMixed(bench, running, tokens);
  return 0;
}
