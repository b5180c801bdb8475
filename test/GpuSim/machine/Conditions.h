//===- Conditions.h - Values of conditional nodes, and hooks ----*- C++ -*-===//

#ifndef MTP_TEST_GPUSIM_MACHINE_CONDITIONS_H
#define MTP_TEST_GPUSIM_MACHINE_CONDITIONS_H

#include "KernelRun.h"
#include <cstdint>
#include <functional>

namespace mtp::gpusim {

/// Sets a function that runs after every turn of a loop, for tests. It may be
/// empty.
using TurnHook = std::function<void()>;
void setTurnHook(TurnHook hook);
/// Sets a function that runs after every kernel of a graph.
void setKernelHook(std::function<void(const KernelRun &)> hook);

/// Sets a condition, for a kernel. Returns false if the running graph has no
/// such handle.
bool setCondition(uint64_t handle, uint32_t value);

} // namespace mtp::gpusim

#endif // MTP_TEST_GPUSIM_MACHINE_CONDITIONS_H
