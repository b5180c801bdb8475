//===- LoadedPlan.cpp - Code and weights of a plan on a GPU ---------------===//

#include "runtime/device/cuda/LoadedPlan.h"
#include "runtime/artifact/SemanticVerifier.h"
#include "runtime/core/MemoryLimit.h"
#include "runtime/core/StrCat.h"
#include "runtime/device/cuda/ProfilerRange.h"
#include "runtime/schema/DeviceLoop.h"

#include <algorithm>
#include <cctype>

using namespace mtp;

/// Dynamic shared memory that a kernel gets without a request.
static constexpr uint32_t kDefaultSharedBytes = 48 << 10;

std::shared_ptr<LoadedPlan> LoadedPlan::find(CudaContext &context,
                                             const ArtifactFile &file,
                                             uint32_t plan) {
  std::vector<std::weak_ptr<LoadedPlan>> &plans = context.shared().plans;
  std::erase_if(plans, [](const auto &entry) { return entry.expired(); });
  for (const std::weak_ptr<LoadedPlan> &entry : plans)
    if (std::shared_ptr<LoadedPlan> found = entry.lock();
        found && found->file.get() == &file && found->index == plan)
      return found;
  return nullptr;
}

Result<std::shared_ptr<LoadedPlan>>
LoadedPlan::load(std::shared_ptr<CudaContext> context,
                 std::shared_ptr<const ArtifactFile> file, uint32_t plan) {
  std::shared_ptr<LoadedPlan> loaded(
      new LoadedPlan(std::move(context), std::move(file), plan));
  MTP_RETURN_IF_ERROR(loaded->loadModules());
  MTP_RETURN_IF_ERROR(loaded->findKernels());
  MTP_RETURN_IF_ERROR(loaded->setCarveout());
  MTP_RETURN_IF_ERROR(loaded->copyWeights());
  loaded->context->shared().plans.push_back(loaded);
  return loaded;
}

LoadedPlan::~LoadedPlan() {
  if (context->enter().isOk())
    for (CUmodule module : modules)
      context->driver().cuModuleUnload(module);
}

/// Returns the size of blobs, each at a multiple of kCudaAlignment.
static uint64_t bytesOf(const Tables<schema::Blob> *blobs) {
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < vectorSize(blobs); ++i)
    bytes = addBytes(bytes, (blobs->Get(i)->size() + kCudaAlignment - 1) /
                                kCudaAlignment * kCudaAlignment);
  return bytes;
}

static uint64_t footprintOf(const Tables<schema::Blob> *blobs) {
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < vectorSize(blobs); ++i) {
    const schema::Blob &blob = *blobs->Get(i);
    bytes = addBytes(bytes, CudaMemory::footprint(blob.size(), blob.offset()));
  }
  return bytes;
}

uint64_t LoadedPlan::footprint(const Plan &plan) {
  return addBytes(footprintOf(plan.weights), footprintOf(plan.constants));
}

Status LoadedPlan::loadModules() {
  ProfilerRange range("load code");
  const DriverApi &driver = context->driver();
  for (uint32_t i = 0; i < vectorSize(plan().images); ++i) {
    MTP_ASSIGN_OR_RETURN(
        uint32_t segment,
        chooseSegment(plan(), *plan().images->Get(i), context->machine()));
    std::span<const uint8_t> bytes = file->segment(segment);
    // PTX is text and must end with a zero. A cubin contains its length.
    std::string image(reinterpret_cast<const char *>(bytes.data()),
                      bytes.size());
    CUmodule module = nullptr;
    MTP_RETURN_IF_ERROR(
        driver.check(driver.cuModuleLoadData(&module, image.c_str()),
                     strCat("the driver takes no image of segment ", segment)));
    modules.push_back(module);
  }
  return okStatus();
}

/// Compares the arguments of the code with the arguments of its launches. The
/// code decides how many arguments the driver reads, even beyond those given.
Status LoadedPlan::checkArguments(const schema::Kernel &kernel,
                                  CUfunction function) const {
  bool takesActive = kernel.launch()->takes_live();
  uint64_t expected =
      uint64_t(kernel.buffers()) + takesActive + kernel.params();
  uint64_t count = 0;
  for (; count <= expected; ++count) {
    size_t offset = 0, bytes = 0;
    CUresult result =
        context->driver().cuFuncGetParamInfo(function, count, &offset, &bytes);
    if (result == CUDA_ERROR_INVALID_VALUE)
      break; // No more arguments.
    MTP_RETURN_IF_ERROR(context->driver().check(result, "cuFuncGetParamInfo"));
    if (bytes != sizeof(uint64_t))
      return failedPrecondition(strCat("expected arguments of 8 bytes, got ",
                                       bytes, " for argument ", count));
  }
  if (count == expected)
    return okStatus();
  return failedPrecondition(strCat(
      "expected code that takes ", expected, " arguments (", kernel.buffers(),
      " buffers, ", takesActive ? "how many rows live, " : "", kernel.params(),
      " params), got ", count > expected ? "more" : strCat(count)));
}

