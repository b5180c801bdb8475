//===- HostStates.h - States that only the host writes ----------*- C++ -*-===//

#ifndef MTP_RUNTIME_SCHEMA_HOSTSTATES_H
#define MTP_RUNTIME_SCHEMA_HOSTSTATES_H

#include <string_view>

namespace mtp {

/// States that the host writes and no kernel writes. The compiler refuses a
/// store to one (dialects/MTP/IR/StateTable.cpp), and the loader refuses a
/// kernel that would write one.
inline constexpr std::string_view kHostWrittenStates[] = {
    "active",        "page_table",       "sampling",     "stop_tokens",
    "prompt_tokens", "prompt_positions", "prompt_slots", "prompt_sequences",
    "draft_limit",   "drafter_places",   "logit_rules",  "logit_bias",
    "logit_masks",   "host_drafts"};

} // namespace mtp

#endif // MTP_RUNTIME_SCHEMA_HOSTSTATES_H
