//===- Simulator.h - The state of the simulated device ----------*- C++ -*-===//

#ifndef TEST_GPUSIM_SIMULATOR_H
#define TEST_GPUSIM_SIMULATOR_H

#include "Fiber.h"
#include "Memory.h"
#include "Races.h"
#include <cstdint>
#include <string>

namespace mtp::gpusim {

/// Limits of sm_90.
inline constexpr uint32_t kDefaultDynamic = 48 << 10;
inline constexpr uint32_t kMaxShared = 227 << 10;

/// One device, one process. Entry points hold a lock, so that all below is
/// one thread's.
class Simulator {
public:
  Simulator();

  /// A number below `bound` that follows from the seed.
  uint32_t random(uint32_t bound);
  uint64_t seed() const { return seedValue; }
  void setSeed(uint64_t seed);
  /// Numbers of launches and blocks, never 0.
  uint32_t nextStamp() { return ++stampCount; }
  /// Between launches: marks of launches that ended order nothing.
  void trimShadow();

  Memory memory;
  Races races;
  Stacks stacks;
  /// Set by the first fault of a kernel; every call fails from then on, as
  /// with a lost context.
  bool lost = false;

private:
  uint64_t seedValue = 0, state = 1;
  uint32_t stampCount = 0;
};

Simulator &simulator();

} // namespace mtp::gpusim

#endif // TEST_GPUSIM_SIMULATOR_H
