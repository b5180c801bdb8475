//===- DumpProfile.h - Print a profile --------------------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_DUMP_DUMPPROFILE_H
#define MTP_TOOLS_MTP_DUMP_DUMPPROFILE_H

#include "runtime/profile/Profile.h"

#include <string>

namespace mtp {

/// Returns the content of a profile as text, and as JSON.
std::string profileText(const profile::Profile &profile);
std::string profileJson(const profile::Profile &profile);

} // namespace mtp

#endif // MTP_TOOLS_MTP_DUMP_DUMPPROFILE_H
