//===- AcceptSpec.h - The rule that accepts drafts --------------*- C++ -*-===//
//
// The rule that --accept names, with its numbers.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_IMPORT_PLAN_ACCEPTSPEC_H
#define MTP_COMPILER_IMPORT_PLAN_ACCEPTSPEC_H

#include "runtime/core/Result.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace mtp::importer {

enum class AcceptKind {
  Exact,         ///< Drafts that equal the target's picks. Lossless.
  Rejection,     ///< Speculative sampling (arXiv:2211.17192) of drawn drafts.
  RejectionBest, ///< Rejection of drafts that are the argmax of their logits.
  Block,         ///< Block verification (arXiv:2403.10444) of drawn drafts.
  Typical,       ///< Drafts that are likely enough (arXiv:2401.10774). Lossy.
  Relaxed,       ///< Drafts among the target's best tokens. Lossy.
};

/// Largest number of best tokens for --accept relaxed.
inline constexpr int64_t kMostRelaxed = 64;

struct AcceptSpec {
  AcceptKind kind = AcceptKind::Exact;
  /// The numbers of typical (0 < epsilon, delta <= 1) and relaxed (0 <= delta
  /// <= 1).
  double epsilon = 0, delta = 0;
  /// The number of best tokens for relaxed, 1 to kMostRelaxed.
  int64_t few = 0;

  bool isLossy() const {
    return kind == AcceptKind::Typical || kind == AcceptKind::Relaxed;
  }
  bool takesTrees() const { return kind != AcceptKind::Block; }
};

/// Reads exact, rejection, rejection:best, block, typical[:epsilon,delta] or
/// relaxed:N,delta. An error lists the known rules, or the range of a number.
Result<AcceptSpec> parseAcceptSpec(std::string_view text);

/// Returns the shortest text that parses to `x`.
std::string shortest(double x);

/// Returns the rule with its numbers, for messages: "typical:0.09,0.3".
std::string ruleName(const AcceptSpec &spec);

} // namespace mtp::importer

#endif // MTP_COMPILER_IMPORT_PLAN_ACCEPTSPEC_H
