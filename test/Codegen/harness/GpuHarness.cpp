//===- GpuHarness.cpp - Running kernels on the simulated GPU --------------===//

#include "GpuHarness.h"
#include "Harness.h"
#include "KernelRecord.h"
#include "Unit.h"

#include "compiler/Codegen/GPU/target/CudaBackend.h"
#include "compiler/Codegen/GPU/target/EmitPtx.h"
#include "compiler/Codegen/GPU/target/GpuModule.h"
#include "compiler/Codegen/GPU/target/PtxasReport.h"
#include "compiler/Codegen/Units/BackendCode.h"
#include "test/GpuSim/target/EmitHost.h"
#include "test/GpuSim/target/SimBackend.h"
#include <cuda.h>
#include <gtest/gtest.h>
#include <map>

using namespace mtp;
using namespace mtp::codegen;
using namespace mtp::codegen::test;

#define EXPECT_CUDA(call) EXPECT_EQ(call, CUDA_SUCCESS) << lastError()

/// Returns the simulator's message for the last fault.
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
  /// Record of the kernel's runs.
  std::optional<KernelRecord> record;
};

namespace {
/// A compiled kernel, and its launch shape.
struct GpuUnit {
  CompiledUnit unit;
  GpuLaunch launch;

  llvm::StringRef part(size_t index) const {
    const std::vector<char> &bytes = unit.object->parts[index];
    return {bytes.data(), bytes.size()};
  }
};

/// Code of a kernel for the simulator or for a chip, the kernel's name in it,
/// and the launch shape.
struct GpuImage {
  std::vector<char> bytes;
  std::string symbol;
  GpuLaunch launch;
};
} // namespace

static std::optional<GpuUnit> compileGpuUnit(const KernelSpec &spec,
                                             const KernelBackend &backend) {
  mlir::MLIRContext *context = spec.kernel.getContext();
  mlir::DialectRegistry registry;
  gpu::registerGpuDialects(registry);
  context->appendDialectRegistry(registry);
  context->loadAllAvailableDialects();
  GpuUnit compiled;
  auto unit = compileUnit(
      spec, backend, [&](mlir::OpBuilder &builder, mlir::ModuleOp module) {
        builder.setInsertionPointToEnd(module.getBody());
        auto kernels =
            mlir::gpu::GPUModuleOp::create(builder, module.getLoc(), "kernels");
        auto launch = emitGpuKernel(builder, kernels, spec);
        if (succeeded(launch))
          compiled.launch = *launch;
        return mlir::LogicalResult(launch);
      });
  if (failed(unit))
    return std::nullopt;
  compiled.unit = std::move(*unit);
  return compiled;
}

static std::optional<GpuUnit> compileForChip(const KernelSpec &spec,
                                             const std::string &chip) {
  return compileGpuUnit(
      spec, gpu::CudaBackend(chip, std::string(kernelBackendCode())));
}

/// Returns the reason why an object has no cubin.
static std::string absenceOfPtxas(const GpuUnit &compiled) {
  if (compiled.unit.object->parts.size() > gpu::CudaBackend::kCubin)
    return "";
  auto cubin = gpu::assemblePtx(compiled.part(gpu::CudaBackend::kPtx), "sm_90");
  return cubin ? cubin->absence : llvm::toString(cubin.takeError());
}

static llvm::Expected<std::vector<char>> imageOf(const GpuUnit &compiled,
                                                 const std::string &chip) {
  if (chip == "sim")
    return gpu::linkHostImage(compiled.part(0));
  if (std::string absence = absenceOfPtxas(compiled); !absence.empty())
    return llvm::createStringError("no ptxas: " + absence);
  return compiled.unit.object->parts[gpu::CudaBackend::kCubin];
}

static std::optional<GpuImage> compileAnew(const KernelSpec &spec,
                                           const std::string &chip) {
  gpusim::SimBackend simulator(std::string(kernelBackendCode()) +
                               std::string(gpusim::simBackendCode()));
  auto compiled = chip == "sim" ? compileGpuUnit(spec, simulator)
                                : compileForChip(spec, chip);
  if (!compiled)
    return std::nullopt;
  auto bytes = imageOf(*compiled, chip);
  if (bytes)
    return GpuImage{std::move(*bytes), compiled->unit.symbol, compiled->launch};
  ADD_FAILURE() << llvm::toString(bytes.takeError());
  return std::nullopt;
}

/// Compiles each kernel once. Returns null if that fails.
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
                                     bool takesActive) {
  static mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  mlir::exec::KernelAttrInterface kernel = parseKernel(kind, config, context);
  EXPECT_TRUE(kernel) << "cannot parse the kernel: " << config;
  return assembleKernel({"kernel", kernel, nullptr, takesActive});
}

AssembledKernel test::assembleKernel(const KernelSpec &spec) {
  AssembledKernel result;
  std::optional<GpuUnit> compiled = compileForChip(spec, "sm_90");
  if (!compiled) {
    ADD_FAILURE() << "cannot compile " << spec.kernel.getKind().str()
                  << " for sm_90";
    return result;
  }
  result.threads = uint64_t(compiled->launch.threads);
  result.launch = compiled->launch;
  result.ptx = compiled->part(gpu::CudaBackend::kPtx).str();
  result.absence = absenceOfPtxas(*compiled);
  if (!result.absence.empty())
    return result;
  auto kernels =
      gpu::readPtxasReport(compiled->part(gpu::CudaBackend::kReport));
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
  // A processor has 65,536 registers, which threads get in multiples of 8.
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
                                  image->symbol.c_str()));
  std::string chip = KernelRecord::chip();
  if (chip.empty() || !KernelRecord::claim(spec))
    return;
  const GpuImage *recorded = compileImage(spec, chip);
  EXPECT_TRUE(recorded) << spec.kernel.getKind().str() << " for " << chip;
  if (!recorded)
    return;
  KernelSpec named = spec;
  named.symbol = recorded->symbol;
  state->record.emplace(named, state->launch, recorded->bytes);
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
