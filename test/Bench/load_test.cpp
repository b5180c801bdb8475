//===- load_test.cpp - Requests, their times and results ------------------===//

#include "tools/mtp-bench/serve/LoadPlan.h"
#include "tools/mtp-bench/serve/LoadReport.h"
#include "tools/mtp-bench/serve/Url.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <simdjson.h>

using namespace mtp;
using namespace mtp::bench;

TEST(Url, HostsPortsAndPrefixes) {
  Result<Url> url = parseUrl("http://localhost:8080");
  ASSERT_TRUE(url);
  EXPECT_EQ(url->host, "localhost");
  EXPECT_EQ(url->port, "8080");
  EXPECT_EQ(url->prefix, "");
  url = parseUrl("http://[::1]:99/a/b//");
  ASSERT_TRUE(url);
  EXPECT_EQ(url->host, "::1");
  EXPECT_EQ(url->port, "99");
  EXPECT_EQ(url->prefix, "/a/b");
  url = parseUrl("http://h");
  ASSERT_TRUE(url);
  EXPECT_EQ(url->port, "80");
  for (const char *wrong :
       {"", "h:1", "https://h", "http://", "http://h:", "http://h:x",
        "http://h:70000", "http://[::1", "http://a b", "http://h/\r\nX: y"})
    EXPECT_FALSE(parseUrl(wrong)) << wrong;
}

TEST(LoadPlan, Ranges) {
  Result<Range> range = parseRange("--f", "32");
  ASSERT_TRUE(range);
  EXPECT_EQ(range->least, 32u);
  EXPECT_EQ(range->most, 32u);
  range = parseRange("--f", "2-9");
  ASSERT_TRUE(range);
  EXPECT_EQ(range->least, 2u);
  EXPECT_EQ(range->most, 9u);
  for (const char *wrong : {"", "0", "-3", "9-2", "1-", "1-2x", "1..2"})
    EXPECT_FALSE(parseRange("--f", wrong)) << wrong;
}

/// The object of a body, and how long its prompt is.
static simdjson::dom::element parse(simdjson::dom::parser &parser,
                                    const std::string &text) {
  simdjson::dom::element root;
  EXPECT_FALSE(parser.parse(text.data(), text.size()).get(root)) << text;
  return root;
}

template <typename T>
static T valueOf(simdjson::simdjson_result<simdjson::dom::element> element) {
  T value{};
  EXPECT_FALSE(element.get(value));
  return value;
}

TEST(LoadPlan, BodiesFollowFromTheSeedAndStayInTheirRanges) {
  TrafficOptions options;
  options.promptTokens = {3, 9};
  options.outputTokens = {5, 8};
  options.vocab = 50;
  LoadPlan plan(options), same(options);
  std::vector<size_t> lengths;
  std::vector<uint64_t> outputs;
  simdjson::dom::parser parser;
  for (uint32_t i = 0; i < 200; ++i) {
    // Whatever was asked for before.
    EXPECT_EQ(plan.body(i), same.body(i));
    std::string text = plan.body(i);
    simdjson::dom::element root = parse(parser, text);
    simdjson::dom::array ids;
    ASSERT_FALSE(root["prompt"].get(ids));
    lengths.push_back(ids.size());
    for (simdjson::dom::element element : ids) {
      uint64_t id = 0;
      EXPECT_FALSE(element.get(id));
      EXPECT_TRUE(id >= 3 && id < 50) << id;
    }
    outputs.push_back(valueOf<uint64_t>(root["max_tokens"]));
    EXPECT_EQ(valueOf<uint64_t>(root["seed"]), 1 + i);
  }
  auto [shortest, longest] = std::ranges::minmax(lengths);
  EXPECT_EQ(shortest, 3u);
  EXPECT_EQ(longest, 9u);
  auto [least, most] = std::ranges::minmax(outputs);
  EXPECT_EQ(least, 5u);
  EXPECT_EQ(most, 8u);
  options.seed = 2;
  EXPECT_NE(LoadPlan(options).body(0), same.body(1));
}

