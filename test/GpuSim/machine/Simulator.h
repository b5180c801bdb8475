//===- Simulator.h - The state of the simulated device ----------*- C++ -*-===//

#ifndef MTP_TEST_GPUSIM_MACHINE_SIMULATOR_H
#define MTP_TEST_GPUSIM_MACHINE_SIMULATOR_H

#include "Fiber.h"
#include "Memory.h"
#include "Races.h"
#include <cstdint>
#include <string>

namespace mtp::gpusim {

/// Limits of sm_90.
inline constexpr uint32_t kDefaultDynamic = 48 << 10;
inline constexpr uint32_t kMaxShared = 227 << 10;

/// Properties of an unusual device or driver, and faults on demand. Tests of
/// bad machines set them with mtp_sim_inject or the environment.
struct Injected {
  /// MTP_SIM_DRIVER: result of cuDriverGetVersion; 0 means the toolkit's
  /// version.
  int64_t driver = 0;
  /// MTP_SIM_CHIP: compute capability, times ten.
  int64_t chip = 90;
  /// MTP_SIM_DEVICES: number of devices.
  int64_t devices = 1;
  /// MTP_SIM_FAULT: number of launches that succeed before one faults;
  /// negative: no launch faults.
  int64_t fault = -1;
  /// MTP_SIM_FULL: number of calls that get memory before one finds none;
  /// negative: no call fails.
  int64_t full = -1;
  /// MTP_SIM_TURNS: maximum number of turns of a loop. The device hangs in a
  /// loop that takes more.
  int64_t turns = INT64_MAX;
  /// MTP_SIM_PINNED: maximum size in bytes of one allocation of pinned memory.
  int64_t pinned = INT64_MAX;
};

/// All devices of a process. Entry points hold a lock, so only one thread at a
/// time uses the members.
class Simulator {
public:
  Simulator();

  /// Returns a number below `bound` that follows from the seed.
  uint32_t random(uint32_t bound) {
    if (!seedValue)
      return 0;
    // Knuth's multiplier. The high bits are good enough for an order.
    state = state * 6364136223846793005 + 1442695040888963407;
    return (state >> 33) % bound;
  }
  uint64_t seed() const { return seedValue; }
  void setSeed(uint64_t seed);
  /// Returns a new number of a launch or block, never 0.
  uint32_t nextStamp() { return ++stampCount; }
  /// Drops marks between launches: marks of ended launches order nothing.
  void trimShadow();

  Memory memory;
  Races races;
  Stacks stacks;
  Injected injected;
  /// Returns true if the current launch must fault.
  bool takesFault() { return takesLast(injected.fault); }
  /// Returns true if the current call must find no memory.
  bool takesMemory() { return takesLast(injected.full); }
  /// Sets an injected value by its name ("driver", "chip", "devices", "fault",
  /// "full", "turns", "pinned", "memory"). Returns false if the name is
  /// unknown.
  bool inject(const std::string &name, int64_t value);

  /// Largest number of load batches of a thread of the last kernel.
  uint64_t loadBatches = 0;

  /// Number of times that callers have waited for a device.
  uint64_t waits = 0;

  /// Number of the current run of a graph, or of the current turn of a loop in
  /// it; 0 outside of graphs.
  uint64_t graphRun = 0;
  uint64_t nextGraphRun() { return ++runCount; }

  /// Set by the first fault of a kernel. Every later call of the device fails,
  /// as with a lost context.
  bool &lost() { return isLost[size_t(memory.device())]; }
  void revive() { isLost = {}; }

private:
  /// Counts a call down. Returns true if none was left; a negative count stays.
  static bool takesLast(int64_t &count) {
    if (count < 0)
      return false;
    --count;
    return count < 0;
  }

  std::array<bool, kMostDevices> isLost = {};
  uint64_t seedValue = 0, state = 1, runCount = 0;
  uint32_t stampCount = 0;
};

/// The simulator, which is never destroyed: an image's code may run until the
/// process ends.
extern Simulator *theSimulator;
Simulator &makeSimulator();
inline Simulator &simulator() {
  return theSimulator ? *theSimulator : makeSimulator();
}

} // namespace mtp::gpusim

#endif // MTP_TEST_GPUSIM_MACHINE_SIMULATOR_H
