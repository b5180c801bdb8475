//===- Statistics.h - The arithmetic of a measurement -----------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_BENCH_MEASURE_STATISTICS_H
#define MTP_TOOLS_MTP_BENCH_MEASURE_STATISTICS_H

#include "runtime/core/Status.h"

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace mtp::bench {

/// What stands for the runs of a turn, and for turns: their median, or the
/// fastest of them.
enum class Estimate : uint8_t { Median, Fastest };

/// Seconds of runs, or of turns; NaN when there are none.
double estimateSeconds(std::vector<double> seconds, Estimate estimate);

/// The number of runs that must agree before the fastest is believed.
inline constexpr size_t kAgreeing = 3;
/// Whether the kAgreeing fastest runs are within 2 % of one another. Disturbed
/// runs take any time and undisturbed runs the same time, so runs that agree
/// show what the machine does.
bool hasComeAgain(std::vector<double> runs);

/// The middle of repeated measurements, the quartiles around it, and the most.
struct Summary {
  double median = 0;
  double lower = 0;
  double upper = 0;
  double most = 0;
};

/// "median" or "fastest".
const char *nameOf(Estimate estimate);

/// The value at a share of the sorted values, between two of them if need be;
/// NaN when there is nothing.
double quantile(const std::vector<double> &sorted, double share);
/// NaN when there is nothing.
double median(std::vector<double> values);
Summary summarize(const std::vector<double> &values);

/// The time of a over that of b, of which each has one in every turn. For
/// medians what was measured in the same turn is compared, so that a slow
/// minute does not tell; the fastest are what no minute slowed.
double ratioOf(const std::vector<double> &a, const std::vector<double> &b,
               Estimate estimate);

/// Rates are shares of all rounds, so each is within [0, 1] and none above the
/// one before it.
Status checkRates(const std::vector<double> &rates);

/// Tokens per round of k drafts: one, and one more for every draft that stays.
/// Positions beyond the rates are never accepted.
double acceptanceLength(std::span<const double> rates, uint32_t k);

/// How many of k drafts stay in a round whose luck is `luck` in [0, 1).
uint32_t acceptedDrafts(std::span<const double> rates, uint32_t k, double luck);

/// Kinds of multiply-add, by the type of the weights. Those of I4 are
/// multiplied by bytes, too: where no instruction adds up four products, sums
/// of two need not be widened at once as those of I8.
enum class Arithmetic : uint8_t { F32, BF16, I8, I4 };
inline constexpr size_t kArithmetics = 4;

/// What a machine can do at most in a second.
struct Rates {
  double bytes = 0;
  /// Operations, two a multiply-add; zero where the processor has no such
  /// instruction, and of a GPU, which is not measured.
  std::array<double, kArithmetics> ops = {};

  /// The rate at which that type can be multiplied: its own, or that of the
  /// next wider one.
  double peak(Arithmetic type) const;
};

/// What a command must read and compute.
struct Work {
  double weightBytes = 0;
  double kvBytes = 0;
  double ops = 0;
  Arithmetic type = Arithmetic::F32;
};

/// The seconds below which no command can be that reads each byte once; without
/// rates of operations they count for nothing.
double limitSeconds(const Work &work, const Rates &rates);

/// One measurement of a machine: the upper quartile, the median and the fastest
/// of its tries.
struct MachineRates {
  Rates upper;
  Rates middle;
  Rates fastest;

  /// What it can do: beside medians of runs the upper quartile, beside the
  /// fastest run the fastest try.
  const Rates &best(Estimate estimate) const;
};

/// Whether what a machine can do changed between the first and the last
/// measurement. Medians of runs are also in doubt where what it can do is far
/// from what its tries had in the median; the fastest runs where the fastest
/// tries of fewer than kAgreeing measurements are near the fastest of all.
bool isNoisy(const std::vector<MachineRates> &measured, Estimate estimate);

/// What it can do: the median of all measurements, or the fastest.
Rates ratesOf(const std::vector<MachineRates> &measured, Estimate estimate);

/// How many of `experts` are read by `rows` rows that choose `chosen` each, all
/// equally likely and independent.
double expectedExperts(double experts, double chosen, double rows);

} // namespace mtp::bench

#endif // MTP_TOOLS_MTP_BENCH_MEASURE_STATISTICS_H
