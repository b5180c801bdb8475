//===- CudaContext.cpp - A GPU, its context and memory --------------------===//

#include "runtime/device/cuda/CudaContext.h"
#include "runtime/core/MemoryLimit.h"
#include "runtime/core/StrCat.h"

#include <cstdlib>
#include <map>
#include <utility>

#include <cstring>

using namespace mtp;

namespace {
/// Driver library and device number.
using DeviceKey = std::pair<std::string, uint32_t>;

struct Loss {
  std::string what;
  /// Stream whose work does not end, or null.
  CUstream hanging = nullptr;
};

/// Contexts of the process.
struct Contexts {
  std::mutex mutex;
  std::map<DeviceKey, std::weak_ptr<CudaContext>> open;
  /// Cause of the last loss of a device, until the device works again.
  std::map<DeviceKey, Loss> losses;
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

Result<std::shared_ptr<CudaContext>> CudaContext::open(const std::string &named,
                                                       uint32_t ordinal) {
  const DeviceKey key(libraryOf(named), ordinal);
  Contexts &all = contexts();
  std::lock_guard<std::mutex> lock(all.mutex);
  std::weak_ptr<CudaContext> &entry = all.open[key];
  if (std::shared_ptr<CudaContext> found = entry.lock())
    return found;
  std::shared_ptr<CudaContext> context(new CudaContext(key.first, ordinal));
  Status status = context->start();
  if (auto loss = all.losses.find(key); loss != all.losses.end()) {
    // The first failure says more than the current one.
    if (!status.isOk() || !context->probe(loss->second.hanging).isOk())
      return lostBy(loss->second.what);
    all.losses.erase(loss);
  }
  MTP_RETURN_IF_ERROR(status);
  entry = context;
  return context;
}

Result<CUdevice> CudaContext::findDevice() const {
  int count = 0;
  MTP_RETURN_IF_ERROR(api.check(api.cuDeviceGetCount(&count),
                                "no NVIDIA GPU: cuDeviceGetCount"));
  if (count <= 0)
    return failedPrecondition("no NVIDIA GPU: the driver has none");
  if (ordinal >= uint32_t(count))
    return invalidArgument(
        strCat("expected a device of cuda:0 to cuda:", count - 1,
               ", since the driver has ", count, count == 1 ? " GPU" : " GPUs",
               ", got cuda:", ordinal));
  CUdevice found = 0;
  MTP_RETURN_IF_ERROR(api.check(api.cuDeviceGet(&found, int(ordinal)),
                                "no NVIDIA GPU: cuDeviceGet"));
  return found;
}

/// Reads the driver's version and the clock rates. A number that the driver
/// does not tell stays unknown.
void CudaContext::readVersion(CUdevice device) {
  int value = 0;
  auto known = [&value](CUresult result) {
    return result == CUDA_SUCCESS && value > 0 ? uint32_t(value) : 0;
  };
  versions.driver = known(api.cuDriverGetVersion(&value));
  versions.clock = known(
      api.cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_CLOCK_RATE, device));
  versions.memoryClock = known(api.cuDeviceGetAttribute(
      &value, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, device));
}

Status CudaContext::start() {
  MTP_ASSIGN_OR_RETURN(api, DriverApi::open(library));
  MTP_ASSIGN_OR_RETURN(CUdevice found, findDevice());
  char text[256] = {};
  MTP_RETURN_IF_ERROR(api.check(api.cuDeviceGetName(text, sizeof(text), found),
                                "cuDeviceGetName"));
  deviceName = text;
  auto attribute = [&](CUdevice_attribute which, int &value) {
    return api.check(api.cuDeviceGetAttribute(&value, which, found),
                     "cuDeviceGetAttribute");
  };
  device.driver = api.traits.images ? api.traits.images : "";
  MTP_RETURN_IF_ERROR(
      attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device.major));
  MTP_RETURN_IF_ERROR(
      attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device.minor));
  MTP_RETURN_IF_ERROR(attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, l2Bytes));
  MTP_RETURN_IF_ERROR(
      attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR,
                processorBytes));
  // The primary context: CUDA libraries in this process use it, too.
  MTP_RETURN_IF_ERROR(api.check(api.cuDevicePrimaryCtxRetain(&context, found),
                                "cuDevicePrimaryCtxRetain"));
  handle = found;
  readVersion(found);
  return okStatus();
}

