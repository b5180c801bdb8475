//===- SimTarget.h - The GPU simulator as a target --------------*- C++ -*-===//

#ifndef MTP_TEST_GPUSIM_TARGET_SIMTARGET_H
#define MTP_TEST_GPUSIM_TARGET_SIMTARGET_H

#include "compiler/Codegen/GPU/target/CudaTarget.h"
#include "test/GpuSim/target/SimAbi.h"

namespace mtp::gpusim {

/// Target for the simulator: kernels and programs of a GPU, with images that
/// gpu-sim loads. The simulator runs the LLVM IR that PTX is made from.
class SimTarget : public codegen::CudaTarget {
public:
  static constexpr llvm::StringLiteral kName = kDriverName;

  static Result<std::unique_ptr<Target>>
  create(const compiler::TargetOptions &options);

  llvm::StringRef name() const override { return kName; }
  compiler::Machine machine() const override;

protected:
  std::unique_ptr<codegen::KernelBackend> makeBackend() const override;
  llvm::Expected<std::vector<uint32_t>>
  addImages(llvm::ArrayRef<const codegen::KernelObject *> objects,
            compiler::KernelCode &code) const override;
  std::vector<compiler::KernelResources>
  readResources(const codegen::KernelObject &object) const override;
  int64_t workspace() const override;

private:
  using CudaTarget::CudaTarget;
};

} // namespace mtp::gpusim

#endif // MTP_TEST_GPUSIM_TARGET_SIMTARGET_H
