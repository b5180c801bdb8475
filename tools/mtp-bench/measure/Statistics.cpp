//===- Statistics.cpp - The arithmetic of a measurement -------------------===//

#include "tools/mtp-bench/measure/Statistics.h"
#include "runtime/core/StrCat.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace mtp;
using namespace mtp::bench;

/// Rates that differ by more than this share were disturbed.
static constexpr double kNoise = 0.10;

/// Runs within this share of the fastest agree with it.
static constexpr double kAgreement = 0.02;

double bench::quantile(const std::vector<double> &sorted, double share) {
  if (sorted.empty())
    return std::numeric_limits<double>::quiet_NaN();
  double at = share * double(sorted.size() - 1);
  size_t below = size_t(at);
  size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - double(below)) * (sorted[above] - sorted[below]);
}

double bench::median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return quantile(values, 0.5);
}

Summary bench::summarize(const std::vector<double> &values) {
  std::vector<double> sorted = values;
  std::sort(sorted.begin(), sorted.end());
  return {quantile(sorted, 0.5), quantile(sorted, 0.25), quantile(sorted, 0.75),
          quantile(sorted, 1)};
}

double bench::estimateSeconds(std::vector<double> seconds, Estimate estimate) {
  std::sort(seconds.begin(), seconds.end());
  return quantile(seconds, estimate == Estimate::Fastest ? 0 : 0.5);
}

bool bench::hasComeAgain(std::vector<double> runs) {
  if (runs.size() < kAgreeing)
    return false;
  auto last = runs.begin() + (kAgreeing - 1);
  std::nth_element(runs.begin(), last, runs.end());
  double fastest = *std::min_element(runs.begin(), last + 1);
  return *last <= fastest * (1 + kAgreement);
}

const char *bench::nameOf(Estimate estimate) {
  return estimate == Estimate::Fastest ? "fastest" : "median";
}

double bench::ratioOf(const std::vector<double> &a,
                      const std::vector<double> &b, Estimate estimate) {
  if (estimate == Estimate::Fastest)
    return estimateSeconds(a, estimate) / estimateSeconds(b, estimate);
  std::vector<double> ratios;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    ratios.push_back(a[i] / b[i]);
  return median(std::move(ratios));
}

Status bench::checkRates(const std::vector<double> &rates) {
  double before = 1;
  for (size_t i = 0; i < rates.size(); ++i) {
    if (!(rates[i] >= 0 && rates[i] <= before))
      return invalidArgument(strCat(
          "--acceptance: expected 0 to ", before, " for draft ", i + 1,
          i == 0 ? "" : " (a draft stays only where the one before it does)",
          ", got ", rates[i]));
    before = rates[i];
  }
  return okStatus();
}

double bench::acceptanceLength(std::span<const double> rates, uint32_t k) {
  double length = 1;
  for (size_t i = 0; i < std::min<size_t>(rates.size(), k); ++i)
    length += rates[i];
  return length;
}

uint32_t bench::acceptedDrafts(std::span<const double> rates, uint32_t k,
                               double luck) {
  uint32_t accepted = 0;
  while (accepted < k && accepted < rates.size() && luck < rates[accepted])
    ++accepted;
  return accepted;
}

double Rates::peak(Arithmetic type) const {
  double own = ops[size_t(type)];
  if (own > 0 || type == Arithmetic::F32)
    return own;
  return peak(type == Arithmetic::I4 ? Arithmetic::I8 : Arithmetic::F32);
}

double bench::limitSeconds(const Work &work, const Rates &rates) {
  double read = (work.weightBytes + work.kvBytes) / rates.bytes;
  double peak = rates.peak(work.type);
  return peak > 0 ? std::max(read, work.ops / peak) : read;
}

static bool differs(double a, double b) {
  return std::fabs(a - b) > kNoise * std::max(a, b);
}

static bool differs(const Rates &a, const Rates &b) {
  bool any = differs(a.bytes, b.bytes);
  for (size_t i = 0; i < kArithmetics; ++i)
    any |= differs(a.ops[i], b.ops[i]);
  return any;
}

/// Returns a quantile over all measurements of each rate that `part` selects.
template <typename PartT>
static Rates quantileOf(const std::vector<MachineRates> &measured, double share,
                        PartT part) {
  auto of = [&](auto rate) {
    std::vector<double> values;
    for (const MachineRates &rates : measured)
      values.push_back(rate(part(rates)));
    std::sort(values.begin(), values.end());
    return quantile(values, share);
  };
  Rates rates;
  rates.bytes = of([](const Rates &r) { return r.bytes; });
  for (size_t i = 0; i < kArithmetics; ++i)
    rates.ops[i] = of([i](const Rates &r) { return r.ops[i]; });
  return rates;
}

const Rates &MachineRates::best(Estimate estimate) const {
  return estimate == Estimate::Fastest ? fastest : upper;
}

bool bench::isNoisy(const std::vector<MachineRates> &measured,
                    Estimate estimate) {
  if (measured.empty())
    return false;
  auto best = [&](const MachineRates &r) { return r.best(estimate); };
  auto middle = [](const MachineRates &r) { return r.middle; };
  // Slow tries are expected with the fastest estimate, but a fastest try that
  // does not come again proves nothing.
  if (estimate == Estimate::Fastest) {
    if (measured.size() < kAgreeing)
      return true;
    double share = 1 - double(kAgreeing - 1) / double(measured.size() - 1);
    return differs(quantileOf(measured, share, best),
                   quantileOf(measured, 1, best));
  }
  return differs(measured.front().upper, measured.back().upper) ||
         differs(quantileOf(measured, 0.5, best),
                 quantileOf(measured, 0.5, middle));
}

Rates bench::ratesOf(const std::vector<MachineRates> &measured,
                     Estimate estimate) {
  return quantileOf(measured, estimate == Estimate::Fastest ? 1 : 0.5,
                    [&](const MachineRates &r) { return r.best(estimate); });
}

double bench::expectedExperts(double experts, double chosen, double rows) {
  return experts * (1 - std::pow(1 - chosen / experts, rows));
}
