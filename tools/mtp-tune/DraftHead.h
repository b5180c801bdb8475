//===- DraftHead.h - The head that a drafter reads --------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_TUNE_DRAFTHEAD_H
#define MTP_TOOLS_MTP_TUNE_DRAFTHEAD_H

#include "runtime/artifact/Artifact.h"
#include "runtime/profile/Profile.h"

namespace mtp::tune {

/// Returns the head of a plan's drafter, and its share of the bytes of weights
/// that a round's drafts read. Without drafts, and if drafts come from a part
/// of the vocabulary, there is none.
profile::DraftHead findDraftHead(const Artifact &artifact, const Plan &plan);

} // namespace mtp::tune

#endif // MTP_TOOLS_MTP_TUNE_DRAFTHEAD_H
