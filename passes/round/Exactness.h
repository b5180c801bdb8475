//===- Exactness.h - Does output equal that of k = 0? -----------*- C++ -*-===//

#ifndef MTP_PASSES_ROUND_EXACTNESS_H
#define MTP_PASSES_ROUND_EXACTNESS_H

#include "dialects/MTP/IR/MTPOps.h"

namespace mlir::mtp {

/// Why the output may differ from the output of k = 0, and the op that shows
/// it.
struct Doubt {
  Location loc;
  std::string why;
};

/// Searches for reasons why the output of `round`, and of `prefill` if the
/// module has one, depends on k, although an exact mtp.accept compares drafts
/// with picks. The output equals that of k = 0 if only mtp.commit writes it,
/// and if picks depend only on tokens, positions, weights and the request's
/// inputs.
///
/// Calls must be inlined already, and the round must be instantiated for every
/// k.
std::optional<Doubt> findDoubt(RoundOp round, PrefillOp prefill);

} // namespace mlir::mtp

#endif // MTP_PASSES_ROUND_EXACTNESS_H
