//===- Options.h - Options of mtp-bench -------------------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_BENCH_MEASURE_OPTIONS_H
#define MTP_TOOLS_MTP_BENCH_MEASURE_OPTIONS_H

#include "mtp/session.h"
#include "tools/mtp-bench/measure/Statistics.h"

#include <cstdint>
#include <string>
#include <vector>

namespace mtp::bench {

struct Options {
  std::string artifact;

  /// Any of decode, rows, prefill, speculative and sessions; empty: all but
  /// sessions.
  std::vector<std::string> measure;
  /// Empty lists get their values in settle().
  std::vector<uint32_t> batches;
  std::vector<uint32_t> contexts;
  std::vector<uint32_t> prefills;
  /// Number of tokens that the slot has before a measured prefill.
  uint32_t prefillBehind = 0;
  std::vector<uint32_t> ks;

  /// Drafts that slots verify, in turn, at most the round's; empty: all.
  std::vector<uint32_t> drafts;

  /// The share of rounds in which draft 1, 2, .. is accepted; empty: not given.
  std::vector<double> acceptance;
  /// A prompt whose true acceptance is measured.
  std::vector<int32_t> ids;
  /// Tokens generated from `ids` in each turn.
  uint32_t tokens = 64;

  uint32_t turns = 5;
  Estimate estimate = Estimate::Median;
  /// Rounds per turn; zero: until needsAnotherRun() is false.
  uint32_t rounds = 0;
  /// The period in positions with which the tokens of slots repeat; zero:
  /// never.
  uint32_t period = 0;
  uint64_t seed = 1;
  /// Sampling temperature of all slots; zero: greedy, without logits.
  float temperature = 0;
  LoadOptions load;
  /// Session options: threads, pinning, kernels of prefills, and rounds per
  /// launch (a reported time is the time of one round). Measurements set the
  /// other options.
  SessionOptions session = {.roundsPerLaunch = 1};

  /// Write the result of each turn to stderr at once.
  bool progress = false;
  bool json = false;
  std::string profile;

  bool wants(std::string_view what) const;
  bool wantsSessions() const;
  /// Returns whether rounds or steps are measured by themselves, as a
  /// profile needs.
  bool hasPoints() const;
};

/// Returns whether `what` is a measurement that --measure may name.
bool isMeasurement(std::string_view what);

/// Checks the options against the artifact's envelope, and fills empty lists.
Status settle(Options &options, const EnvelopeInfo *envelope);

} // namespace mtp::bench

#endif // MTP_TOOLS_MTP_BENCH_MEASURE_OPTIONS_H
