//===- Gemms.h - Algorithms of a GPU's library ------------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_TUNE_GEMMS_H
#define MTP_TOOLS_MTP_TUNE_GEMMS_H

#include "runtime/core/Result.h"
#include "runtime/profile/Profile.h"

namespace mtp::tune {

/// Times the library's algorithms for the products that an artifact's plans for
/// GPUs leave to it, on this machine's GPU. Returns nothing if there are no
/// such products.
Result<std::vector<profile::GemmChoice>>
tuneProducts(const std::string &artifact);

} // namespace mtp::tune

#endif // MTP_TOOLS_MTP_TUNE_GEMMS_H
