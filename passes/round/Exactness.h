//===- Exactness.h - Is output that of k = 0? -------------------*- C++ -*-===//

#ifndef MTP_PASSES_ROUND_EXACTNESS_H
#define MTP_PASSES_ROUND_EXACTNESS_H

#include "dialects/MTP/IR/MTPOps.h"

namespace mlir::mtp {

/// Why output may differ from that of k = 0, and where that is seen.
struct Doubt {
  Location loc;
  std::string why;
};

/// Looks for what makes output of `round`, and of `prefill` where the module
/// has one, depend on k, though an exact mtp.accept compares drafts with picks.
/// Output is that of k = 0 where mtp.commit alone writes it, and picks are made
/// of tokens, positions, weights and what a request brings.
///
/// Calls are inlined by then, and the round is written for every k.
std::optional<Doubt> findDoubt(RoundOp round, PrefillOp prefill);

} // namespace mlir::mtp

#endif // MTP_PASSES_ROUND_EXACTNESS_H
