//===- HostOutputs.h - Outputs that the host knows by name ------*- C++ -*-===//

#ifndef MTP_RUNTIME_SCHEMA_HOSTOUTPUTS_H
#define MTP_RUNTIME_SCHEMA_HOSTOUTPUTS_H

#include <string_view>

namespace mtp {

/// The outputs of programs that the host reads by their names, which no output
/// for requests may have. Those from "path" on are a round's alone.
inline constexpr std::string_view kHostOutputs[] = {
    "logits", "picks",   "tokens", "path",   "places",
    "again",  "drafted", "drafts", "parents"};

} // namespace mtp

#endif // MTP_RUNTIME_SCHEMA_HOSTOUTPUTS_H