/// Requests the shared memory of a launch, and compares its number of threads
/// with the limit by the code's registers.
Status LoadedPlan::prepare(const schema::Kernel &kernel, CUfunction function) {
  const DriverApi &driver = context->driver();
  const schema::CudaLaunch &launch = *kernel.launch();
  MTP_RETURN_IF_ERROR(checkArguments(kernel, function));
  if (launch.shared_bytes() > kDefaultSharedBytes)
    MTP_RETURN_IF_ERROR(driver.check(
        driver.cuFuncSetAttribute(
            function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
            int(launch.shared_bytes())),
        strCat("the GPU does not give ", launch.shared_bytes(),
               " bytes of shared memory")));
  int own = 0, most = 0;
  MTP_RETURN_IF_ERROR(
      driver.check(driver.cuFuncGetAttribute(
                       &own, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function),
                   "cuFuncGetAttribute"));
  sharedBytes =
      std::max(sharedBytes, uint64_t(own) + uint64_t(launch.shared_bytes()));
  MTP_RETURN_IF_ERROR(driver.check(
      driver.cuFuncGetAttribute(&most, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
                                function),
      "cuFuncGetAttribute"));
  if (launch.threads() > uint32_t(most))
    return failedPrecondition(strCat("expected a launch of at most ", most,
                                     " threads, got ", launch.threads()));
  return okStatus();
}

/// Number of blocks that kernels are designed to fit on a processor, and bytes
/// that the driver takes for each block.
static constexpr uint64_t kBlocksOfProcessor = 2, kOwnSharedBytes = 1 << 10;

/// Requests one split of a processor's memory into shared memory and cache for
/// all kernels. A processor must be idle to change the split. With different
/// splits, a kernel could not begin while the previous one runs.
Status LoadedPlan::setCarveout() const {
  const DriverApi &driver = context->driver();
  uint64_t wanted = kBlocksOfProcessor * (sharedBytes + kOwnSharedBytes);
  uint64_t all = context->sharedBytes();
  int percent = int(std::min<uint64_t>(100, (wanted * 100 + all - 1) / all));
  auto set = [&](CUfunction function) {
    return driver.check(driver.cuFuncSetAttribute(
                            function,
                            CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
                            percent),
                        "cuFuncSetAttribute");
  };
  for (CUfunction function : kernels)
    if (function)
      MTP_RETURN_IF_ERROR(set(function));
  for (CUfunction function : {deliverKernel, nextRoundKernel})
    if (function)
      MTP_RETURN_IF_ERROR(set(function));
  return okStatus();
}

/// Names in PTX allow fewer characters than names of kernels (FORMAT.md).
static std::string symbolOf(const schema::Kernel &kernel) {
  std::string symbol = kernel.symbol()->str();
  for (char &c : symbol)
    if (!std::isalnum(static_cast<unsigned char>(c)))
      c = '_';
  return symbol;
}

Status LoadedPlan::findKernels() {
  const DriverApi &driver = context->driver();
  for (uint32_t i = 0; i < vectorSize(plan().kernels); ++i) {
    const schema::Kernel &kernel = *plan().kernels->Get(i);
    if (kernel.gemm()) {
      kernels.push_back(nullptr);
      continue;
    }
    std::string symbol = symbolOf(kernel);
    CUfunction function = nullptr;
    if (driver.cuModuleGetFunction(&function, modules[uint32_t(kernel.image())],
                                   symbol.c_str()) != CUDA_SUCCESS)
      return notFound(strCat("the GPU's image has no kernel '", symbol, "'"));
    if (Status status = prepare(kernel, function); !status.isOk())
      return status.withContext(strCat("kernel '", symbol, "'"));
    kernels.push_back(function);
  }
  return findLoopKernels();
}

Status LoadedPlan::findLoopKernels() {
  if (plan().deviceLoop < 0)
    return okStatus();
  CUmodule module = modules[uint32_t(plan().deviceLoop)];
  auto find = [&](CUfunction &function, std::string_view name) {
    if (context->driver().cuModuleGetFunction(
            &function, module, std::string(name).c_str()) == CUDA_SUCCESS)
      return okStatus();
    return notFound(strCat("the GPU's image has no kernel '", name, "'"));
  };
  MTP_RETURN_IF_ERROR(find(deliverKernel, kDeliverKernel));
  return find(nextRoundKernel, kNextRoundKernel);
}

Status LoadedPlan::copyWeights() {
  ProfilerRange range("load weights");
  // The check of free memory was done before. The account only counts.
  MTP_ASSIGN_OR_RETURN(reservation, context->shared().memory.reserve(
                                        footprint(plan()), "weights", {}));
  Upload upload(context,
                addBytes(bytesOf(plan().weights), bytesOf(plan().constants)));
  MTP_RETURN_IF_ERROR(copyBlobs(plan().weights, "a weight", weights, upload));
  MTP_RETURN_IF_ERROR(
      copyBlobs(plan().constants, "a constant", constants, upload));
  return upload.finish();
}

Status LoadedPlan::copyBlobs(const Tables<schema::Blob> *blobs,
                             const char *what, std::vector<CudaMemory> &copies,
                             Upload &upload) {
  for (uint32_t i = 0; i < vectorSize(blobs); ++i) {
    const schema::Blob &blob = *blobs->Get(i);
    MTP_ASSIGN_OR_RETURN(
        CudaMemory copy,
        CudaMemory::allocate(context, blob.size(), blob.offset(), what));
    MTP_RETURN_IF_ERROR(
        upload.add(copy.address(), file->blob(blob).data(), blob.size()));
    copies.push_back(std::move(copy));
  }
  return okStatus();
}
