//===- BadWords.h - Token sequences that texts must not have ----*- C++ -*-===//

#ifndef MTP_RUNTIME_EXEC_LAUNCH_BADWORDS_H
#define MTP_RUNTIME_EXEC_LAUNCH_BADWORDS_H

#include "mtp/constraint.h"
#include "mtp/logit_rules.h"

#include <span>

namespace mtp {

/// Returns whether the rules have bad words of several tokens, for which each
/// row has a mask. Other bad words are biases.
bool haveLongBadWords(const LogitRules &rules);

/// Returns a constraint that allows the tokens of `inner`, or all tokens if it
/// is null, without the last tokens of bad words that the text would complete.
/// If no token were left, the tokens of `inner` are allowed. `begun`: output
/// before the text (LogitRules::begunTokens), in which words may begin. Returns
/// `inner` if the rules have no bad words of several tokens.
std::shared_ptr<const TokenConstraint>
withoutBadWords(const LogitRules &rules, uint32_t vocab,
                std::shared_ptr<const TokenConstraint> inner,
                std::span<const int32_t> begun = {});

} // namespace mtp

#endif // MTP_RUNTIME_EXEC_LAUNCH_BADWORDS_H
