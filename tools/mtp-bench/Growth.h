//===- Growth.h - How time scales -------------------------------*- C++ -*-===//
//
// Lines of measured points that differ in rows alone, in context alone or in
// batch alone.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_TOOLS_MTP_BENCH_GROWTH_H
#define MTP_TOOLS_MTP_BENCH_GROWTH_H

#include "tools/mtp-bench/Results.h"

namespace mtp::bench {

struct GrowthPoint {
  /// Rows, context or batch.
  uint32_t at = 0;
  double seconds = 0;
  double limit = 0;
};

struct GrowthLine {
  std::string name;
  /// Ascending, two or more.
  std::vector<GrowthPoint> points;
};

/// Lines that can be drawn over one axis. None where nothing was measured at
/// more than one place of it.
struct Growth {
  std::string title;
  std::string axis;
  std::vector<GrowthLine> lines;
};

/// The target's pass, at the first context: with a row for each slot, and with
/// one slot's anchor and drafts.
Growth growthWithRows(const Results &results, const Options &options);

/// Plain steps, and rounds of the most drafts that have more than one context,
/// at the first batch.
Growth growthWithContext(const Results &results, const Options &options);

/// Plain steps, and rounds of every k, at the first context. Batches that only
/// the measurement of rows has are not among them.
Growth growthWithBatch(const Results &results, const Options &options);

} // namespace mtp::bench

#endif // MTP_TOOLS_MTP_BENCH_GROWTH_H
