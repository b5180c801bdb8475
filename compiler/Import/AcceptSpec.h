//===- AcceptSpec.h - Which rule accepts drafts -----------------*- C++ -*-===//
//
// What --accept says: a rule with its numbers.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_IMPORT_ACCEPTSPEC_H
#define MTP_COMPILER_IMPORT_ACCEPTSPEC_H

#include "runtime/core/Result.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace mtp::importer {

enum class AcceptKind {
  Exact,         ///< Drafts that are the target's picks; lossless to the bit.
  Rejection,     ///< Speculative sampling (arXiv:2211.17192); drafts are drawn.
  RejectionBest, ///< The same of drafts that are the best of their logits.
  Block,         ///< Block verification (arXiv:2403.10444), of such drafts.
  Typical,       ///< What is likely enough (arXiv:2401.10774); lossy.
  Relaxed,       ///< What is among the best; lossy.
};

/// Tokens that --accept relaxed may count among the best.
inline constexpr int64_t kMostRelaxed = 64;

struct AcceptSpec {
  AcceptKind kind = AcceptKind::Exact;
  /// Of typical: 0 < epsilon, delta <= 1. Of relaxed: 0 <= delta <= 1.
  double epsilon = 0, delta = 0;
  /// Of relaxed: how many are the best, 1 to kMostRelaxed.
  int64_t few = 0;

  bool isLossy() const {
    return kind == AcceptKind::Typical || kind == AcceptKind::Relaxed;
  }
  bool takesTrees() const { return kind != AcceptKind::Block; }
};

/// Reads exact, rejection, rejection:best, block, typical[:epsilon,delta] or
/// relaxed:N,delta. An error says what is known, or what a number may be.
Result<AcceptSpec> parseAcceptSpec(std::string_view text);

/// The shortest text that reads as the number.
std::string shortest(double x);

/// The rule with its numbers, for people: "typical:0.09,0.3".
std::string ruleName(const AcceptSpec &spec);

} // namespace mtp::importer

#endif // MTP_COMPILER_IMPORT_ACCEPTSPEC_H
