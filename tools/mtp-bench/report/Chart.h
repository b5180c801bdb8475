//===- Chart.h - Draw a scaling curve ---------------------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_BENCH_REPORT_CHART_H
#define MTP_TOOLS_MTP_BENCH_REPORT_CHART_H

#include "tools/mtp-bench/report/Growth.h"
#include "tools/mtp-bench/report/Svg.h"

namespace mtp::bench {

/// Maps values from `low` to `high` to pixels from `begin` to `end`.
struct Scale {
  double low, high, begin, end;
  double operator()(double value) const {
    return begin + (value - low) / (high - low) * (end - begin);
  }
};

/// Returns a step of 1, 2 or 5 times a power of ten that fits four to ten times
/// into `most`.
double gridStep(double most);

/// Returns the labels that fit side by side: the first, the last, and between
/// them, from the left, each that touches no other. `centers` ascend.
std::vector<size_t> labelsThatFit(const std::vector<double> &centers,
                                  const std::vector<double> &widths);

/// Draws each line with its limit, from `top` down; returns the next free
/// position. Draws nothing without lines.
double drawChart(Svg &svg, const Growth &growth, double left, double right,
                 double top);

} // namespace mtp::bench

#endif // MTP_TOOLS_MTP_BENCH_REPORT_CHART_H
