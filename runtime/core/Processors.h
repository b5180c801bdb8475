//===- Processors.h - Usable processors -------------------------*- C++ -*-===//

#ifndef MTP_RUNTIME_CORE_PROCESSORS_H
#define MTP_RUNTIME_CORE_PROCESSORS_H

#include "runtime/core/Cgroup.h"

#include <cstdint>

namespace mtp {

/// Returns the number of processors that this process may keep busy: the size
/// of its affinity mask, or fewer if a control group's quota gives it less
/// time. At least 1.
uint32_t usableProcessors();

/// Returns the number of processors that the quotas of this process's control
/// groups allow, rounded up. Nothing if no group has a quota or the files
/// cannot be read.
std::optional<uint32_t> quotaProcessors(const SystemFiles &files = {});

} // namespace mtp

#endif // MTP_RUNTIME_CORE_PROCESSORS_H
