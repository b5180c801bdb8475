//===- ResumedScores.h - Log-probabilities for a gate -----------*- C++ -*-===//
//
// The last events of a response repeat all its log-probabilities. A stream that
// goes on at another server therefore needs the numbers of the tokens that its
// client has. Floats are written as the integers of their bits, so they come
// back unchanged.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_TOOLS_MTP_SERVE_API_SAMPLING_RESUMEDSCORES_H
#define MTP_TOOLS_MTP_SERVE_API_SAMPLING_RESUMEDSCORES_H

#include "mtp/logprobs.h"
#include "mtp/status.h"
#include "runtime/json/JsonTree.h"
#include "runtime/json/JsonWriter.h"

#include <span>
#include <vector>

namespace mtp::serve {

/// Writes an array for each token: the bits of its log-probability, then id and
/// bits of each likeliest token.
void writeResumedScores(JsonWriter &json,
                        std::span<const TokenLogprobs> scores);

/// Reads what writeResumedScores() wrote. The results lack the ids of the
/// tokens themselves. `vocab` is the number of token ids. Returns
/// InvalidArgument if the value has another form.
Status readResumedScores(const simdjson::dom::element &element, uint32_t vocab,
                         std::vector<TokenLogprobs> &scores);

/// Gives the numbers of read scores the tokens that they belong to. Returns
/// InvalidArgument if there are scores, but not one for each token.
Status pairResumedScores(std::span<const int32_t> tokens,
                         std::span<TokenLogprobs> scores);

} // namespace mtp::serve

#endif // MTP_TOOLS_MTP_SERVE_API_SAMPLING_RESUMEDSCORES_H
