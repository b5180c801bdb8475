//===- RowLogprobs.h - Log-probabilities of a row of logits -----*- C++ -*-===//

#ifndef MTP_RUNTIME_EXEC_RESULTS_ROWLOGPROBS_H
#define MTP_RUNTIME_EXEC_RESULTS_ROWLOGPROBS_H

#include "mtp/session.h"

#include <span>
#include <vector>

namespace mtp {

/// Computes log-probabilities from rows of logits. The weights of tokens are
/// those of the filters (SampleMath.h), whose sums are exact. A result is
/// therefore a function of its arguments, whatever else the object computes.
///
/// The logarithm of the sum is within 5e-7 of the exact value.
class RowLogprobs {
public:
  /// Returns the log-probabilities at a position whose token is `token`, one of
  /// the row's, with the `count` likeliest tokens. For Processed, `logits` are
  /// those that the pick is made from: a program that changes the model's
  /// logits (penalties, bias) gives the changed row.
  TokenLogprobs compute(std::span<const float> logits, int32_t token,
                        uint32_t count, LogprobsMode mode,
                        const SamplingParams &sampling);

private:
  /// One word for each logit.
  std::vector<uint64_t> scratch;
};

} // namespace mtp

#endif // MTP_RUNTIME_EXEC_RESULTS_ROWLOGPROBS_H
