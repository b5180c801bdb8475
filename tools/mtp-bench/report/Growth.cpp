//===- Growth.cpp - How time scales ---------------------------------------===//

#include "tools/mtp-bench/report/Growth.h"
#include "runtime/core/StrCat.h"

#include <set>

using namespace mtp;
using namespace mtp::bench;

/// Adds a line if it has two or more points.
static bool addLine(Growth &growth, GrowthLine line) {
  bool grows = line.points.size() > 1;
  if (grows)
    growth.lines.push_back(std::move(line));
  return grows;
}

static void addPoint(GrowthLine &line, uint32_t at, const Point &point,
                     const Rates &rates, Estimate estimate, bool targetOnly) {
  line.points.push_back(
      {at,
       estimateSeconds(targetOnly ? point.targetSeconds : point.seconds,
                       estimate),
       point.limit(rates, targetOnly)});
}

Growth bench::growthWithRows(const Results &results, const Options &options) {
  Growth growth = {"The target's pass against rows", "rows", {}};
  GrowthLine slots = {"one row a slot", {}};
  GrowthLine drafts = {"one slot, k + 1 rows", {}};
  for (const Point *point : rowPoints(results, options)) {
    uint32_t rows = point->rows();
    auto add = [&](GrowthLine &line) {
      addPoint(line, rows, *point, results.rates, options.estimate,
               /*targetOnly=*/true);
    };
    if (point->k == 0)
      add(slots);
    if (point->batch == 1)
      add(drafts);
  }
  addLine(growth, std::move(slots));
  addLine(growth, std::move(drafts));
  return growth;
}

/// Returns the line of whole rounds of `k` drafts at each of `places`; `find`
/// returns the point of a place, or null.
template <typename FindT>
static GrowthLine rounds(const Results &results, Estimate estimate, uint32_t k,
                         const std::vector<uint32_t> &places, FindT find) {
  GrowthLine line = {k == 0 ? "plain step" : strCat("k = ", k), {}};
  // Flags may repeat a value, in any order.
  for (uint32_t at : std::set<uint32_t>(places.begin(), places.end()))
    if (const Point *point = find(at))
      addPoint(line, at, *point, results.rates, estimate,
               /*targetOnly=*/false);
  return line;
}

/// Returns the numbers of drafts except 0, ascending.
static std::set<uint32_t> draftCounts(const Options &options) {
  std::set<uint32_t> ks(options.ks.begin(), options.ks.end());
  ks.erase(0);
  return ks;
}

Growth bench::growthWithContext(const Results &results,
                                const Options &options) {
  uint32_t batch = options.batches[0];
  Growth growth = {strCat("A round against context, batch ", batch),
                   "context, tokens in each slot",
                   {}};
  auto line = [&](uint32_t k) {
    return rounds(
        results, options.estimate, k, options.contexts,
        [&](uint32_t context) { return results.find(batch, k, context); });
  };
  addLine(growth, line(0));
  std::set<uint32_t> ks = draftCounts(options);
  for (auto k = ks.rbegin(); k != ks.rend(); ++k)
    if (addLine(growth, line(*k)))
      break;
  return growth;
}

Growth bench::growthWithBatch(const Results &results, const Options &options) {
  uint32_t context = options.contexts[0];
  Growth growth = {strCat("A round against batch, context ", context),
                   "batch, slots of a round",
                   {}};
  auto line = [&](uint32_t k) {
    return rounds(
        results, options.estimate, k, options.batches,
        [&](uint32_t batch) { return results.find(batch, k, context); });
  };
  addLine(growth, line(0));
  for (uint32_t k : draftCounts(options))
    addLine(growth, line(k));
  return growth;
}
