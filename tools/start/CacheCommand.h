//===- CacheCommand.h - Listing and clearing caches -------------*- C++ -*-===//

#ifndef MTP_TOOLS_START_CACHECOMMAND_H
#define MTP_TOOLS_START_CACHECOMMAND_H

#include "runtime/core/Result.h"

#include <string>

namespace mtp::start {

/// Value of `--cache`.
enum class CacheCommand { None, List, Clear };

/// Lists or clears the caches of compiled models and of kernels. Returns the
/// text for standard output. Fails if a cache cannot be opened.
Result<std::string> runCacheCommand(CacheCommand command);

} // namespace mtp::start

#endif // MTP_TOOLS_START_CACHECOMMAND_H
