//===- GpuHarness.cpp - Running kernels on the simulated GPU --------------===//

#include "GpuHarness.h"
#include "Harness.h"
#include "KernelRecord.h"

#include "compiler/Codegen/GPU/target/EmitPtx.h"
#include "compiler/Codegen/GPU/target/GpuModule.h"
#include "compiler/Codegen/GPU/target/PtxasReport.h"
#include "test/GpuSim/target/EmitHost.h"
#include "llvm/IR/Module.h"
#include <cuda.h>
#include <gtest/gtest.h>
#include <map>

using namespace mtp;
using namespace mtp::codegen;
using namespace mtp::codegen::test;

#define EXPECT_CUDA(call) EXPECT_EQ(call, CUDA_SUCCESS) << lastError()

/// What the simulator says of its last fault.
extern "C" const char *mtp_sim_last_error();
static std::string lastError() { return mtp_sim_last_error(); }

static void makeContext() {
  static const bool isMade = [] {
    CUdevice device;
    CUcontext context;
    EXPECT_CUDA(cuInit(0));
    EXPECT_CUDA(cuDeviceGet(&device, 0));
    EXPECT_CUDA(cuDevicePrimaryCtxRetain(&context, device));
    EXPECT_CUDA(cuCtxSetCurrent(context));
    return true;
  }();
  (void)isMade;
}

struct GpuKernel::State {
  KernelSpec spec;
  GpuLaunch launch;
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  /// Where the kernel's runs are recorded.
  std::optional<KernelRecord> record;
};

/// A module with the kernel; null where that fails.
static std::unique_ptr<llvm::Module>
translateKernel(const KernelSpec &spec, GpuLaunch &launch,
                llvm::LLVMContext &llvmContext) {
  mlir::MLIRContext *context = spec.kernel.getContext();
  mlir::DialectRegistry registry;
  gpu::registerGpuDialects(registry);
  context->appendDialectRegistry(registry);
  context->loadAllAvailableDialects();
  mlir::OpBuilder builder(context);
  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::ModuleOp::create(builder.getUnknownLoc());
  builder.setInsertionPointToEnd(module->getBody());
  auto kernels = mlir::gpu::GPUModuleOp::create(
      builder, builder.getUnknownLoc(), "kernels");
  auto emitted = emitGpuKernel(builder, kernels, spec);
  if (failed(emitted) || failed(gpu::lowerGpuModules(*module)))
    return nullptr;
  launch = *emitted;
  return gpu::translateGpuModule(kernels, llvmContext);
}

/// A module's code for the simulator or for a chip.
static llvm::Expected<std::vector<char>> emitImage(llvm::Module &module,
                                                   const std::string &chip) {
  if (chip == "sim")
    return gpu::emitHostImage(module);
  auto ptx = gpu::emitPtx(module, chip);
  if (!ptx)
    return ptx.takeError();
  auto cubin = gpu::assemblePtx(*ptx, chip);
  if (!cubin)
    return cubin.takeError();
  if (cubin->bytes.empty())
    return llvm::createStringError("no ptxas: " + cubin->absence);
  return cubin->bytes;
}

namespace {
/// A kernel's code for the simulator or for a chip, and how it is launched.
struct GpuImage {
  std::vector<char> bytes;
  GpuLaunch launch;
};
} // namespace

static std::optional<GpuImage> compileAnew(const KernelSpec &spec,
                                           const std::string &chip) {
  llvm::LLVMContext llvmContext;
  GpuLaunch launch;
  auto translated = translateKernel(spec, launch, llvmContext);
  if (!translated)
    return std::nullopt;
  auto image = emitImage(*translated, chip);
  if (!image) {
    ADD_FAILURE() << llvm::toString(image.takeError());
    return std::nullopt;
  }
  return GpuImage{std::move(*image), launch};
}

/// Of each kernel once; null where that fails.
static const GpuImage *compileImage(const KernelSpec &spec,
                                    const std::string &chip = "sim") {
  static std::map<std::string, GpuImage> images;
  std::string key = chip + " " + textOf(spec);
  if (auto known = images.find(key); known != images.end())
    return &known->second;
  std::optional<GpuImage> image = compileAnew(spec, chip);
  return image ? &(images[key] = std::move(*image)) : nullptr;
}

AssembledKernel test::assembleKernel(const std::string &kind,
                                     const std::string &config,
                                     bool takesLive) {
  mlir::MLIRContext context;
  mlir::exec::KernelAttrInterface kernel = parseKernel(kind, config, context);
  EXPECT_TRUE(kernel) << "cannot parse the kernel: " << config;
  return assembleKernel({"kernel", kernel, nullptr, takesLive});
}