TEST(LoadPlan, FieldsAndTextsGoIntoBodies) {
  TrafficOptions options;
  options.prompts = {"say \"a\"", "b"};
  options.model = "m";
  for (const char *field : {"k=2", "mode=fast", "x=[1, {}]"})
    ASSERT_TRUE(readField(field, options).isOk());
  // A number beyond 64 bits is sent as it is written.
  TrafficOptions huge;
  ASSERT_TRUE(readField("y=[18446744073709551616]", huge).isOk());
  EXPECT_EQ(huge.fields.front().second, "[18446744073709551616]");
  EXPECT_FALSE(readField("k", options).isOk());
  EXPECT_FALSE(readField("=3", options).isOk());
  simdjson::dom::parser parser;
  bool hasFirst = false, hasSecond = false;
  for (uint32_t i = 0; i < 20; ++i) {
    simdjson::dom::element root = parse(parser, LoadPlan(options).body(i));
    EXPECT_EQ(valueOf<uint64_t>(root["k"]), 2u);
    EXPECT_EQ(valueOf<std::string_view>(root["mode"]), "fast");
    EXPECT_EQ(valueOf<std::string_view>(root["model"]), "m");
    auto prompt = valueOf<std::string_view>(root["prompt"]);
    hasFirst |= prompt == "say \"a\"";
    hasSecond |= prompt == "b";
  }
  EXPECT_TRUE(hasFirst && hasSecond);
}

TEST(LoadPlan, ArrivalsAreAPoissonProcess) {
  TrafficOptions options;
  options.rate = 4;
  LoadPlan plan(options);
  double last = 0, squares = 0;
  const uint32_t count = 20000;
  for (uint32_t i = 0; i < count; ++i) {
    double gap = plan.arrival(i) - last;
    EXPECT_GE(gap, 0);
    squares += gap * gap;
    last = plan.arrival(i);
  }
  // The mean is 1 / rate, and the mean of squares 2 / rate^2.
  EXPECT_NEAR(last / count, 0.25, 0.01);
  EXPECT_NEAR(squares / count, 0.125, 0.01);
  EXPECT_EQ(LoadPlan(options).arrival(7), plan.arrival(7));
}

static RequestRecord record(double due, std::vector<double> parts,
                            uint64_t tokens, std::string error = "") {
  RequestRecord r;
  r.due = due;
  r.first = parts.front();
  r.last = parts.back();
  for (size_t i = 1; i < parts.size(); ++i)
    r.gaps.push_back(parts[i] - parts[i - 1]);
  r.promptTokens = 3;
  r.outputTokens = tokens;
  r.error = std::move(error);
  return r;
}

TEST(LoadReport, SummariesCountWhatWasAnswered) {
  LoadResult result;
  result.seconds = 4;
  result.cpuSeconds = 0.1;
  // Six tokens in three parts, and two in two.
  result.records = {record(0, {1, 1.5, 2}, 6), record(1, {1.25, 3}, 2),
                    record(0, {9, 9}, 100, "HTTP 429")};
  LoadSummary s = summarize(result);
  EXPECT_EQ(s.answered, 2u);
  EXPECT_EQ(s.errors.at("HTTP 429"), 1u);
  EXPECT_EQ(s.outputTokens, 8u);
  EXPECT_EQ(s.promptTokens, 6u);
  EXPECT_DOUBLE_EQ(s.tokensPerSecond, 2);
  EXPECT_DOUBLE_EQ(s.generatorShare, 0.025);
  EXPECT_DOUBLE_EQ(s.firstToken.p50, 0.625);
  EXPECT_DOUBLE_EQ(s.firstToken.most, 1);
  EXPECT_DOUBLE_EQ(s.between.most, 1.75);
  EXPECT_DOUBLE_EQ(s.between.p50, 0.5);
  EXPECT_DOUBLE_EQ(s.perToken.most, 1.75);
  EXPECT_DOUBLE_EQ(s.whole.p50, 2);
  TrafficOptions options;
  options.url = "http://x";
  std::string text = loadText(s, result, options);
  EXPECT_NE(text.find("failed, 1: HTTP 429"), std::string::npos) << text;
  simdjson::dom::parser parser;
  std::string json = loadJson(s, result, options);
  simdjson::dom::element root = parse(parser, json);
  EXPECT_EQ(valueOf<double>(root["between_events_seconds"]["most"]), 1.75);
  EXPECT_EQ(valueOf<uint64_t>(root["errors"]["HTTP 429"]), 1u);
}

TEST(LoadReport, NothingAnsweredHasNoTimes) {
  LoadResult result;
  result.seconds = 1;
  result.records = {record(0, {0, 0}, 0, "x")};
  LoadSummary s = summarize(result);
  EXPECT_TRUE(std::isnan(s.firstToken.p50));
  TrafficOptions options;
  EXPECT_NE(loadJson(s, result, options).find("null"), std::string::npos);
}
