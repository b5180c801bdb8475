//===- Calls.h - Functions that images call ---------------------*- C++ -*-===//

#ifndef MTP_TEST_GPUSIM_THREADS_CALLS_H
#define MTP_TEST_GPUSIM_THREADS_CALLS_H

#include "test/GpuSim/target/SimAbi.h"

namespace mtp::gpusim {

/// Returns the function that an image imports by that name, or null.
void *findCall(const char *name);

namespace calls {
// One function for each call of the ABI. A call of the list that no file
// defines does not link. Their names are the names of NVVM's intrinsics.
#define MTP_DECLARE(name) void name(void *result, const void *arguments);
MTP_SIM_CALLS(MTP_DECLARE) // NOLINT(readability-identifier-naming)
#undef MTP_DECLARE
} // namespace calls

} // namespace mtp::gpusim

#endif // MTP_TEST_GPUSIM_THREADS_CALLS_H
