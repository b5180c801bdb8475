//===- AcceptSpec.h - The rule that accepts drafts --------------*- C++ -*-===//
//
// The rule that --accept names, with its numbers. `exact` is an attribute of
// mtp.accept. Each other rule is declared at its function in the library's
// rules.mlir (library/RuleReader.h).
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_IMPORT_PLAN_ACCEPTSPEC_H
#define MTP_COMPILER_IMPORT_PLAN_ACCEPTSPEC_H

#include "runtime/core/Result.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mtp::importer {

/// How a drafter chooses the drafts that a rule judges.
enum class DraftChoice {
  Picked, ///< As the target picks its tokens, with the target's noise.
  Best,   ///< The best of their logits.
  Drawn,  ///< Drawn from the drafter's distribution, if the drafter has one;
          ///< else the best of their logits.
};

/// A number of a rule and its range, [least, most] or (least, most].
struct RuleNumber {
  std::string name;
  double least = 0, most = 0;
  bool excludesLeast = false;
  bool isWhole = false;
  std::optional<double> fallback; ///< Set for all numbers of a rule or none.

  bool operator==(const RuleNumber &) const = default;
};

/// A function that computes a rule.
struct RuleFunction {
  std::string name;
  /// Names of the function's arguments, from the first to the last: names of
  /// RULES.md, or of the rule's numbers.
  std::vector<std::string> takes;
  /// The number of columns of `best` and `logs`: a number of the rule.
  std::string columns;
  /// True if `u` and `v` go by the anchor's position (@numbers_by_anchor).
  bool goesByAnchor = false;
  /// True if the function returns the last node, so that it takes trees.
  bool takesTrees = false;

  bool sees(std::string_view argument) const;
};

/// A rule as declared.
struct AcceptRule {
  std::string name = "exact";
  DraftChoice drafts = DraftChoice::Picked;
  bool isLossy = false;
  std::vector<RuleNumber> numbers;
  /// The function that takes the distributions of drawn drafts, and the
  /// function for other drafts; one of the two may be absent.
  std::optional<RuleFunction> ofDrawn, ofOthers;

  bool isExact() const { return name == "exact"; }
  bool takesTrees() const;
};

/// A rule with its numbers. By default `exact`.
struct AcceptSpec {
  AcceptRule rule;
  std::vector<double> numbers;
  /// The names of all rules that take trees, for messages.
  std::string rulesForTrees;

  bool isExact() const { return rule.isExact(); }
  /// Returns the value of the number `name`, if the rule has the number.
  std::optional<double> find(std::string_view name) const;
};

/// Reads `exact` or one of `rules`: NAME, or NAME:X,Y with numbers. An error
/// lists the known rules, or the ranges of the rule's numbers.
Result<AcceptSpec> parseAcceptSpec(std::string_view text,
                                   std::span<const AcceptRule> rules);

/// Returns the forms of the lossless or lossy rules for --help, separated by
/// commas: "typical[:epsilon,delta], relaxed:N,delta".
std::string listRules(std::span<const AcceptRule> rules, bool areLossy);

/// Returns the shortest text that parses to `x`.
std::string shortest(double x);

/// Returns the rule with its numbers, for messages: "typical:0.09,0.3".
std::string ruleName(const AcceptSpec &spec);

} // namespace mtp::importer

#endif // MTP_COMPILER_IMPORT_PLAN_ACCEPTSPEC_H
