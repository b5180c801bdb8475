//===- KernelRecord.h - Runs of GPU kernels, kept -------------*- C++ -*-===//
//
// What a kernel of a test was given and what it made of that on the simulator,
// with its code for a chip: tools/gpu-check runs it again on other drivers. The
// variable MTP_RECORD_KERNELS names the folder, MTP_RECORD_CHIP the chip.
//
//===----------------------------------------------------------------------===//

#ifndef TEST_CODEGEN_KERNELRECORD_H
#define TEST_CODEGEN_KERNELRECORD_H

#include "compiler/Codegen/GPU/Kernels.h"
#include <string>
#include <vector>

namespace mtp::codegen::test {

struct GpuBuffer;

/// One kernel's part of the record.
class KernelRecord {
public:
  /// The chip to compile for; empty where nothing is recorded.
  static std::string chip();

  /// Whether a configuration is new to the record, for one of all processes
  /// that write it.
  static bool claim(const KernelSpec &spec);
  KernelRecord(const KernelSpec &spec, const GpuLaunch &launch,
               const std::vector<char> &image);

  /// Whether to keep a run on these buffers: the record stays small.
  bool wants(const std::vector<GpuBuffer> &buffers,
             const std::vector<int64_t> &params) const;
  /// Notes the buffers before it.
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

#endif // TEST_CODEGEN_KERNELRECORD_H
