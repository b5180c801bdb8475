//===- UniqueName.h - Names of temporary files ------------------*- C++ -*-===//

#ifndef MTP_RUNTIME_CORE_UNIQUENAME_H
#define MTP_RUNTIME_CORE_UNIQUENAME_H

#include <string>
#include <string_view>

namespace mtp {

/// Returns `prefix` and 16 random hexadecimal digits. Threads, processes and
/// containers that share a folder get different names. A process id would not
/// do: containers number their processes alike, and a killed process leaves its
/// name. Any thread may call the function.
std::string uniqueName(std::string_view prefix);

} // namespace mtp

#endif // MTP_RUNTIME_CORE_UNIQUENAME_H
