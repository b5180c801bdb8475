//===- KernelRecord.h - Records of runs of GPU kernels ----------*- C++ -*-===//
//
// Inputs and results of a test's kernel on the simulator, with its code for a
// chip. tools/gpu-check runs it again on other drivers. The variable
// MTP_RECORD_KERNELS names the folder, MTP_RECORD_CHIP the chip.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_TEST_CODEGEN_HARNESS_KERNELRECORD_H
#define MTP_TEST_CODEGEN_HARNESS_KERNELRECORD_H

#include "compiler/Codegen/GPU/Kernels.h"
#include <string>
#include <vector>

namespace mtp::codegen::test {

struct GpuBuffer;

/// Part of the record for one kernel.
class KernelRecord {
public:
  /// Returns the chip to compile for, or an empty string if nothing is
  /// recorded.
  static std::string chip();

  /// Returns true if a configuration is new to the record. Only one of all
  /// processes that write the record gets true.
  static bool claim(const KernelSpec &spec);
  KernelRecord(const KernelSpec &spec, const GpuLaunch &launch,
               const std::vector<char> &image);

  /// Returns true if a run on these buffers should be kept: the record stays
  /// small.
  bool wants(const std::vector<GpuBuffer> &buffers,
             const std::vector<int64_t> &params) const;
  /// Records the buffers before the run.
  void begin(const std::vector<GpuBuffer> &buffers);
  /// Writes the run, with the buffers after it.
  void end(const std::vector<GpuBuffer> &buffers,
           const std::vector<int64_t> &params, int64_t blocks);

private:
  std::string name;
  /// Params of the runs that are kept.
  std::vector<std::vector<int64_t>> runs;
  std::string data;
};

} // namespace mtp::codegen::test

#endif // MTP_TEST_CODEGEN_HARNESS_KERNELRECORD_H
