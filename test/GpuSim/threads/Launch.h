//===- Launch.h - One launch of a kernel ------------------------*- C++ -*-===//

#ifndef MTP_TEST_GPUSIM_THREADS_LAUNCH_H
#define MTP_TEST_GPUSIM_THREADS_LAUNCH_H

#include "Block.h"
#include "test/GpuSim/machine/Touched.h"
#include "test/GpuSim/target/SimAbi.h"
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace mtp::gpusim {

/// Copies of a launch's parameters, taken when the launch is enqueued, as the
/// driver does.
class Parameters {
public:
  Parameters() = default;
  Parameters(const ImageKernel &kernel, void *const *values);
  void *const *pointers() const { return places.data(); }

private:
  std::vector<std::vector<char>> values;
  std::vector<void *> places;
};

struct LaunchShape {
  Dim3 grid, block;
  uint32_t dynamicShared = 0;
};

/// A launch in two parts. `runEarly` runs some blocks up to their
/// griddepcontrol.wait, before the kernels that they wait for have run.
/// `finish` runs the rest. Both return false if a thread faulted; fault() has
/// the message.
class Launch {
public:
  /// `touched`, unless it is null, records what the kernel reads and writes.
  /// `programmatic` means that the launch may begin before its predecessors
  /// have ended.
  Launch(const ImageKernel &kernel, const LaunchShape &shape,
         const Parameters &parameters, Touched *touched, bool programmatic);
  ~Launch();

  bool runEarly();
  bool finish();
  const std::string &fault() const { return faultText; }

  // Functions for the launch's blocks.
  void runThread() { kernel.entry(parameters.pointers()); }
  std::string kernelName() const { return kernel.name; }
  size_t sharedBytes() const {
    return kernel.staticShared + shape.dynamicShared;
  }
  bool isProgrammatic() const { return programmatic; }
  bool mustWait() const { return programmatic && !mayPassWait; }
  uint32_t stamp() const { return number; }
  Touched *touched() { return touchedBytes; }
  void noteLoadBatches(uint64_t count) {
    mostLoadBatches = std::max(mostLoadBatches, count);
  }
  /// Returns the largest number of load batches of a thread that has ended.
  uint64_t loadBatches() const { return mostLoadBatches; }

  const ImageKernel &kernel;
  const LaunchShape shape;
  const Dim3 &grid = shape.grid, &block = shape.block;

private:
  bool runBlock(Block &block);
  std::unique_ptr<Block> makeBlock(uint64_t place);

  const Parameters &parameters;
  Touched *touchedBytes;
  const bool programmatic;
  bool mayPassWait = false;
  uint32_t number;
  uint64_t mostLoadBatches = 0;
  /// Blocks in the order in which they run, and blocks that began early.
  std::vector<uint32_t> order;
  size_t begun = 0;
  std::vector<std::unique_ptr<Block>> early;
  std::string faultText;
};

/// Returns CUDA's objection to a launch of that shape, or an empty string.
/// `maxDynamic` is the function's limit of dynamic shared memory.
std::string checkShape(const ImageKernel &kernel, const LaunchShape &shape,
                       uint32_t maxDynamic);

} // namespace mtp::gpusim

#endif // MTP_TEST_GPUSIM_THREADS_LAUNCH_H