/// Returns an error if the driver does not work. If a stream hangs, calls
/// nothing that waits.
Status CudaContext::probe(CUstream hanging) const {
  MTP_RETURN_IF_ERROR(enter());
  if (hanging)
    MTP_RETURN_IF_ERROR(api.check(api.cuStreamQuery(hanging), "cuStreamQuery"));
  return api.check(api.cuCtxSynchronize(), "cuCtxSynchronize");
}

CudaContext::~CudaContext() {
  // The release waits for the work of the device.
  if (context && !hanging)
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
  if (result == CUDA_ERROR_OUT_OF_MEMORY)
    return api.exhausted(what);
  return lose(strCat(what, " failed with ", api.nameOf(result)), nullptr);
}

Status CudaContext::giveUp(CUstream stream, std::string_view what) {
  return lose(std::string(what), stream);
}

Status CudaContext::lose(std::string what, CUstream stream) {
  Loss first;
  {
    std::lock_guard<std::mutex> lock(lossMutex);
    // Keeps the first loss.
    if (!isLost) {
      loss = std::move(what);
      hanging = stream;
    }
    isLost.store(true, std::memory_order_release);
    first = {loss, hanging};
  }
  std::lock_guard<std::mutex> lock(contexts().mutex);
  contexts().losses[{library, ordinal}] = first;
  return lostBy(first.what);
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
  // Nothing is freed on a lost device: its memory is gone.
  if (start && context->enter().isOk())
    context->driver().cuMemFree(start);
}

/// The driver allocates memory in pages of 2 MiB. Smaller allocations share
/// pages, at multiples of 512 bytes.
static constexpr uint64_t kLargeBytes = 1 << 20, kLargeUnit = 2 << 20,
                          kSmallUnit = 512;

uint64_t CudaMemory::footprint(uint64_t bytes, uint64_t residue) {
  uint64_t all = bytes ? addBytes(bytes, residue % kCudaAlignment) : 0;
  uint64_t unit = all < kLargeBytes ? kSmallUnit : kLargeUnit;
  return multiplyBytes(all / unit + (all % unit != 0), unit);
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

template <typename TraitT, typename... ArgTs>
Status CudaMemory::tellDriver(TraitT DriverTraits::*trait, const char *what,
                              ArgTs... args) {
  if (length == 0)
    return okStatus();
  const DriverApi &driver = context->driver();
  if (!(driver.traits.*trait))
    return okStatus();
  return driver.check((driver.traits.*trait)(address(), args...), what);
}

Status CudaMemory::setScratch() {
  return tellDriver(&DriverTraits::setScratch, "making memory scratch");
}

Status CudaMemory::forget() {
  return tellDriver(&DriverTraits::forget, "forgetting memory", length);
}

Status CudaMemory::keepScratch() {
  return tellDriver(&DriverTraits::keepScratch, "keeping scratch memory");
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
  CUresult result =
      api.cuMemHostAlloc(&start, bytes, CU_MEMHOSTALLOC_DEVICEMAP);
  std::string action = strCat("cannot pin ", bytes, " bytes for ", what);
  // The host is out of memory, so the free memory of the GPU does not matter.
  if (result == CUDA_ERROR_OUT_OF_MEMORY)
    return resourceExhausted(
        strCat(action, " in the host's memory: ", api.nameOf(result)));
  MTP_RETURN_IF_ERROR(api.check(result, action));
  memory.start = static_cast<uint8_t *>(start);
  std::memset(start, 0, bytes);
  MTP_RETURN_IF_ERROR(
      api.check(api.cuMemHostGetDevicePointer(&memory.device, start, 0),
                "cuMemHostGetDevicePointer"));
  return memory;
}
