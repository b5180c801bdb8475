//===- Processors.h - How many processors there are for us ------*- C++ -*-===//

#ifndef MTP_RUNTIME_CORE_PROCESSORS_H
#define MTP_RUNTIME_CORE_PROCESSORS_H

#include "runtime/core/Cgroup.h"

#include <cstdint>

namespace mtp {

/// Processors that this process may keep busy: those of its affinity mask, or
/// fewer where a control group's quota gives it less time. At least 1.
uint32_t usableProcessors();

/// The processors' worth of time that the control groups of this process grant,
/// rounded up; nothing when none of them has a quota, or when what they say
/// cannot be read.
std::optional<uint32_t> quotaProcessors(const SystemFiles &files = {});

} // namespace mtp

#endif // MTP_RUNTIME_CORE_PROCESSORS_H
