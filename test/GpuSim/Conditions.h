//===- Conditions.h - Values of conditional nodes ---------------*- C++ -*-===//

#ifndef TEST_GPUSIM_CONDITIONS_H
#define TEST_GPUSIM_CONDITIONS_H

#include <cstdint>

namespace mtp::gpusim {

/// Called by a kernel; false where the graph that runs has no such handle.
bool setCondition(uint64_t handle, uint32_t value);

} // namespace mtp::gpusim

#endif // TEST_GPUSIM_CONDITIONS_H
