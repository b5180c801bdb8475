//===- GpuHarness.h - Running kernels on the simulated GPU ------*- C++ -*-===//

#ifndef MTP_TEST_CODEGEN_HARNESS_GPUHARNESS_H
#define MTP_TEST_CODEGEN_HARNESS_GPUHARNESS_H

#include "compiler/Codegen/GPU/Kernels.h"
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace mtp::codegen::test {

/// A buffer of a kernel: `bytes` at `host`. The kernel gets the address
/// `offset` bytes after the start.
struct GpuBuffer {
  void *host;
  size_t bytes, offset;
};

/// One kernel, compiled for gpu-sim and loaded there.
class GpuKernel {
public:
  explicit GpuKernel(const KernelSpec &spec);
  ~GpuKernel();

  /// Copies the buffers to the device, each host address once, runs all tasks
  /// and copies the buffers back. If the kernel takes the number of active
  /// rows, it is the last buffer, or that buffer is empty. A fault fails the
  /// running test.
  void run(const std::vector<GpuBuffer> &buffers,
           const std::vector<int64_t> &params) const;

private:
  struct State;
  std::unique_ptr<State> state;
};

/// A kernel as PTX for sm_90, and the report of ptxas.
struct AssembledKernel {
  std::string ptx;
  /// Reason if there is no report: ptxas is absent.
  std::string absence;
  uint64_t threads = 0, registers = 0, spillBytes = 0, stackBytes = 0;
  GpuLaunch launch;
};
AssembledKernel assembleKernel(const KernelSpec &spec);
AssembledKernel assembleKernel(const std::string &kind,
                               const std::string &config,
                               bool takesActive = false);

/// Expects that the kernel spills nothing, and that a block takes at most half
/// of a processor. Does nothing if ptxas is absent.
void expectHalfOfProcessor(const AssembledKernel &kernel);

} // namespace mtp::codegen::test

#endif // MTP_TEST_CODEGEN_HARNESS_GPUHARNESS_H
