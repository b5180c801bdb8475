//===- Options.h - What mtp-bench was asked to measure ----------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_BENCH_OPTIONS_H
#define MTP_TOOLS_MTP_BENCH_OPTIONS_H

#include "mtp/model.h"
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
  /// Empty lists mean what defaults() says.
  std::vector<uint32_t> batches;
  std::vector<uint32_t> contexts;
  std::vector<uint32_t> prefills;
  /// Tokens of the slot in front of them.
  uint32_t prefillBehind = 0;
  std::vector<uint32_t> ks;

  /// Drafts that slots verify, in turn, at most those of the round; empty: all.
  std::vector<uint32_t> drafts;

  /// Share of rounds in which draft 1, 2, .. is accepted; empty: no such claim.
  std::vector<double> acceptance;
  /// A prompt whose true acceptance is measured.
  std::vector<int32_t> ids;
  /// Tokens generated from `ids` in each turn.
  uint32_t tokens = 64;

  uint32_t turns = 5;
  Estimate estimate = Estimate::Median;
  /// Rounds of one turn; zero: as many as needsAnotherRun() wants.
  uint32_t rounds = 0;
  /// Rounds that follow each other on the device; a time is one of theirs.
  uint32_t roundsPerLaunch = 1;
  /// After how many positions the tokens of slots repeat; zero: never.
  uint32_t period = 0;
  uint64_t seed = 1;
  /// Of all slots; zero: greedy, and nobody reads logits.
  float temperature = 0;
  DeviceKind device = DeviceKind::Auto;
  /// Of the driver's GPUs.
  uint32_t gpu = 0;
  uint32_t threads = 0;
  bool pin = false;
  /// Read the artifact into memory of large pages instead of mapping it.
  bool noMmap = false;
  bool verify = false;
  /// Prefill by the plan's kernels alone.
  bool deterministic = false;

  /// Write what each turn gave to stderr as soon as it is known.
  bool progress = false;
  bool json = false;
  std::string profile;
  std::string svg;

  bool wants(std::string_view what) const;
  bool wantsSessions() const;
  /// Whether rounds or steps are measured by themselves, which is what
  /// profiles and pictures are made of.
  bool hasPoints() const;
};

/// Whether `what` is a measurement that --measure may name.
bool isMeasurement(std::string_view what);

/// Checks the options against what the artifact was compiled for, and fills
/// lists that are empty.
Status settle(Options &options, const EnvelopeInfo *envelope);

} // namespace mtp::bench

#endif // MTP_TOOLS_MTP_BENCH_OPTIONS_H
