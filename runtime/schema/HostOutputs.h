//===- HostOutputs.h - Outputs that the host knows by name ------*- C++ -*-===//

#ifndef MTP_RUNTIME_SCHEMA_HOSTOUTPUTS_H
#define MTP_RUNTIME_SCHEMA_HOSTOUTPUTS_H

#include <string_view>

namespace mtp {

/// Outputs of programs that the host reads by name. An output for requests must
/// not have one of these names. Only rounds have the outputs from "path" on.
inline constexpr std::string_view kHostOutputs[] = {
    "logits", "picks",   "tokens", "path",   "places",
    "again",  "drafted", "drafts", "parents"};

} // namespace mtp

#endif // MTP_RUNTIME_SCHEMA_HOSTOUTPUTS_H
