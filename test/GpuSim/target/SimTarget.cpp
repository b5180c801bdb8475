//===- SimTarget.cpp - The GPU simulator as a target ----------------------===//

#include "test/GpuSim/target/SimTarget.h"

#include "test/GpuSim/target/EmitHost.h"

using namespace mtp;
using namespace mtp::gpusim;

/// What the simulator's library is content with.
static constexpr int64_t kWorkspace = 64 << 10;

Result<std::unique_ptr<compiler::Target>>
SimTarget::create(const compiler::TargetOptions &options) {
  MTP_RETURN_IF_ERROR(checkOptions(options));
  return std::unique_ptr<Target>(new SimTarget(options));
}

compiler::Machine SimTarget::machine() const {
  return {kArch.str(), kDriverName, {}};
}

int64_t SimTarget::workspace() const { return kWorkspace; }

llvm::Expected<compiler::KernelImage>
SimTarget::emitImage(llvm::Module &module, compiler::KernelCode &code) const {
  code.format = schema::ImageFormat::Hosted;
  auto bytes = gpu::emitHostImage(module);
  if (!bytes)
    return bytes.takeError();
  compiler::KernelImage image;
  image.bytes = std::move(*bytes);
  return image;
}
