//===- DrafterCheck.h - Is the drafter as good as it was? -------*- C++ -*-===//
//
// A missing, badly quantised or wrongly wired drafter changes no token, only
// the speed. So tools compare its acceptance on a text of their own with the
// acceptance that a profile has.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_TOOLS_SUPPORT_DRAFTERCHECK_H
#define MTP_TOOLS_SUPPORT_DRAFTERCHECK_H

#include "mtp/session.h"
#include "runtime/profile/Profile.h"

#include <span>
#include <string>
#include <vector>

namespace mtp {

/// Returns the prompts of the tools' own text, of several kinds, as tokens of
/// the model. A model with a chat template gets them as questions. A model
/// without a tokenizer gets fixed tokens.
Result<std::vector<std::vector<int32_t>>> ownPrompts(const Model &model);

/// Returns the kinds of these prompts in profiles, in their order.
std::span<const char *const> ownKinds();

/// Lets the drafts of a session never end by the drafter's confidence, so that
/// all of them have outcomes.
void makeAllDrafts(const Model &model, SessionOptions &options);

/// Generates greedy text after the prompts, with all drafts in each round, and
/// returns the outcomes. `options` has the threads of the session.
Result<profile::Outcomes> measureOutcomes(
    const std::shared_ptr<const Model> &model, SessionOptions options,
    const std::vector<std::vector<int32_t>> &prompts, uint32_t tokens);

/// The tokens after each prompt of a profile's check, and at the start of a
/// server, which must not wait long.
inline constexpr uint32_t kCheckTokens = 64, kStartTokens = 16;

/// Compares outcomes with expected ones. Returns a line of text if acceptance
/// is lower than noise explains, else nothing. Counts of a few drafts explain
/// any rate.
std::string compareOutcomes(const profile::Outcomes &expected,
                            const profile::Outcomes &got);

} // namespace mtp

#endif // MTP_TOOLS_SUPPORT_DRAFTERCHECK_H
