//===- Statistics.h - The arithmetic of a measurement -----------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_BENCH_MEASURE_STATISTICS_H
#define MTP_TOOLS_MTP_BENCH_MEASURE_STATISTICS_H

#include "runtime/core/Status.h"

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace mtp::bench {

/// The statistic over the runs of a turn, and over turns: their median or the
/// fastest.
enum class Estimate : uint8_t { Median, Fastest };

/// Returns the estimate over runs, or over turns; NaN without any.
double estimateSeconds(std::vector<double> seconds, Estimate estimate);

/// The number of runs that must agree before the fastest is believed.
inline constexpr size_t kAgreeing = 3;
/// Returns whether the kAgreeing fastest runs are within 2 % of one another.
/// Disturbed runs take any time, undisturbed runs equal times. So runs that
/// agree show the machine's speed.
bool hasComeAgain(std::vector<double> runs);

/// The median of repeated measurements, its quartiles, and the maximum.
struct Summary {
  double median = 0;
  double lower = 0;
  double upper = 0;
  double most = 0;
};

/// Returns "median" or "fastest".
const char *nameOf(Estimate estimate);

/// Returns the value at a share of the sorted values, interpolated between two
/// of them; NaN without values.
double quantile(const std::vector<double> &sorted, double share);
/// Returns the median; NaN without values.
double median(std::vector<double> values);
Summary summarize(const std::vector<double> &values);

/// Returns the time of a divided by the time of b; both have one value per
/// turn. With medians, values of one turn are compared, so that a slow minute
/// has no effect. The fastest values are compared directly, because nothing
/// slowed them.
double ratioOf(const std::vector<double> &a, const std::vector<double> &b,
               Estimate estimate);

/// Checks rates: they are shares of all rounds, so each is in [0, 1] and none
/// exceeds the one before.
Status checkRates(const std::vector<double> &rates);

/// Returns the tokens per round of k drafts: one, plus one per accepted draft.
/// Positions beyond the rates are never accepted.
double acceptanceLength(std::span<const double> rates, uint32_t k);

/// Returns how many of k drafts are accepted in a round whose random number is
/// `luck` in [0, 1).
uint32_t acceptedDrafts(std::span<const double> rates, uint32_t k, double luck);

/// Kinds of multiply-add, by the type of the weights. I4 weights are multiplied
/// by bytes, too. If no instruction adds four products, sums of two need not be
/// widened at once, unlike with I8.
enum class Arithmetic : uint8_t { F32, BF16, I8, I4 };
inline constexpr size_t kArithmetics = 4;

/// The largest rates of a machine per second.
struct Rates {
  double bytes = 0;
  /// Operations, two per multiply-add; zero if the processor lacks such an
  /// instruction, and for a GPU, which is not measured.
  std::array<double, kArithmetics> ops = {};

  /// Returns the rate at which the type can be multiplied: its own, or that of
  /// the next wider one.
  double peak(Arithmetic type) const;
};

/// The bytes that a command must read and the operations that it must compute.
struct Work {
  double weightBytes = 0;
  double kvBytes = 0;
  double ops = 0;
  Arithmetic type = Arithmetic::F32;
};

/// Returns the lower bound of a command's seconds if it reads each byte once.
/// Without rates of operations only bytes count.
double limitSeconds(const Work &work, const Rates &rates);

/// One measurement of a machine: the upper quartile, the median and the fastest
/// of its tries.
struct MachineRates {
  Rates upper;
  Rates middle;
  Rates fastest;

  /// Returns the rate to compare with: the upper quartile for medians of runs,
  /// the fastest try for the fastest run.
  const Rates &best(Estimate estimate) const;
};

/// Returns whether the machine's rates changed between the first and the last
/// measurement. With medians, also whether the rates are far from the median of
/// their tries. With the fastest, also whether fewer than kAgreeing
/// measurements have a fastest try near the best.
bool isNoisy(const std::vector<MachineRates> &measured, Estimate estimate);

/// Returns the machine's rates: the median of all measurements, or the fastest.
Rates ratesOf(const std::vector<MachineRates> &measured, Estimate estimate);

/// Returns the expected number of `experts` read by `rows` rows that choose
/// `chosen` each, all equally likely and independent.
double expectedExperts(double experts, double chosen, double rows);

} // namespace mtp::bench

#endif // MTP_TOOLS_MTP_BENCH_MEASURE_STATISTICS_H
