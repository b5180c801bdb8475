//===- report_test.cpp - Sums of commands, and pictures -------------------===//

#include "tools/mtp-bench/report/Reports.h"
#include "tools/mtp-bench/report/Svg.h"

#include <gtest/gtest.h>
#include <regex>

using namespace mtp;
using namespace mtp::bench;

namespace {

CommandResult command(const char *phase, const char *kind, double wall,
                      double bytes) {
  CommandResult result;
  result.phase = phase;
  result.kind = result.symbol = kind;
  result.wall = wall;
  result.busy = wall / 2;
  result.wait = wall / 4;
  result.work.weightBytes = bytes;
  return result;
}

Point makePoint() {
  Point point;
  point.k = 1;
  point.context = 8;
  point.commands = {command("draft 1", "linear", 1, 10),
                    command("verify", "linear", 2, 20),
                    command("verify", "attention", 4, 0),
                    command("accept", "say \"hi\" & <go>", 8, 0)};
  point.seconds = point.targetSeconds = {14};
  point.sample.reset(2, 4);
  for (uint32_t worker : {0u, 1u})
    for (size_t i = 0; i < 4; ++i)
      point.sample.store(worker)[i] = {100 * i + 1000, 100 * i + 1050,
                                       100 * i + 1050 + 50 * worker};
  return point;
}

Rates makeRates() {
  Rates rates;
  rates.bytes = 10;
  rates.ops = {1, 1, 1};
  return rates;
}

size_t count(const std::string &text, const std::string &part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos;
       at = text.find(part, at + 1))
    ++found;
  return found;
}

} // namespace

TEST(Results, SumCommandsByPhaseInTheirOrder) {
  std::vector<Group> groups = groupByPhase(makePoint(), makeRates());
  ASSERT_EQ(groups.size(), 3u);
  EXPECT_EQ(groups[1].name, "verify");
  EXPECT_EQ(groups[1].commands, 2u);
  EXPECT_EQ(groups[1].wall, 6);
  EXPECT_EQ(groups[1].busy, 3);
  EXPECT_EQ(groups[1].wait, 1.5);
  EXPECT_EQ(groups[1].bytes, 20);
  EXPECT_EQ(groups[1].limit, 2);
}

TEST(Results, SumCommandsByKindLongestFirst) {
  std::vector<Group> groups = groupByKind(makePoint(), makeRates());
  ASSERT_EQ(groups.size(), 3u);
  EXPECT_EQ(groups[1].name, "attention");
  EXPECT_EQ(groups[2].name, "linear");
  EXPECT_EQ(groups[2].wall, 3);
}

TEST(Results, TheTargetIsWhatAPlainStepConsistsOf) {
  Point point = makePoint();
  EXPECT_EQ(point.bytes(false), 30);
  EXPECT_EQ(point.bytes(true), 20);
  EXPECT_EQ(point.limit(makeRates(), true), 2);
}

TEST(Reports, ATraceHasEveryCommandOnEveryWorker) {
  std::string trace = traceReport(makePoint());
  // Two workers run four commands; the second waits after each.
  EXPECT_EQ(count(trace, "\"ph\": \"X\""), 12u);
  EXPECT_EQ(count(trace, "\"name\": \"wait\""), 4u);
  EXPECT_NE(trace.find("\"ts\": 0.100, \"dur\": 0.050"), std::string::npos);
  EXPECT_NE(trace.find("\"say \\\"hi\\\" & <go>\""), std::string::npos);
}

TEST(Reports, APictureEscapesNames) {
  Results results;
  results.points = {makePoint()};
  results.rates = makeRates();
  Options options;
  options.batches = {1};
  options.contexts = {8};
  options.ks = {1};
  std::string svg = svgReport(results, options);
  EXPECT_NE(svg.find("say \"hi\" &amp; &lt;go>"), std::string::npos);
  EXPECT_NE(svg.find("k = 1"), std::string::npos);
}

TEST(Reports, APictureSaysWhatWasMeasuredWhere) {
  Results results;
  results.points = {makePoint()};
  results.points[0].commands[0].kind = "a_kernel_of_a_long_name";
  results.rates = makeRates();
  results.model = "some-model-1.1B";
  results.formats = "int4 0.56 GB, bf16 0.13 GB";
  results.processor = "A processor";
  results.features = "AVX-512, bf16";
  results.processors = 64;
  results.threads = 2;
  results.date = "2026-11-23";
  Options options;
  options.batches = {1};
  options.contexts = {8};
  options.ks = {1};
  std::string svg = svgReport(results, options);
  for (const char *fact : {"some-model-1.1B: int4 0.56 GB, bf16 0.13 GB",
                           "A processor (AVX-512, bf16), 64 processors",
                           "2 threads", "2026-11-23"})
    EXPECT_NE(svg.find(fact), std::string::npos) << fact;
  // No text is wider than its space, in fonts of up to 6.6 pixels per
  // character.
  std::regex text("<text x=\"([0-9.]+)\"[^>]*>([^<]*)<");
  for (std::sregex_iterator it(svg.begin(), svg.end(), text), end; it != end;
       ++it) {
    double x = std::stod((*it)[1]), width = 6.6 * double((*it)[2].length());
    bool isLeft = (*it)[0].str().find("\"end\"") != std::string::npos;
    EXPECT_GE(isLeft ? x - width : x, 0) << (*it)[2];
    EXPECT_LE(isLeft ? x : x + width, 760) << (*it)[2];
  }
}
