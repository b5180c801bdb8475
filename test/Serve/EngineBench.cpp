//===- EngineBench.cpp - Time of a step outside the programs --------------===//
//
//   mtp_engine_bench ARTIFACT [SLOTS [K]]
//
// Prints the processor time of the engine's thread between two reports, without
// the time of programs: taking commands, scheduling, pages, drafts, updates,
// the report. All slots are in use, and each ended sequence is replaced by
// another, so that steps admit, prefill and end sequences as a server's steps
// do.
//
//===----------------------------------------------------------------------===//

#include "runtime/exec/SessionFactory.h"
#include "test/Runtime/support/BenchSupport.h"
#include "test/Runtime/support/ForwardingExecutable.h"
#include "tools/mtp-serve/engine/Engine.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <future>

using namespace mtp;
using namespace mtp::serve;
using namespace mtp::test;

static constexpr size_t kSteps = 4000, kWarmUp = 500;

static double threadSeconds() { return secondsOf(CLOCK_THREAD_CPUTIME_ID); }

namespace {

/// Counts the thread's time in programs.
class CountedExecutable : public ForwardingExecutable {
public:
  CountedExecutable(std::unique_ptr<Executable> inner, double &seconds)
      : ForwardingExecutable(std::move(inner)), seconds(seconds) {}

  Status run(uint32_t program, uint32_t n) override {
    return counted([&] { return inner->run(program, n); });
  }
  Status runPart(uint32_t program, uint32_t n, Part part) override {
    return counted([&] { return inner->runPart(program, n, part); });
  }
  Status startRounds(uint32_t program, uint32_t n) override {
    return counted([&] { return inner->startRounds(program, n); });
  }
  Result<Progress> awaitRounds(uint32_t seen) override {
    return counted([&] { return inner->awaitRounds(seen); });
  }

private:
  template <typename Call>
  auto counted(Call call) -> decltype(call()) {
    double begin = threadSeconds();
    auto result = call();
    seconds += threadSeconds() - begin;
    return result;
  }

  double &seconds;
};

/// Keeps an engine busy, and records the duration of each step.
class Bench {
public:
  Bench(std::shared_ptr<const Model> model, const SessionOptions &options)
      : vocab(model->envelope()->vocab),
        maxContext(model->envelope()->maxContext) {
    SessionSetup setup;
    setup.device = [this](std::unique_ptr<Executable> loaded) {
      return std::make_unique<CountedExecutable>(std::move(loaded), programs);
    };
    auto session =
        get(SessionFactory::create(std::move(model), options, setup));
    completed = session->options();
    engine.emplace(std::move(session),
                   [this](const EngineReport &report) { take(report); });
  }

  /// Returns the options with defaults filled in.
  const SessionOptions &options() const { return completed; }

  std::vector<double> run(uint32_t slots) {
    for (uint32_t i = 0; i < slots; ++i)
      submit();
    done.get_future().wait();
    engine.reset();
    return std::move(times);
  }

private:
  void submit() {
    Request request;
    // Lengths and tokens vary, and are equal in each run.
    uint64_t number = next++;
    uint32_t length = 8 + uint32_t(number * 7 % 25);
    for (uint32_t t = 0; t < length; ++t)
      request.prompt.push_back(int32_t((number * 31 + t * t) % vocab));
    uint32_t most = std::min(maxContext - length, 100u);
    request.maxTokens = most / 2 + uint32_t(number * 13 % (most / 2));
    request.ignoreEos = true;
    request.sampling.temperature = number % 2 ? 0.8f : 0;
    request.sampling.seed = number;
    engine->submit(number, std::move(request));
  }

  /// Called on the engine's thread.
  void take(const EngineReport &report) {
    double now = threadSeconds();
    if (++steps > kWarmUp && times.size() < kSteps)
      times.push_back(now - last - (programs - counted));
    bool isOver = times.size() == kSteps;
    for (const EngineEvent &event : report.events)
      if (event.finish != FinishReason::None && !isOver)
        submit();
    if (isOver && !std::exchange(said, true))
      done.set_value();
    // The bench's own time does not count.
    last = threadSeconds();
    counted = programs;
  }

  uint32_t vocab, maxContext;
  SessionOptions completed;
  double programs = 0, counted = 0, last = 0;
  uint64_t next = 1, steps = 0;
  bool said = false;
  std::vector<double> times;
  std::promise<void> done;
  std::optional<Engine> engine;
};

} // namespace

int main(int argc, char **argv) {
  if (argc < 2 || argc > 4)
    return std::fprintf(stderr, "usage: mtp_engine_bench ARTIFACT [SLOTS "
                                "[K]]\n"),
           2;
  std::shared_ptr<const Model> model = get(Model::load(argv[1]));
  SessionOptions options;
  options.maxSlots = argc > 2 ? uint32_t(std::atoi(argv[2])) : 32;
  if (argc > 3)
    options.k = uint32_t(std::atoi(argv[3]));
  options.threads = 1;
  Bench bench(model, options);
  uint32_t k = bench.options().k, slots = bench.options().maxSlots;
  std::vector<double> times = bench.run(slots);
  std::ranges::sort(times);
  auto share = [&](double part) {
    return times[size_t(part * double(times.size() - 1))] * 1e6;
  };
  std::printf("%u slots, k = %u, %zu steps: processor time beside programs, "
              "microseconds: p50 %.1f, p90 %.1f, p99 %.1f, most %.1f\n",
              slots, k, times.size(), share(0.5), share(0.9), share(0.99),
              share(1));
  return 0;
}
