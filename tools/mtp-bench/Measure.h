//===- Measure.h - Run and time programs ------------------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_BENCH_MEASURE_H
#define MTP_TOOLS_MTP_BENCH_MEASURE_H

#include "tools/mtp-bench/Machine.h"
#include "tools/mtp-bench/Results.h"
#include "tools/mtp-bench/Rig.h"

namespace mtp::bench {

/// Loads the artifact, checks `options` against it and measures. The machine is
/// measured before and after all else.
Result<Results> measure(Options &options);

/// The points that the options ask for: each batch with each k at each context,
/// and the row counts that the envelope has.
std::vector<Point> choosePoints(const Options &options,
                                const EnvelopeInfo &envelope);

/// Measures points in turns, in each of which the machine and then every point
/// has its own.
Status measurePoints(Rig &rig, const Options &options, Machine &machine,
                     Results &results);

/// Whether a turn whose runs took `seconds` so far goes on: for a tenth of a
/// second, and where the fastest stands for all until it has come again, for as
/// long as three seconds. `before` are the fastest of the turns before.
bool needsAnotherRun(const Options &options, const std::vector<double> &seconds,
                     const std::vector<double> &before);

/// Adds runs to the fastest of those before, of which kAgreeing are kept.
void keepFastest(std::vector<double> &fastest, const std::vector<double> &runs);

/// With --progress, what a turn gave, as a line on stderr.
void reportTurn(const Options &options, uint32_t turn, std::string_view what,
                double seconds);

/// Prompts, once in a turn; for the fastest of them as often as steps.
Status measurePrefills(Rig &rig, const Options &options, Results &all);

/// Acceptance of the user's prompt, in rounds that go on from one another.
Status measurePrompt(Rig &rig, const Options &options,
                     std::vector<SpeculativeResult> &results);

/// Sessions of each k, and of one that is chosen, on the user's prompt.
Status measureSessions(const std::shared_ptr<const Model> &model,
                       const Options &options,
                       std::vector<SessionResult> &results);

/// Rounds against steps, out of points that were measured and the rates.
std::vector<SpeculativeResult> compareRounds(const Results &results,
                                             const Options &options);

} // namespace mtp::bench

#endif // MTP_TOOLS_MTP_BENCH_MEASURE_H
