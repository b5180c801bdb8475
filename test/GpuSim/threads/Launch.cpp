//===- Launch.cpp - One launch of a kernel --------------------------------===//

#include "Launch.h"

#include "test/GpuSim/machine/Simulator.h"
#include <numeric>

using namespace mtp::gpusim;

/// Number of blocks that begin early: as on the device, the resident ones.
/// Reads of their successors are checked whenever they run (Touched.h).
static constexpr size_t kResident = 4;

Parameters::Parameters(const ImageKernel &kernel, void *const *from) {
  for (uint64_t i = 0; i < kernel.paramCount; ++i) {
    auto *bytes = static_cast<const char *>(from[i]);
    values.emplace_back(bytes, bytes + kernel.paramBytes[i]);
  }
  for (std::vector<char> &value : values)
    places.push_back(value.data());
}

Launch::Launch(const ImageKernel &kernel, const LaunchShape &shape,
               const Parameters &parameters, Touched *touched,
               bool programmatic)
    : kernel(kernel), shape(shape), parameters(parameters),
      touchedBytes(touched), programmatic(programmatic),
      number(simulator().nextStamp()), order(shape.grid.count()) {
  std::iota(order.begin(), order.end(), 0);
  // Seed 0 is the order of the indices: the easiest to follow.
  if (simulator().seed())
    for (size_t i = order.size(); i > 1; --i)
      std::swap(order[i - 1], order[simulator().random(i)]);
}

Launch::~Launch() = default;

std::unique_ptr<Block> Launch::makeBlock(uint64_t place) {
  uint32_t linear = order[place];
  Dim3 index{linear % grid.x, linear / grid.x % grid.y,
             linear / grid.x / grid.y};
  return std::make_unique<Block>(*this, index, linear);
}

bool Launch::runBlock(Block &block) {
  if (!block.run())
    faultText = block.fault();
  else if (block.isStuck())
    faultText = block.explainStuck();
  return faultText.empty();
}

bool Launch::runEarly() {
  for (; begun < order.size() && begun < kResident; ++begun) {
    early.push_back(makeBlock(begun));
    if (!runBlock(*early.back()))
      return false;
  }
  return true;
}

bool Launch::finish() {
  if (simulator().takesFault()) {
    faultText = "kernel '" + kernelName() + "': a fault that was asked for";
    return false;
  }
  mayPassWait = true;
  for (std::unique_ptr<Block> &block : early) {
    block->releaseGridWait();
    if (!runBlock(*block))
      return false;
  }
  early.clear();
  for (; begun < order.size(); ++begun)
    if (!runBlock(*makeBlock(begun)))
      return false;
  simulator().trimShadow();
  simulator().loadBatches = mostLoadBatches;
  return true;
}

std::string mtp::gpusim::checkShape(const ImageKernel &kernel,
                                    const LaunchShape &shape,
                                    uint32_t maxDynamic) {
  const Dim3 &grid = shape.grid, &block = shape.block;
  std::string name = "kernel '" + std::string(kernel.name) + "': ";
  auto limit = [&](const char *what, uint64_t most, uint64_t got) {
    return name + "expected at most " + std::to_string(most) + " " + what +
           ", got " + std::to_string(got);
  };
  if (!grid.count() || !block.count())
    return name + "expected no size of 0 in the grid and the block";
  if (grid.x > 0x7fffffff || grid.y > 65535 || grid.z > 65535)
    return name + "expected a grid of at most 2147483647 x 65535 x 65535";
  if (block.count() > 1024 || block.z > 64)
    return limit("threads in a block, 64 of them in z", 1024, block.count());
  if (kernel.maxThreads && block.count() > kernel.maxThreads)
    return limit("threads in a block (.maxntid)", kernel.maxThreads,
                 block.count());
  if (shape.dynamicShared > maxDynamic)
    return limit("bytes of dynamic shared memory (cuFuncSetAttribute raises "
                 "the limit)",
                 maxDynamic, shape.dynamicShared);
  if (kernel.staticShared + shape.dynamicShared > kMaxShared)
    return limit("bytes of shared memory", kMaxShared,
                 kernel.staticShared + shape.dynamicShared);
  return "";
}
