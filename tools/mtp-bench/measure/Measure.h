//===- Measure.h - Run and time programs ------------------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_BENCH_MEASURE_MEASURE_H
#define MTP_TOOLS_MTP_BENCH_MEASURE_MEASURE_H

#include "tools/mtp-bench/measure/Machine.h"
#include "tools/mtp-bench/measure/ProgramRunner.h"
#include "tools/mtp-bench/measure/Results.h"

namespace mtp::bench {

/// Loads the artifact, checks `options` against it and measures. The machine is
/// measured before and after all else.
Result<Results> measure(Options &options);

/// Returns the points that the options ask for: each batch with each k at each
/// context, and the row counts that the envelope has.
std::vector<Point> choosePoints(const Options &options,
                                const EnvelopeInfo &envelope);

/// Measures points in turns. In each turn the machine is measured first, then
/// every point.
Status measurePoints(ProgramRunner &runner, const Options &options,
                     Machine &machine, Results &results);

/// Returns whether the turn needs another run: until 0.1 s have passed or, with
/// --estimate=fastest, until the fastest time has come again (at most 3 s).
/// `seconds` are the turn's runs so far, `before` the fastest runs of earlier
/// turns.
bool needsAnotherRun(const Options &options, const std::vector<double> &seconds,
                     const std::vector<double> &before);

/// Merges `runs` into `fastest`, the fastest runs of earlier turns, and keeps
/// kAgreeing of them.
void keepFastest(std::vector<double> &fastest, const std::vector<double> &runs);

/// With --progress, writes the result of a turn as a line to stderr.
void reportTurn(const Options &options, uint32_t turn, std::string_view what,
                double seconds);

/// Measures prompts once per turn; with --estimate=fastest as often as steps.
Status measurePrefills(ProgramRunner &runner, const Options &options,
                       Results &all);

/// Measures the acceptance of the user's prompt in consecutive rounds.
Status measurePrompt(ProgramRunner &runner, const Options &options,
                     std::vector<SpeculativeResult> &results);

/// Measures sessions of each k, and one with automatic k, on the user's prompt.
Status measureSessions(const std::shared_ptr<const Model> &model,
                       const Options &options,
                       std::vector<SessionResult> &results);

/// Compares rounds with steps, from measured points and the acceptance rates.
std::vector<SpeculativeResult> compareRounds(const Results &results,
                                             const Options &options);

} // namespace mtp::bench

#endif // MTP_TOOLS_MTP_BENCH_MEASURE_MEASURE_H
