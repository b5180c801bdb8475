//===- AcceptSpec.cpp - The rule that accepts drafts ----------------------===//

#include "compiler/Import/plan/AcceptSpec.h"

#include <array>
#include <charconv>
#include <optional>

namespace mtp::importer {

namespace {

/// Defaults from Medusa's code.
constexpr double kEpsilon = 0.09, kDelta = 0.3;

Status unexpected(std::string_view text, const std::string &what) {
  return invalidArgument("--accept: expected " + what + ", got '" +
                         std::string(text) + "'");
}

/// Reads exactly two numbers, separated by a comma.
std::optional<std::array<double, 2>> parsePair(std::string_view text) {
  std::array<double, 2> numbers = {};
  const char *at = text.data(), *end = at + text.size();
  for (double &number : numbers) {
    auto [next, error] = std::from_chars(at, end, number);
    bool isLast = &number == &numbers.back();
    if (error != std::errc() || (next == end) != isLast ||
        (!isLast && *next != ','))
      return std::nullopt;
    at = next + 1;
  }
  return numbers;
}

/// Returns true if 0 < x <= 1. False for NaN.
bool isShare(double x) { return x > 0 && x <= 1; }

Result<AcceptSpec> parseTypical(std::string_view text,
                                std::string_view numbers) {
  AcceptSpec spec{AcceptKind::Typical, kEpsilon, kDelta};
  if (text.find(':') == text.npos)
    return spec;
  auto pair = parsePair(numbers);
  if (!pair)
    return unexpected(text, "typical[:epsilon,delta]");
  spec.epsilon = (*pair)[0];
  spec.delta = (*pair)[1];
  if (!isShare(spec.epsilon) || !isShare(spec.delta))
    return unexpected(text, "typical:epsilon,delta with 0 < epsilon, delta "
                            "<= 1");
  return spec;
}

Result<AcceptSpec> parseRelaxed(std::string_view text,
                                std::string_view numbers) {
  auto pair = parsePair(numbers);
  if (!pair)
    return unexpected(text, "relaxed:N,delta");
  AcceptSpec spec{AcceptKind::Relaxed, 0, (*pair)[1]};
  bool isCount = (*pair)[0] >= 1 && (*pair)[0] <= kMostRelaxed;
  if (isCount)
    spec.few = int64_t((*pair)[0]);
  if (!isCount || double(spec.few) != (*pair)[0] ||
      !(spec.delta >= 0 && spec.delta <= 1))
    return unexpected(
        text, "relaxed:N,delta with 1 <= N <= " + std::to_string(kMostRelaxed) +
                  " and 0 <= delta <= 1");
  return spec;
}

} // namespace

std::string shortest(double x) {
  std::array<char, 32> text;
  auto end = std::to_chars(text.data(), text.data() + text.size(), x).ptr;
  return std::string(text.data(), end);
}

Result<AcceptSpec> parseAcceptSpec(std::string_view text) {
  std::string_view name = text.substr(0, text.find(':'));
  std::string_view numbers =
      text.substr(std::min(name.size() + 1, text.size()));
  if (name == "typical")
    return parseTypical(text, numbers);
  if (name == "relaxed")
    return parseRelaxed(text, numbers);
  if (text == "exact")
    return AcceptSpec();
  if (text == "rejection")
    return AcceptSpec{AcceptKind::Rejection};
  if (text == "rejection:best")
    return AcceptSpec{AcceptKind::RejectionBest};
  if (text == "block")
    return AcceptSpec{AcceptKind::Block};
  return unexpected(text, "exact, rejection[:best], block, "
                          "typical[:epsilon,delta] or relaxed:N,delta");
}

std::string ruleName(const AcceptSpec &spec) {
  switch (spec.kind) {
  case AcceptKind::Exact:
    return "exact";
  case AcceptKind::Rejection:
    return "rejection";
  case AcceptKind::RejectionBest:
    return "rejection:best";
  case AcceptKind::Block:
    return "block";
  case AcceptKind::Typical:
    return "typical:" + shortest(spec.epsilon) + "," + shortest(spec.delta);
  case AcceptKind::Relaxed:
    return "relaxed:" + std::to_string(spec.few) + "," + shortest(spec.delta);
  }
  return "";
}

} // namespace mtp::importer
