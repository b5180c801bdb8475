//===- PrefillCostModel.cpp - How long a pass over prompts takes ----------===//

#include "runtime/exec/schedule/PrefillCostModel.h"

#include <algorithm>

using namespace mtp;

/// The weight of a pass, relative to the next one.
static constexpr double kDecay = 0.8;

/// The least share of a mean pass's time that counts as the time of its rows.
/// The rest may be a time for each pass. Passes of about one size do not show
/// this division, and a disturbed pass shows a wrong one. So a pass of twice
/// the rows is never taken to be free.
static constexpr double kLeastShare = 0.5;

void PrefillCostModel::add(uint32_t passRows, double passSeconds) {
  double r = passRows;
  for (double *sum : {&weight, &rows, &seconds, &rowsRows, &rowsSeconds})
    *sum *= kDecay;
  weight += 1;
  rows += r;
  seconds += passSeconds;
  rowsRows += r * r;
  rowsSeconds += r * passSeconds;
}

/// Returns the line through the passes with the least squares.
PrefillCostModel::Line PrefillCostModel::line() const {
  double meanRows = rows / weight, meanSeconds = seconds / weight;
  double variance = rowsRows / weight - meanRows * meanRows;
  double covariance = rowsSeconds / weight - meanRows * meanSeconds;
  double all = meanSeconds / meanRows;
  double each = variance > meanRows * 1e-6 ? covariance / variance : all;
  each = std::clamp(each, kLeastShare * all, all);
  return {meanSeconds - each * meanRows, each};
}

uint64_t PrefillCostModel::rowsIn(double limit) const {
  if (rows <= 0 || seconds <= 0)
    return 0;
  auto [pass, row] = line();
  return uint64_t(std::clamp((limit - pass) / row, 0.0, 1e9));
}

double PrefillCostModel::secondsOf(double of) const {
  if (rows <= 0 || seconds <= 0)
    return 0;
  auto [pass, row] = line();
  return pass + row * of;
}
