//===- Collectives.h - Where the lanes of a warp meet -----------*- C++ -*-===//

#ifndef TEST_GPUSIM_COLLECTIVES_H
#define TEST_GPUSIM_COLLECTIVES_H

#include "Block.h"

namespace mtp::gpusim {

/// The lanes that met: null where the mask has none.
struct Lanes {
  Thread *lane[32];
  uint32_t mask;
};

/// Waits until every lane of `mask` has called the same `name` with the same
/// mask; the last one runs `compute` for all of them. A lane that is not in
/// its own mask, does not exist, ended, or waits elsewhere is a fault.
void meet(const char *name, uint32_t mask, void *result, const void *arguments,
          void (*compute)(const Lanes &));

inline constexpr uint32_t kFullWarp = 0xffffffff;

} // namespace mtp::gpusim

#endif // TEST_GPUSIM_COLLECTIVES_H
