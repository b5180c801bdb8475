//===- report_test.cpp - Sums of commands, and traces ---------------------===//

#include "tools/mtp-bench/report/Reports.h"

#include <gtest/gtest.h>

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
