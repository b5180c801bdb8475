//===- Growth.h - How time scales -------------------------------*- C++ -*-===//
//
// Lines of measured points that differ only in rows, only in context or only in
// batch.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_TOOLS_MTP_BENCH_REPORT_GROWTH_H
#define MTP_TOOLS_MTP_BENCH_REPORT_GROWTH_H

#include "tools/mtp-bench/measure/Results.h"

namespace mtp::bench {

struct GrowthPoint {
  /// The number of rows, the context or the batch.
  uint32_t at = 0;
  double seconds = 0;
  double limit = 0;
};

struct GrowthLine {
  std::string name;
  /// Ascending, two or more.
  std::vector<GrowthPoint> points;
};

/// Lines that share one axis. Empty if only one place of the axis was measured.
struct Growth {
  std::string title;
  std::string axis;
  std::vector<GrowthLine> lines;
};

/// Returns the target's pass at the first context: one row per slot, and one
/// slot with its anchor and drafts.
Growth growthWithRows(const Results &results, const Options &options);

/// Returns plain steps, and rounds of the largest k measured at more than one
/// context, at the first batch.
Growth growthWithContext(const Results &results, const Options &options);

/// Returns plain steps, and rounds of every k, at the first context. Batches
/// that only the measurement of rows has are left out.
Growth growthWithBatch(const Results &results, const Options &options);

} // namespace mtp::bench

#endif // MTP_TOOLS_MTP_BENCH_REPORT_GROWTH_H
