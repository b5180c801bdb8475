//===- AcceptSpec.cpp - The rule that accepts drafts ----------------------===//

#include "compiler/Import/plan/AcceptSpec.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace mtp::importer {

namespace {

Status unexpected(std::string_view text, const std::string &what) {
  return invalidArgument("--accept: expected " + what + ", got '" +
                         std::string(text) + "'");
}

/// Reads exactly `count` numbers, separated by commas.
std::optional<std::vector<double>> parseNumbers(std::string_view text,
                                                size_t count) {
  std::vector<double> numbers(count);
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

/// Returns false for NaN.
bool isInRange(const RuleNumber &number, double x) {
  bool isAbove = number.excludesLeast ? x > number.least : x >= number.least;
  return isAbove && x <= number.most && (!number.isWhole || x == std::floor(x));
}

bool hasDefaults(const AcceptRule &rule) {
  return !rule.numbers.empty() && rule.numbers.front().fallback;
}

/// Returns the names of a rule's numbers: "epsilon,delta".
std::string numberNames(const AcceptRule &rule) {
  std::string names;
  for (const RuleNumber &number : rule.numbers)
    names += (names.empty() ? "" : ",") + number.name;
  return names;
}

/// Returns the form of a rule: "typical[:epsilon,delta]".
std::string formOf(const AcceptRule &rule) {
  if (rule.numbers.empty())
    return rule.name;
  std::string numbers = ":" + numberNames(rule);
  return rule.name + (hasDefaults(rule) ? "[" + numbers + "]" : numbers);
}

/// Returns the ranges of a rule's numbers: "1 <= N <= 64 and 0 < delta <= 1".
std::string rangesOf(const AcceptRule &rule) {
  std::string ranges;
  for (const RuleNumber &number : rule.numbers)
    ranges += (ranges.empty() ? "" : " and ") + shortest(number.least) +
              (number.excludesLeast ? " < " : " <= ") + number.name +
              " <= " + shortest(number.most);
  return ranges;
}

/// Joins "a", "b" and "c" to "a, b or c".
std::string alternatives(const std::vector<std::string> &texts) {
  std::string joined;
  for (size_t i = 0; i < texts.size(); ++i)
    joined += (i == 0 ? "" : i + 1 == texts.size() ? " or " : ", ") + texts[i];
  return joined;
}

/// Reads NAME or NAME:X,Y, where NAME is the rule's.
Result<AcceptSpec> parseRule(std::string_view text, const AcceptRule &rule) {
  AcceptSpec spec{rule, {}, {}};
  if (text.size() == rule.name.size()) {
    if (!rule.numbers.empty() && !hasDefaults(rule))
      return unexpected(text, formOf(rule));
    for (const RuleNumber &number : rule.numbers)
      spec.numbers.push_back(*number.fallback);
    return spec;
  }
  auto numbers =
      parseNumbers(text.substr(rule.name.size() + 1), rule.numbers.size());
  if (!numbers || numbers->empty())
    return unexpected(text, formOf(rule));
  spec.numbers = std::move(*numbers);
  for (size_t i = 0; i < spec.numbers.size(); ++i)
    if (!isInRange(rule.numbers[i], spec.numbers[i]))
      return unexpected(text, rule.name + ":" + numberNames(rule) + " with " +
                                  rangesOf(rule));
  return spec;
}

} // namespace

bool RuleFunction::sees(std::string_view argument) const {
  return std::find(takes.begin(), takes.end(), argument) != takes.end();
}

bool AcceptRule::takesTrees() const {
  return isExact() || (ofDrawn && ofDrawn->takesTrees) ||
         (ofOthers && ofOthers->takesTrees);
}

std::optional<double> AcceptSpec::find(std::string_view name) const {
  for (size_t i = 0; i < numbers.size(); ++i)
    if (rule.numbers[i].name == name)
      return numbers[i];
  return std::nullopt;
}

std::string shortest(double x) {
  std::array<char, 32> text;
  auto end = std::to_chars(text.data(), text.data() + text.size(), x).ptr;
  return std::string(text.data(), end);
}

Result<AcceptSpec> parseAcceptSpec(std::string_view text,
                                   std::span<const AcceptRule> rules) {
  if (text == "exact")
    return AcceptSpec();
  std::vector<std::string> forms = {"exact"}, forTrees = {"exact"};
  // A name may contain a colon: the longest name that fits is the rule's.
  const AcceptRule *best = nullptr;
  for (const AcceptRule &rule : rules) {
    forms.push_back(formOf(rule));
    if (rule.takesTrees())
      forTrees.push_back(rule.name);
    bool fits = text.starts_with(rule.name) &&
                (text.size() == rule.name.size() ||
                 (text[rule.name.size()] == ':' && !rule.numbers.empty()));
    if (fits && (!best || rule.name.size() > best->name.size()))
      best = &rule;
  }
  if (!best)
    return unexpected(text, alternatives(forms));
  MTP_ASSIGN_OR_RETURN(AcceptSpec spec, parseRule(text, *best));
  spec.rulesForTrees = alternatives(forTrees);
  return spec;
}

std::string listRules(std::span<const AcceptRule> rules, bool areLossy) {
  std::string list;
  for (const AcceptRule &rule : rules)
    if (rule.isLossy == areLossy)
      list += (list.empty() ? "" : ", ") + formOf(rule);
  return list;
}

std::string ruleName(const AcceptSpec &spec) {
  std::string name = spec.rule.name;
  for (size_t i = 0; i < spec.numbers.size(); ++i)
    name += (i == 0 ? ":" : ",") + shortest(spec.numbers[i]);
  return name;
}

} // namespace mtp::importer
