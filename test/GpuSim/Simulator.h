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

/// Another device or driver than the usual one, and faults on demand: what a
/// test of bad machines asks for, by mtp_sim_inject or the environment.
struct Injected {
  /// MTP_SIM_DRIVER: what cuDriverGetVersion says; 0 is the toolkit's.
  int64_t driver = 0;
  /// MTP_SIM_CHIP: the compute capability, times ten.
  int64_t chip = 90;
  /// MTP_SIM_DEVICES: how many there are.
  int64_t devices = 1;
  /// MTP_SIM_FAULT: how many launches go well before one faults; negative for
  /// all of them.
  int64_t fault = -1;
  /// MTP_SIM_FULL: how many calls that take memory go well before one finds
  /// none; negative for all of them.
  int64_t full = -1;
  /// MTP_SIM_TURNS: the most turns of a loop; the device hangs in one that
  /// takes more.
  int64_t turns = INT64_MAX;
  /// MTP_SIM_PINNED: the most bytes of pinned memory that a call gives.
  int64_t pinned = INT64_MAX;
};

/// All devices of one process. Entry points hold a lock, so that all below is
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
  Injected injected;
  /// Whether the launch that begins now is the one that faults.
  bool takesFault() { return injected.fault >= 0 && injected.fault-- == 0; }
  /// Whether the call that takes memory now finds none.
  bool takesMemory() { return injected.full >= 0 && injected.full-- == 0; }
  /// Sets what is injected by its name ("driver", "chip", "devices",
  /// "fault", "full", "turns", "pinned", "memory"); false where there is none
  /// of that name.
  bool inject(const std::string &name, int64_t value);

  /// Of the kernel that ran last the most batches of loads of a thread.
  uint64_t loadBatches = 0;

  /// How often callers have waited for a device.
  uint64_t waits = 0;

  /// The number of the graph's run, or of the loop's turn in it, that is under
  /// way; 0 outside of graphs.
  uint64_t graphRun = 0;
  uint64_t nextGraphRun() { return ++runCount; }

  /// Set by the first fault of a kernel; every call of the device fails from
  /// then on, as with a lost context.
  bool &lost() { return isLost[size_t(memory.device())]; }
  void revive() { isLost = {}; }

private:
  std::array<bool, kMostDevices> isLost = {};
  uint64_t seedValue = 0, state = 1, runCount = 0;
  uint32_t stampCount = 0;
};

Simulator &simulator();

} // namespace mtp::gpusim

#endif // TEST_GPUSIM_SIMULATOR_H
