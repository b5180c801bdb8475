//===- LoadPlan.cpp - Plan the requests of a load test --------------------===//

#include "tools/mtp-bench/serve/LoadPlan.h"
#include "runtime/core/StrCat.h"
#include "runtime/json/JsonTree.h"
#include "runtime/json/JsonWriter.h"
#include "tools/support/TextFile.h"

#include <charconv>
#include <cmath>
#include <random>

using namespace mtp;
using namespace mtp::bench;

/// Smallest id in a random prompt. Smaller ids are often special tokens.
static constexpr uint32_t kFirstId = 3;

/// The purpose of a draw; each has its own random numbers.
enum class Use : uint32_t { Arrival, Prompt };

/// Returns a random engine, which is the same on all platforms, unlike the
/// library's distributions.
static std::mt19937_64 randomFor(uint64_t seed, uint32_t number, Use use) {
  std::seed_seq words{uint32_t(seed), uint32_t(seed >> 32), number,
                      uint32_t(use)};
  return std::mt19937_64(words);
}

/// Returns a number in [0, 1).
static double uniform(std::mt19937_64 &random) {
  return double(random() >> 11) * 0x1p-53;
}

static uint32_t draw(std::mt19937_64 &random, Range range) {
  uint64_t count = uint64_t(range.most) - range.least + 1;
  return range.least + uint32_t(uniform(random) * double(count));
}

Result<Range> bench::parseRange(const std::string &flag,
                                const std::string &text) {
  Range range;
  const char *at = text.data(), *end = at + text.size();
  auto least = std::from_chars(at, end, range.least);
  range.most = range.least;
  bool isRight = least.ec == std::errc();
  if (isRight && least.ptr != end) {
    auto most = std::from_chars(least.ptr + 1, end, range.most);
    isRight = *least.ptr == '-' && most.ec == std::errc() && most.ptr == end;
  }
  if (!isRight || range.least == 0 || range.most < range.least)
    return invalidArgument(strCat(
        flag, ": expected a number above 0 or a range of them (32-512), got '",
        text, "'"));
  return range;
}

Status bench::readPrompts(const std::string &path,
                          std::vector<std::string> &prompts) {
  Result<std::string> text = readTextFile(path);
  if (!text)
    return text.status().withContext(strCat("--prompts: ", path));
  for (std::string &line : linesOf(*text))
    prompts.push_back(std::move(line));
  if (prompts.empty())
    return invalidArgument(strCat("--prompts: expected a prompt a line in '",
                                  path, "', got none"));
  return okStatus();
}

Status bench::readField(const std::string &text, TrafficOptions &options) {
  size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    return invalidArgument(
        strCat("--field: expected NAME=VALUE, got '", text, "'"));
  std::string value = text.substr(equals + 1);
  if (!JsonTree::of(value).isOk()) {
    JsonWriter quoted(JsonWriter::Layout::OneLine);
    quoted.value(value);
    value = quoted.text();
  }
  options.fields.emplace_back(text.substr(0, equals), value);
  return okStatus();
}

double LoadPlan::arrival(uint32_t number) {
  while (arrivals.size() <= number) {
    std::mt19937_64 random =
        randomFor(options.seed, uint32_t(arrivals.size()), Use::Arrival);
    double gap = -std::log1p(-uniform(random)) / options.rate;
    arrivals.push_back((arrivals.empty() ? 0 : arrivals.back()) + gap);
  }
  return arrivals[number];
}

std::string LoadPlan::body(uint32_t number) const {
  std::mt19937_64 random = randomFor(options.seed, number, Use::Prompt);
  JsonWriter json(JsonWriter::Layout::OneLine);
  json.beginObject();
  if (!options.model.empty())
    json.field("model", options.model);
  // Drawn in any case, so that answers are as long with ids as with texts.
  uint32_t length = draw(random, options.promptTokens);
  uint32_t output = draw(random, options.outputTokens);
  if (options.prompts.empty()) {
    std::vector<uint32_t> ids(length);
    for (uint32_t &id : ids)
      id = draw(random, {kFirstId, options.vocab - 1});
    json.field("prompt", ids);
  } else {
    uint32_t last = uint32_t(options.prompts.size()) - 1;
    json.field("prompt", options.prompts[draw(random, {0, last})]);
  }
  json.field("max_tokens", output);
  json.field("temperature", double(options.temperature));
  // vLLM and SGLang accept 63 bits.
  json.field("seed", (options.seed + number) & INT64_MAX);
  json.field("ignore_eos", true);
  json.field("stream", true);
  json.key("stream_options");
  json.beginObject();
  json.field("include_usage", true);
  json.endObject();
  for (const auto &[name, value] : options.fields) {
    json.key(name);
    json.raw(value);
  }
  json.endObject();
  return json.text();
}
