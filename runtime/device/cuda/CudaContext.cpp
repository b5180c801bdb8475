//===- CudaContext.cpp - One GPU, its context and what is there -----------===//

#include "runtime/device/cuda/CudaContext.h"
#include "runtime/core/StrCat.h"

#include <cstdlib>
#include <map>
#include <utility>

#include <cstring>

using namespace mtp;

namespace {
/// The contexts of a process by their driver.
struct Contexts {
  std::mutex mutex;
  std::map<std::string, std::weak_ptr<CudaContext>> open;
  /// What lost the last one, until another works.
  std::map<std::string, std::string> losses;
};
} // namespace

static Contexts &contexts() {
  // Never destroyed: a session may end after the statics of this library.
  static auto &all = *new Contexts;
  return all;
}

static Status lostBy(const std::string &loss) {
  return internalError(
      strCat("the GPU is lost: ", loss, "; CUDA may need a new process"));
}

static std::string libraryOf(const std::string &named) {
  const char *variable = std::getenv("MTP_CUDA_DRIVER");
  if (!named.empty())
    return named;
  return variable && *variable ? variable : "libcuda.so.1";
}

Result<std::shared_ptr<CudaContext>>
CudaContext::open(const std::string &named) {
  const std::string driver = libraryOf(named);
  Contexts &all = contexts();
  std::lock_guard<std::mutex> lock(all.mutex);
  std::weak_ptr<CudaContext> &entry = all.open[driver];
  if (std::shared_ptr<CudaContext> found = entry.lock())
    return found;
  std::shared_ptr<CudaContext> context(new CudaContext(driver));
  Status status = context->start();
  if (auto loss = all.losses.find(driver); loss != all.losses.end()) {
    // What fails now says less than what failed first.
    if (!status.isOk() || !context->probe().isOk())
      return lostBy(loss->second);
    all.losses.erase(loss);
  }
  MTP_RETURN_IF_ERROR(status);
  entry = context;
  return context;
}

Status CudaContext::start() {
  MTP_ASSIGN_OR_RETURN(api, DriverApi::open(library));
  CUdevice first = 0;
  MTP_RETURN_IF_ERROR(
      api.check(api.cuDeviceGet(&first, 0), "no NVIDIA GPU: cuDeviceGet"));
  char text[256] = {};
  MTP_RETURN_IF_ERROR(api.check(api.cuDeviceGetName(text, sizeof(text), first),
                                "cuDeviceGetName"));
  deviceName = text;
  auto attribute = [&](CUdevice_attribute which, int &value) {
    return api.check(api.cuDeviceGetAttribute(&value, which, first),
                     "cuDeviceGetAttribute");
  };
  device.kind = api.isSimulator ? MachineKind::CudaSim : MachineKind::Cuda;
  MTP_RETURN_IF_ERROR(
      attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device.major));
  MTP_RETURN_IF_ERROR(
      attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device.minor));
  MTP_RETURN_IF_ERROR(attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, l2Bytes));
  // The primary one: libraries of CUDA in the same process use it, too.
  MTP_RETURN_IF_ERROR(api.check(api.cuDevicePrimaryCtxRetain(&context, first),
                                "cuDevicePrimaryCtxRetain"));
  handle = first;
  return okStatus();
}

/// Whether the driver works.
Status CudaContext::probe() const {
  MTP_RETURN_IF_ERROR(enter());
  return api.check(api.cuCtxSynchronize(), "cuCtxSynchronize");
}

CudaContext::~CudaContext() {
  if (context)
    api.cuDevicePrimaryCtxRelease(handle);
}

Status CudaContext::enter() const {
  if (isLost.load(std::memory_order_acquire)) {
    std::lock_guard<std::mutex> lock(lossMutex);
    return lostBy(loss);
  }
  return api.check(api.cuCtxSetCurrent(context), "cuCtxSetCurrent");
}

