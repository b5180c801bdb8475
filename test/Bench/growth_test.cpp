//===- growth_test.cpp - Scaling curves and their charts ------------------===//

#include "tools/mtp-bench/report/Chart.h"
#include "tools/mtp-bench/report/Growth.h"

#include <gtest/gtest.h>

using namespace mtp;
using namespace mtp::bench;

namespace {

/// Returns a point whose round takes `context` + 10 * `batch` + `k` seconds.
/// Half of them are the target's. The target's limit is `batch` seconds, and
/// the limit of the drafts is `k` seconds.
Point pointAt(uint32_t batch, uint32_t k, uint32_t context) {
  Point point;
  point.batch = batch;
  point.k = k;
  point.context = context;
  double seconds = context + 10.0 * batch + k;
  point.seconds = {seconds};
  point.targetSeconds = {seconds / 2};
  CommandResult draft, verify;
  draft.phase = "draft 1";
  draft.work.weightBytes = 10.0 * k;
  verify.phase = "verify";
  verify.work.weightBytes = 10.0 * batch;
  point.commands = {draft, verify};
  return point;
}

Results resultsOf(std::vector<Point> points) {
  Results results;
  results.points = std::move(points);
  results.rates.bytes = 10;
  results.rates.ops = {1, 1, 1};
  return results;
}

Options optionsOf(std::vector<uint32_t> batches, std::vector<uint32_t> contexts,
                  std::vector<uint32_t> ks) {
  Options options;
  options.batches = std::move(batches);
  options.contexts = std::move(contexts);
  options.ks = std::move(ks);
  return options;
}

/// Formats each line as "name: at=seconds/limit ..".
std::vector<std::string> wordsOf(const Growth &growth) {
  std::vector<std::string> words;
  for (const GrowthLine &line : growth.lines) {
    std::string &text = words.emplace_back(line.name + ":");
    for (const GrowthPoint &point : line.points) {
      char number[64];
      std::snprintf(number, sizeof(number), " %u=%g/%g", point.at,
                    point.seconds, point.limit);
      text += number;
    }
  }
  return words;
}

using Words = std::vector<std::string>;

} // namespace

TEST(Growth, WithContextHasStepsAndTheMostDrafts) {
  // The values are given unordered and twice; other batches are left out. k = 3
  // has one context only, as in a measurement of rows.
  Results results =
      resultsOf({pointAt(2, 0, 500), pointAt(2, 0, 50), pointAt(1, 0, 50),
                 pointAt(1, 0, 500), pointAt(2, 1, 50), pointAt(2, 1, 500),
                 pointAt(2, 2, 50), pointAt(2, 2, 500), pointAt(2, 3, 500)});
  Options options = optionsOf({2, 1}, {500, 50, 500}, {0, 1, 2, 3});
  Growth growth = growthWithContext(results, options);
  EXPECT_EQ(growth.title, "A round against context, batch 2");
  EXPECT_EQ(wordsOf(growth), (Words{"plain step: 50=70/2 500=520/2",
                                    "k = 2: 50=72/4 500=522/4"}));
}

TEST(Growth, WithBatchHasStepsAndEveryK) {
  // Batch 8 is only there for its rows, and was not asked for.
  Results results =
      resultsOf({pointAt(4, 0, 50), pointAt(1, 0, 50), pointAt(1, 0, 500),
                 pointAt(8, 0, 50), pointAt(1, 1, 50), pointAt(4, 1, 50),
                 pointAt(1, 2, 50), pointAt(4, 2, 50)});
  Options options = optionsOf({4, 1}, {50, 500}, {2, 0, 1});
  Growth growth = growthWithBatch(results, options);
  EXPECT_EQ(growth.title, "A round against batch, context 50");
  EXPECT_EQ(wordsOf(growth),
            (Words{"plain step: 1=60/1 4=90/4", "k = 1: 1=61/2 4=91/5",
                   "k = 2: 1=62/3 4=92/6"}));
}

