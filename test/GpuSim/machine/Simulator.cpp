//===- Simulator.cpp - The state of the simulated device ------------------===//

#include "Simulator.h"

#include <cstdlib>

using namespace mtp::gpusim;

/// Number of pages of marks (48 MiB) above which they are dropped between
/// launches.
static constexpr size_t kShadowPages = 1024;

Simulator *mtp::gpusim::theSimulator = nullptr;

Simulator &mtp::gpusim::makeSimulator() {
  static auto *instance = new Simulator;
  theSimulator = instance;
  return *instance;
}

Simulator::Simulator() {
  if (const char *text = std::getenv("MTP_SIM_SEED"))
    setSeed(std::strtoull(text, nullptr, 10));
  static constexpr const char *names[][2] = {
      {"MTP_SIM_DRIVER", "driver"},   {"MTP_SIM_CHIP", "chip"},
      {"MTP_SIM_DEVICES", "devices"}, {"MTP_SIM_FAULT", "fault"},
      {"MTP_SIM_FULL", "full"},       {"MTP_SIM_TURNS", "turns"},
      {"MTP_SIM_PINNED", "pinned"},   {"MTP_SIM_MEMORY", "memory"}};
  for (auto [variable, name] : names)
    if (const char *text = std::getenv(variable))
      inject(name, std::strtoll(text, nullptr, 10));
}

bool Simulator::inject(const std::string &name, int64_t value) {
  if (name == "driver")
    injected.driver = value;
  else if (name == "chip")
    injected.chip = value;
  else if (name == "devices" && value >= 0 && value <= kMostDevices)
    injected.devices = value;
  else if (name == "fault")
    injected.fault = value;
  else if (name == "full")
    injected.full = value;
  else if (name == "turns")
    injected.turns = value;
  else if (name == "pinned")
    injected.pinned = value;
  else if (name == "memory")
    memory.setCapacity(value);
  else
    return false;
  return true;
}

void Simulator::setSeed(uint64_t seed) {
  seedValue = seed;
  state = seed * 0x9e3779b97f4a7c15 + 1;
}

void Simulator::trimShadow() {
  if (races.pageCount() > kShadowPages)
    races.clear();
}
