//===- Collectives.h - Meetings of the lanes of a warp ----------*- C++ -*-===//

#ifndef MTP_TEST_GPUSIM_THREADS_COLLECTIVES_H
#define MTP_TEST_GPUSIM_THREADS_COLLECTIVES_H

#include "Block.h"

namespace mtp::gpusim {

/// Lanes that met. Entries outside of the mask are null.
struct Lanes {
  Thread *lane[32];
  uint32_t mask;
};

/// Waits until every lane of `mask` has called `name` with an equal mask. The
/// last one runs `compute` for all of them. It is a fault if a lane is missing
/// from its own mask, does not exist, has ended, or waits elsewhere.
void meet(const char *name, uint32_t mask, void *result, const void *arguments,
          void (*compute)(const Lanes &));

inline constexpr uint32_t kFullWarp = 0xffffffff;

} // namespace mtp::gpusim

#endif // MTP_TEST_GPUSIM_THREADS_COLLECTIVES_H