TEST(Growth, WithRowsIsTheTargetsAlone) {
  Results results = resultsOf({pointAt(1, 0, 50), pointAt(1, 2, 50),
                               pointAt(4, 2, 50), pointAt(4, 0, 50)});
  Options options = optionsOf({1}, {50}, {0, 1, 2});
  EXPECT_EQ(wordsOf(growthWithRows(results, options)),
            (Words{"one row a slot: 1=30/1 4=45/4",
                   "one slot, k + 1 rows: 1=30/1 3=31/1"}));
}

TEST(Growth, NeedsTwoPoints) {
  Results results = resultsOf({pointAt(1, 0, 50), pointAt(1, 1, 50)});
  Options options = optionsOf({1}, {50}, {0, 1});
  EXPECT_TRUE(growthWithContext(results, options).lines.empty());
  EXPECT_TRUE(growthWithBatch(results, options).lines.empty());
  EXPECT_EQ(wordsOf(growthWithRows(results, options)),
            (Words{"one slot, k + 1 rows: 1=30/1 2=30.5/1"}));
}

TEST(Chart, ScalesFromEndToEnd) {
  Scale scale = {64, 4096, 100, 500};
  EXPECT_EQ(scale(64), 100);
  EXPECT_EQ(scale(4096), 500);
  EXPECT_EQ(scale(2080), 300);
  // Upwards on a canvas whose origin is at the top.
  EXPECT_EQ((Scale{0, 10, 200, 0}(2.5)), 150);
}

TEST(Chart, GridsHaveFourToTenRoundSteps) {
  EXPECT_DOUBLE_EQ(gridStep(18.9), 2);
  EXPECT_DOUBLE_EQ(gridStep(25), 5);
  EXPECT_DOUBLE_EQ(gridStep(0.31), 0.05);
  EXPECT_DOUBLE_EQ(gridStep(9.5), 1);
  for (double most = 0.001; most < 1e5; most *= 1.07) {
    EXPECT_GE(most / gridStep(most), 3.999) << most;
    EXPECT_LT(most / gridStep(most), 10.001) << most;
  }
}

TEST(Chart, LabelsDoNotTouch) {
  std::vector<double> widths(5, 20);
  EXPECT_EQ(labelsThatFit({0, 100, 200, 300, 400}, widths),
            (std::vector<size_t>{0, 1, 2, 3, 4}));
  // The second label overlaps the first, and the fourth the last, which always
  // stays.
  EXPECT_EQ(labelsThatFit({0, 20, 50, 90, 110}, widths),
            (std::vector<size_t>{0, 2, 4}));
  EXPECT_EQ(labelsThatFit({0, 10}, {20, 20}), (std::vector<size_t>{0, 1}));
  EXPECT_TRUE(labelsThatFit({}, {}).empty());
}

TEST(Chart, DrawsEachLineWithItsLimit) {
  Growth growth = {
      "Title",
      "axis",
      {{"one", {{1, 2, 1}, {4, 3, 1}}}, {"two", {{1, 4, 2}, {2, 5, 2}}}}};
  Svg svg(760);
  EXPECT_GT(drawChart(svg, growth, 100, 700, 50), 250);
  std::string text = svg.finish(400);
  for (const char *part : {"class=\"series color0\"", "class=\"limit color0\"",
                           "class=\"series color1\"", "class=\"limit color1\"",
                           ">axis<", ">ms<", ">Title<", ">1<", ">2<", ">4<",
                           "<title>two at 2: 5e+03 ms, 40 % of limit</title>"})
    EXPECT_NE(text.find(part), std::string::npos) << part;
  // An empty chart takes no room.
  Svg empty(760);
  EXPECT_EQ(drawChart(empty, Growth{"Title", "axis", {}}, 100, 700, 50), 50);
  EXPECT_EQ(empty.finish(400).find("Title"), std::string::npos);
}
