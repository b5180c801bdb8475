//===- SimTarget.cpp - The GPU simulator as a target ----------------------===//

#include "test/GpuSim/target/SimTarget.h"

#include "compiler/Codegen/Units/BackendCode.h"
#include "test/GpuSim/target/EmitHost.h"
#include "test/GpuSim/target/SimBackend.h"

using namespace mtp;
using namespace mtp::gpusim;

/// Size that is enough for the simulator's library.
static constexpr int64_t kWorkspace = 64 << 10;

Result<std::unique_ptr<compiler::Target>>
SimTarget::create(const compiler::TargetOptions &options) {
  return std::unique_ptr<Target>(new SimTarget(options));
}

compiler::Machine SimTarget::machine() const {
  return {kArch.str(), kDriverName, {}};
}

int64_t SimTarget::workspace() const { return kWorkspace; }

std::unique_ptr<codegen::KernelBackend> SimTarget::makeBackend() const {
  return std::make_unique<SimBackend>(
      std::string(codegen::kernelBackendCode()) +
      std::string(simBackendCode()));
}

llvm::Expected<std::vector<uint32_t>>
SimTarget::addImages(llvm::ArrayRef<const codegen::KernelObject *> objects,
                     compiler::KernelCode &code) const {
  code.format = schema::ImageFormat::Hosted;
  llvm::SmallVector<llvm::StringRef> files;
  for (const codegen::KernelObject *object : objects)
    files.emplace_back(object->parts.front().data(),
                       object->parts.front().size());
  auto bytes = gpu::linkHostImage(files);
  if (!bytes)
    return bytes.takeError();
  code.images.push_back({std::move(*bytes), {}});
  return std::vector<uint32_t>(objects.size(), code.images.size() - 1);
}

std::vector<compiler::KernelResources>
SimTarget::readResources(const codegen::KernelObject &) const {
  return {};
}