Status CudaContext::check(CUresult result, std::string_view what) {
  if (result == CUDA_SUCCESS)
    return okStatus();
  {
    std::lock_guard<std::mutex> lock(lossMutex);
    if (!isLost)
      loss = strCat(what, " failed with ", api.nameOf(result));
    isLost.store(true, std::memory_order_release);
  }
  // The first loss stays what it is.
  std::lock_guard<std::mutex> lock(contexts().mutex);
  contexts().losses[library] = loss;
  return lostBy(loss);
}

Result<uint64_t> CudaContext::freeBytes() const {
  size_t unused = 0, total = 0;
  MTP_RETURN_IF_ERROR(
      api.check(api.cuMemGetInfo(&unused, &total), "cuMemGetInfo"));
  return uint64_t(unused);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

CudaMemory &CudaMemory::operator=(CudaMemory &&other) noexcept {
  std::swap(context, other.context);
  std::swap(start, other.start);
  std::swap(shift, other.shift);
  std::swap(length, other.length);
  return *this;
}

CudaMemory::~CudaMemory() {
  // Nothing is freed on a lost device: its memory went with it.
  if (start && context->enter().isOk())
    context->driver().cuMemFree(start);
}

uint64_t CudaMemory::footprint(uint64_t bytes, uint64_t residue) {
  uint64_t all = bytes ? bytes + residue % kCudaAlignment : 0;
  return (all + kCudaAlignment - 1) / kCudaAlignment * kCudaAlignment;
}

Result<CudaMemory> CudaMemory::allocate(std::shared_ptr<CudaContext> context,
                                        uint64_t bytes, uint64_t residue,
                                        const char *what) {
  CudaMemory memory;
  if (bytes == 0)
    return memory;
  memory.context = std::move(context);
  memory.shift = residue % kCudaAlignment;
  const DriverApi &api = memory.context->driver();
  MTP_RETURN_IF_ERROR(api.check(
      api.cuMemAlloc(&memory.start, memory.shift + bytes),
      strCat("cannot allocate ", bytes, " bytes of the GPU for ", what)));
  memory.length = bytes;
  return memory;
}

Status CudaMemory::zero() {
  if (length == 0)
    return okStatus();
  return context->check(context->driver().cuMemsetD8(address(), 0, length),
                        "cuMemsetD8");
}

Status CudaMemory::setScratch() {
  const DriverApi &driver = context->driver();
  if (length == 0 || !driver.isSimulator)
    return okStatus();
  return driver.check(driver.simSetScratch(address()), "mtp_sim_set_scratch");
}

Status CudaMemory::forget() {
  const DriverApi &driver = context->driver();
  if (length == 0 || !driver.isSimulator)
    return okStatus();
  return driver.check(driver.simForget(address(), length), "mtp_sim_forget");
}

PinnedMemory &PinnedMemory::operator=(PinnedMemory &&other) noexcept {
  std::swap(context, other.context);
  std::swap(start, other.start);
  std::swap(device, other.device);
  std::swap(length, other.length);
  return *this;
}

PinnedMemory::~PinnedMemory() {
  if (start && context->enter().isOk())
    context->driver().cuMemFreeHost(start);
}

Result<PinnedMemory>
PinnedMemory::allocate(std::shared_ptr<CudaContext> context, uint64_t bytes,
                       const char *what) {
  PinnedMemory memory;
  memory.context = std::move(context);
  memory.length = bytes;
  const DriverApi &api = memory.context->driver();
  void *start = nullptr;
  MTP_RETURN_IF_ERROR(
      api.check(api.cuMemHostAlloc(&start, bytes, CU_MEMHOSTALLOC_DEVICEMAP),
                strCat("cannot pin ", bytes, " bytes for ", what)));
  memory.start = static_cast<uint8_t *>(start);
  std::memset(start, 0, bytes);
  MTP_RETURN_IF_ERROR(
      api.check(api.cuMemHostGetDevicePointer(&memory.device, start, 0),
                "cuMemHostGetDevicePointer"));
  return memory;
}
