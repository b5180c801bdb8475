//===- ConfidenceStates.h - The drafter's confidence ------------*- C++ -*-===//
//
// States of drafters that know how likely each draft is to be accepted.
// FORMAT.md describes them.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_SCHEMA_CONFIDENCESTATES_H
#define MTP_RUNTIME_SCHEMA_CONFIDENCESTATES_H

#include <string_view>

namespace mtp {

/// The f32 of a slot that its drafts end by: an input of requests, whose
/// initial value is the compiled one.
inline constexpr std::string_view kDraftPMin = "draft_p_min";

/// By round of a launch and by draft, the f32 confidence in a slot's draft, or
/// kNoDraft if the slot ended its drafts before.
inline constexpr std::string_view kShownConfidence = "shown_confidence";
inline constexpr float kNoDraft = -1;

} // namespace mtp

#endif // MTP_RUNTIME_SCHEMA_CONFIDENCESTATES_H