AssembledKernel test::assembleKernel(const KernelSpec &spec) {
  GpuLaunch launch;
  llvm::LLVMContext llvmContext;
  AssembledKernel result;
  auto module = translateKernel(spec, launch, llvmContext);
  if (!module) {
    ADD_FAILURE() << "cannot compile " << spec.kernel.getKind().str()
                  << " for sm_90";
    return result;
  }
  result.threads = uint64_t(launch.threads);
  result.launch = launch;
  auto ptx = gpu::emitPtx(*module, "sm_90");
  if (!ptx) {
    ADD_FAILURE() << llvm::toString(ptx.takeError());
    return result;
  }
  result.ptx = *ptx;
  auto cubin = gpu::assemblePtx(*ptx, "sm_90");
  if (!cubin) {
    ADD_FAILURE() << llvm::toString(cubin.takeError());
    return result;
  }
  result.absence = cubin->absence;
  auto kernels = gpu::readPtxasReport(cubin->report);
  if (kernels.size() == 1) {
    result.registers = kernels[0].registers;
    result.spillBytes = kernels[0].spillBytes;
    result.stackBytes = kernels[0].stackBytes;
  }
  return result;
}

void test::expectHalfOfProcessor(const AssembledKernel &kernel) {
  if (!kernel.absence.empty())
    return;
  EXPECT_GT(kernel.registers, 0u);
  EXPECT_EQ(kernel.spillBytes, 0u);
  EXPECT_EQ(kernel.stackBytes, 0u);
  // A processor has 65,536 registers, of which threads get multiples of 8.
  EXPECT_LE((kernel.registers + 7) / 8 * 8 * kernel.threads, 32768u);
}

GpuKernel::GpuKernel(const KernelSpec &spec)
    : state(std::make_unique<State>()) {
  makeContext();
  state->spec = spec;
  const GpuImage *image = compileImage(spec);
  if (!image) {
    ADD_FAILURE() << "cannot compile " << spec.kernel.getKind().str()
                  << " for gpu-sim";
    return;
  }
  state->launch = image->launch;
  EXPECT_CUDA(cuModuleLoadData(&state->module, image->bytes.data()));
  EXPECT_CUDA(cuModuleGetFunction(&state->function, state->module,
                                  spec.symbol.c_str()));
  std::string chip = KernelRecord::chip();
  if (chip.empty() || !KernelRecord::claim(spec))
    return;
  const GpuImage *recorded = compileImage(spec, chip);
  EXPECT_TRUE(recorded) << spec.kernel.getKind().str() << " for " << chip;
  if (recorded)
    state->record.emplace(spec, state->launch, recorded->bytes);
}

GpuKernel::~GpuKernel() {
  if (state->module)
    EXPECT_CUDA(cuModuleUnload(state->module));
}

void GpuKernel::run(const std::vector<GpuBuffer> &buffers,
                    const std::vector<int64_t> &params) const {
  ASSERT_NE(state->function, nullptr);
  std::map<void *, std::pair<CUdeviceptr, size_t>> copies;
  std::vector<CUdeviceptr> pointers;
  for (const GpuBuffer &buffer : buffers) {
    auto [copy, isNew] = copies.try_emplace(buffer.host, 0, buffer.bytes);
    if (!buffer.host) {
      pointers.push_back(0);
      continue;
    }
    if (isNew && buffer.bytes > 0) {
      EXPECT_CUDA(cuMemAlloc(&copy->second.first, buffer.bytes));
      EXPECT_CUDA(cuMemcpyHtoD(copy->second.first, buffer.host, buffer.bytes));
    }
    pointers.push_back(copy->second.first + buffer.offset);
  }
  std::vector<int64_t> values = params;
  std::vector<void *> arguments;
  for (CUdeviceptr &pointer : pointers)
    arguments.push_back(&pointer);
  for (int64_t &value : values)
    arguments.push_back(&value);

  bool isRecorded = state->record && state->record->wants(buffers, params);
  if (isRecorded)
    state->record->begin(buffers);
  const GpuLaunch &launch = state->launch;
  int64_t groups = launch.rowsPerGroup
                       ? llvm::divideCeil(params[0], launch.rowsPerGroup)
                       : 1;
  int64_t blocks = groups * launch.blocks;
  if (launch.mostBlocks)
    blocks = std::min(blocks, launch.mostBlocks);
  if (blocks) {
    EXPECT_CUDA(cuLaunchKernel(state->function, unsigned(blocks), 1, 1,
                               unsigned(launch.threads), 1, 1, 0, nullptr,
                               arguments.data(), nullptr));
    EXPECT_CUDA(cuCtxSynchronize());
  }
  for (auto &[host, copy] : copies)
    if (copy.second > 0) {
      EXPECT_CUDA(cuMemcpyDtoH(host, copy.first, copy.second));
      EXPECT_CUDA(cuMemFree(copy.first));
    }
  if (isRecorded)
    state->record->end(buffers, params, blocks);
}
