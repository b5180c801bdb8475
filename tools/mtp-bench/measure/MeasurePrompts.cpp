//===- MeasurePrompts.cpp - Time prefills and real rounds -----------------===//

#include "runtime/core/StrCat.h"
#include "tools/mtp-bench/measure/Measure.h"

#include <algorithm>
#include <limits>

using namespace mtp;
using namespace mtp::bench;

/// Copies of recurrent states per turn.
static constexpr size_t kCopies = 5;

/// Measures one turn of copies of a slot's states after a prompt.
static Status measureCopies(ProgramRunner &runner, const Options &options,
                            Results &results) {
  std::vector<double> runs;
  while (runs.size() < kCopies) {
    MTP_ASSIGN_OR_RETURN(double seconds, runner.copyStates(0));
    runs.push_back(seconds);
  }
  results.snapshotBytes = runner.bytesOfCopy();
  if (results.snapshotBytes)
    results.snapshotSeconds.push_back(
        estimateSeconds(std::move(runs), options.estimate));
  return okStatus();
}

Status bench::measurePrefills(ProgramRunner &runner, const Options &options,
                              Results &all) {
  std::vector<PrefillResult> &results = all.prefills;
  bool hasModules = runner.model().envelope()->modules > 0;
  for (uint32_t tokens : options.prefills)
    for (bool modules : {false, true})
      if (!modules || hasModules)
        results.push_back({tokens, modules, 0, {}, {}});
  auto run = [&](const PrefillResult &result, std::span<const int32_t> tokens) {
    return runner.prefill(0, tokens, result.modules, options.prefillBehind);
  };
  auto promptOf = [&](const PrefillResult &result) {
    return runner.randomTokens(options.prefillBehind + result.tokens);
  };
  // The fastest of different prompts would be the one with the least work.
  std::vector<std::vector<int32_t>> prompts;
  for (PrefillResult &result : results) {
    prompts.push_back(promptOf(result));
    MTP_RETURN_IF_ERROR(run(result, prompts.back()).status());
  }
  for (uint32_t turn = 0; turn < options.turns; ++turn) {
    for (size_t i = 0; i < results.size(); ++i) {
      PrefillResult &result = results[i];
      if (options.estimate == Estimate::Median)
        prompts[i] = promptOf(result);
      std::vector<double> runs;
      do {
        MTP_ASSIGN_OR_RETURN(double seconds, run(result, prompts[i]));
        runs.push_back(seconds);
      } while (options.estimate == Estimate::Fastest &&
               needsAnotherRun(options, runs, result.fastest));
      result.rounds += runs.size();
      keepFastest(result.fastest, runs);
      result.seconds.push_back(
          estimateSeconds(std::move(runs), options.estimate));
      reportTurn(options, turn,
                 strCat("prefill of ", result.tokens,
                        result.modules ? " with the drafter" : ""),
                 result.seconds.back());
    }
    MTP_RETURN_IF_ERROR(measureCopies(runner, options, all));
  }
  return okStatus();
}

namespace {
/// Measurement of one number of drafts on the user's prompt.
struct PromptRun {
  uint32_t k = 0;
  uint32_t batch = 1;
  /// Seconds of the median round of each turn.
  std::vector<double> seconds;
  uint64_t slotRounds = 0, tokens = 0;
  double allSeconds = 0;
  std::vector<uint64_t> accepted;
};
} // namespace

/// Generates once. All slots have one prompt and so the same acceptance.
static Status generate(ProgramRunner &runner, const Options &options,
                       PromptRun &run) {
  runner.activate(run.batch);
  std::vector<double> rounds;
  for (uint32_t made = 0; made < options.tokens;) {
    uint64_t positions =
        options.ids.size() + made + runner.programs().nodes(run.k);
    uint32_t program = runner.programs().decode(run.batch, run.k, positions);
    MTP_ASSIGN_OR_RETURN(double seconds, runner.run(program, run.batch));
    rounds.push_back(seconds);
    run.allSeconds += seconds;
    size_t emitted = 0;
    for (uint32_t slot = 0; slot < run.batch; ++slot) {
      emitted = runner.emitted(slot).size();
      if (emitted == 0 || emitted > run.k + 1)
        return internalError(strCat("expected 1 to ", run.k + 1,
                                    " tokens of a round, got ", emitted));
      ++run.slotRounds;
      run.tokens += emitted;
      for (uint32_t draft = 0; draft < run.k; ++draft)
        run.accepted[draft] += draft + 1 < emitted;
    }
    made += uint32_t(emitted);
  }
  run.seconds.push_back(median(std::move(rounds)));
  return okStatus();
}

static SpeculativeResult
summarizeRun(const PromptRun &run, const PromptRun &plain, uint32_t context) {
  SpeculativeResult r;
  r.batch = run.batch;
  r.context = context;
  r.k = run.k;
  r.seconds = median(run.seconds);
  r.spread = summarize(run.seconds);
  r.ratio = ratioOf(run.seconds, plain.seconds, Estimate::Median);
  r.limitRatio = std::numeric_limits<double>::quiet_NaN();
  r.acceptanceLength = double(run.tokens) / double(run.slotRounds);
  for (uint64_t count : run.accepted)
    r.accepted.push_back(double(count) / double(run.slotRounds));
  r.tokensPerSecond = double(run.tokens) / run.allSeconds;
  r.speedup = r.tokensPerSecond * plain.allSeconds / double(plain.tokens);
  return r;
}

Status bench::measurePrompt(ProgramRunner &runner, const Options &options,
                            std::vector<SpeculativeResult> &results) {
  std::vector<uint32_t> ks = options.ks;
  if (std::find(ks.begin(), ks.end(), 0u) == ks.end())
    ks.insert(ks.begin(), 0);
  for (uint32_t batch : options.batches) {
    for (uint32_t slot = 0; slot < batch; ++slot)
      MTP_RETURN_IF_ERROR(
          runner.prefill(slot, options.ids, /*modules=*/true).status());
    // Rounds write caches only from the prompt's end on, so restoring the
    // states is enough.
    std::vector<uint8_t> start = runner.saveStates();
    std::vector<PromptRun> runs;
    for (uint32_t k : ks) {
      PromptRun &run = runs.emplace_back();
      run.k = k;
      run.batch = batch;
      run.accepted.assign(k, 0);
    }
    for (uint32_t turn = 0; turn < options.turns; ++turn)
      for (PromptRun &run : runs) {
        runner.restoreStates(start);
        MTP_RETURN_IF_ERROR(generate(runner, options, run));
        reportTurn(options, turn,
                   strCat("the prompt, batch ", batch, ", k = ", run.k),
                   run.seconds.back());
      }
    size_t plain = size_t(std::find(ks.begin(), ks.end(), 0u) - ks.begin());
    for (const PromptRun &run : runs)
      results.push_back(
          summarizeRun(run, runs[plain], uint32_t(options.ids.size())));
  }
  return okStatus();
}
