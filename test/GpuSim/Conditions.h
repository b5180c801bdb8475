//===- Conditions.h - Values of conditional nodes, and hooks ----*- C++ -*-===//

#ifndef TEST_GPUSIM_CONDITIONS_H
#define TEST_GPUSIM_CONDITIONS_H

#include "KernelRun.h"
#include <cstdint>
#include <functional>

namespace mtp::gpusim {

/// Called after every turn of a loop, for tests; may be empty.
using TurnHook = std::function<void()>;
void setTurnHook(TurnHook hook);
/// The same behind every kernel of a graph.
void setKernelHook(std::function<void(const KernelRun &)> hook);

/// Called by a kernel; false where the graph that runs has no such handle.
bool setCondition(uint64_t handle, uint32_t value);

} // namespace mtp::gpusim

#endif // TEST_GPUSIM_CONDITIONS_H
