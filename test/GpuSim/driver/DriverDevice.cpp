//===- DriverDevice.cpp - Devices, contexts and errors --------------------===//

#include "Driver.h"
#include "test/GpuSim/machine/Conditions.h"

#include "Stream.h"
#include "runtime/device/cuda/DriverTraits.h"
#include "test/GpuSim/machine/Simulator.h"
#include "test/GpuSim/target/SimAbi.h"
#include <cstring>

using namespace mtp::gpusim;

static std::recursive_mutex mutex;
static bool initialised = false;
static unsigned retained[kMostDevices];
static bool inHostFunction = false;

/// Contexts: the primary one of each device. A context has an address only.
static char primaryContexts[kMostDevices];
static thread_local CUcontext current = nullptr;

static CUcontext primary(CUdevice device) {
  return reinterpret_cast<CUcontext>(&primaryContexts[device]);
}

/// Returns the device of a context, or -1.
static CUdevice deviceOf(CUcontext context) {
  for (CUdevice device = 0; device < kMostDevices; ++device)
    if (context == primary(device))
      return device;
  return -1;
}

Entry::Entry(const char *name, Needs needs) : lock(mutex), name(name) {
  if (inHostFunction)
    code = refuse(CUDA_ERROR_NOT_PERMITTED,
                  "%s: expected no call of the driver in a stream's host "
                  "function, got one",
                  name);
  else if (needs >= Driver && !initialised)
    code = refuse(CUDA_ERROR_NOT_INITIALIZED,
                  "%s: expected cuInit before, got none", name);
  else if (needs >= Context &&
           (deviceOf(current) < 0 || !retained[deviceOf(current)]))
    code = refuse(CUDA_ERROR_INVALID_CONTEXT,
                  "%s: expected the primary context to be retained and "
                  "current in this thread, got %s",
                  name, current ? "another" : "none");
  if (needs >= Context && code == CUDA_SUCCESS) {
    simulator().memory.setDevice(deviceOf(current));
    if (simulator().lost())
      code = CUDA_ERROR_LAUNCH_FAILED;
  }
}

bool Entry::refusedOrFull() {
  if (!refused() && simulator().takesMemory())
    code = refuse(CUDA_ERROR_OUT_OF_MEMORY,
                  "%s: no memory, as a test has asked for", name);
  return refused();
}

HostFunction::HostFunction() { inHostFunction = true; }
HostFunction::~HostFunction() { inHostFunction = false; }

CUresult mtp::gpusim::loseDevice(const std::string &fault) {
  setMessage(fault);
  simulator().lost() = true;
  dropQueues();
  return CUDA_ERROR_LAUNCH_FAILED;
}

MTP_API cuInit(unsigned flags) {
  Entry entry("cuInit", Entry::Nothing);
  if (flags)
    return refuse(CUDA_ERROR_INVALID_VALUE, "cuInit: expected flags 0, got %u",
                  flags);
  initialised = true;
  return CUDA_SUCCESS;
}

MTP_API cuDriverGetVersion(int *version) {
  Entry entry("cuDriverGetVersion", Entry::Nothing);
  int64_t injected = simulator().injected.driver;
  *version = injected ? int(injected) : CUDA_VERSION;
  return CUDA_SUCCESS;
}

MTP_API cuDeviceGetCount(int *count) {
  Entry entry("cuDeviceGetCount", Entry::Driver);
  *count = int(simulator().injected.devices);
  return entry.result();
}

static CUresult checkDevice(const char *name, CUdevice device) {
  int64_t count = simulator().injected.devices;
  return device >= 0 && device < count
             ? CUDA_SUCCESS
             : refuse(CUDA_ERROR_INVALID_DEVICE,
                      "%s: expected a device below %d, got %d", name,
                      int(count), device);
}

MTP_API cuDeviceGet(CUdevice *device, int ordinal) {
  Entry entry("cuDeviceGet", Entry::Driver);
  if (entry.refused())
    return entry.result();
  *device = ordinal;
  return checkDevice("cuDeviceGet", ordinal);
}

MTP_API cuDeviceGetName(char *name, int length, CUdevice device) {
  Entry entry("cuDeviceGetName", Entry::Driver);
  if (entry.refused() || checkDevice("cuDeviceGetName", device))
    return entry.refused() ? entry.result() : CUDA_ERROR_INVALID_DEVICE;
  std::strncpy(name, "gpu-sim sm_90", length);
  if (length > 0)
    name[length - 1] = 0;
  return CUDA_SUCCESS;
}

MTP_API cuDeviceTotalMem(size_t *bytes, CUdevice device) {
  Entry entry("cuDeviceTotalMem", Entry::Driver);
  if (entry.refused())
    return entry.result();
  *bytes = simulator().memory.total();
  return checkDevice("cuDeviceTotalMem", device);
}

/// Returns an attribute of an H100, as far as the tests need it.
static int attributeOf(CUdevice_attribute attribute, bool &known) {
  known = true;
  switch (attribute) {
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
    return simulator().injected.chip / 10;
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
    return simulator().injected.chip % 10;
  case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
    return 132;
  case CU_DEVICE_ATTRIBUTE_WARP_SIZE:
    return 32;
  case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
    return 1024;
  case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK:
    return kDefaultDynamic;
  case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
    return kMaxShared;
  case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR:
    return kMaxShared + (1 << 10);
  case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE:
    return 50 << 20;
  case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
    return 1;
  case CU_DEVICE_ATTRIBUTE_CLOCK_RATE:
    return 1'980'000;
  case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE:
    return 2'619'000;
  default:
    known = false;
    return 0;
  }
}

MTP_API cuDeviceGetAttribute(int *value, CUdevice_attribute attribute,
                             CUdevice device) {
  Entry entry("cuDeviceGetAttribute", Entry::Driver);
  if (entry.refused())
    return entry.result();
  bool known;
  *value = attributeOf(attribute, known);
  if (!known)
    return refuse(CUDA_ERROR_NOT_SUPPORTED,
                  "cuDeviceGetAttribute: attribute %d is not simulated",
                  int(attribute));
  return checkDevice("cuDeviceGetAttribute", device);
}

MTP_API cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
  Entry entry("cuDevicePrimaryCtxRetain", Entry::Driver);
  if (entry.refused())
    return entry.result();
  if (CUresult failed = checkDevice("cuDevicePrimaryCtxRetain", device))
    return failed;
  if (entry.refusedOrFull())
    return entry.result();
  ++retained[device];
  *context = primary(device);
  return CUDA_SUCCESS;
}

MTP_API cuDevicePrimaryCtxRelease(CUdevice device) {
  Entry entry("cuDevicePrimaryCtxRelease", Entry::Driver);
  if (entry.refused())
    return entry.result();
  if (CUresult failed = checkDevice("cuDevicePrimaryCtxRelease", device))
    return failed;
  if (!retained[device])
    return refuse(CUDA_ERROR_INVALID_CONTEXT,
                  "cuDevicePrimaryCtxRelease: expected a retained context, "
                  "got none");
  --retained[device];
  return CUDA_SUCCESS;
}

MTP_API cuCtxSetCurrent(CUcontext context) {
  Entry entry("cuCtxSetCurrent", Entry::Driver);
  if (entry.refused())
    return entry.result();
  if (context && deviceOf(context) < 0)
    return refuse(CUDA_ERROR_INVALID_CONTEXT,
                  "cuCtxSetCurrent: expected a primary context, got another");
  current = context;
  return CUDA_SUCCESS;
}

MTP_API cuCtxGetCurrent(CUcontext *context) {
  Entry entry("cuCtxGetCurrent", Entry::Driver);
  *context = current;
  return entry.result();
}

MTP_API cuCtxGetDevice(CUdevice *device) {
  Entry entry("cuCtxGetDevice");
  *device = deviceOf(current);
  return entry.result();
}

MTP_API cuCtxSynchronize() {
  Entry entry("cuCtxSynchronize");
  ++simulator().waits;
  return entry.refused() ? entry.result() : drainAll();
}

MTP_API cuGetErrorName(CUresult error, const char **text) {
  switch (error) {
#define MTP_NAME(name)                                                         \
  case name:                                                                   \
    *text = #name;                                                             \
    return CUDA_SUCCESS;
    MTP_NAME(CUDA_SUCCESS)
    MTP_NAME(CUDA_ERROR_INVALID_VALUE)
    MTP_NAME(CUDA_ERROR_OUT_OF_MEMORY)
    MTP_NAME(CUDA_ERROR_NOT_INITIALIZED)
    MTP_NAME(CUDA_ERROR_INVALID_DEVICE)
    MTP_NAME(CUDA_ERROR_INVALID_IMAGE)
    MTP_NAME(CUDA_ERROR_NO_BINARY_FOR_GPU)
    MTP_NAME(CUDA_ERROR_INVALID_CONTEXT)
    MTP_NAME(CUDA_ERROR_INVALID_HANDLE)
    MTP_NAME(CUDA_ERROR_NOT_FOUND)
    MTP_NAME(CUDA_ERROR_NOT_READY)
    MTP_NAME(CUDA_ERROR_LAUNCH_FAILED)
    MTP_NAME(CUDA_ERROR_NOT_SUPPORTED)
#undef MTP_NAME
  default:
    *text = nullptr;
    return CUDA_ERROR_INVALID_VALUE;
  }
}

/// Returns the name: without the failed call there is nothing more to say.
MTP_API cuGetErrorString(CUresult error, const char **text) {
  return cuGetErrorName(error, text);
}

// Beyond CUDA, for tests.

extern "C" __attribute__((visibility("default"))) const char *
mtp_sim_last_error() {
  return lastMessage().c_str();
}

extern "C" __attribute__((visibility("default"))) void
mtp_sim_set_seed(unsigned long long seed) {
  std::lock_guard<std::recursive_mutex> lock(mutex);
  simulator().setSeed(seed);
}

/// Selects another machine or a fault, by the names of Simulator::inject.
extern "C" __attribute__((visibility("default"))) CUresult
mtp_sim_inject(const char *name, long long value) {
  std::lock_guard<std::recursive_mutex> lock(mutex);
  return simulator().inject(name, value)
             ? CUDA_SUCCESS
             : refuse(CUDA_ERROR_INVALID_VALUE,
                      "mtp_sim_inject: expected driver, chip, devices (at "
                      "most %d), fault, full, turns, pinned or memory, got "
                      "'%s'",
                      kMostDevices, name);
}

/// Turns an allocation into scratch memory. A graph may not read bytes that
/// were written before or by the last graph that touched the memory.
extern "C" __attribute__((visibility("default"))) CUresult
mtp_sim_set_scratch(CUdeviceptr memory) {
  Entry entry("mtp_sim_set_scratch");
  if (entry.refused())
    return entry.result();
  Allocation *allocation = simulator().memory.find(memory, 1);
  if (!allocation || allocation->kind != MemoryKind::Device)
    return refuse(CUDA_ERROR_INVALID_VALUE,
                  "mtp_sim_set_scratch: expected memory of the device, got an "
                  "address %s",
                  simulator().memory.describe(memory).c_str());
  allocation->fresh.emplace(allocation->bytes);
  return CUDA_SUCCESS;
}

/// Lets the next graph read what the last graph that touched scratch memory
/// left there.
extern "C" __attribute__((visibility("default"))) CUresult
mtp_sim_keep_scratch(CUdeviceptr memory) {
  Entry entry("mtp_sim_keep_scratch");
  if (entry.refused())
    return entry.result();
  Allocation *allocation = simulator().memory.find(memory, 1);
  if (!allocation || !allocation->fresh)
    return refuse(CUDA_ERROR_INVALID_VALUE,
                  "mtp_sim_keep_scratch: expected scratch memory, got an "
                  "address %s",
                  simulator().memory.describe(memory).c_str());
  allocation->fresh->unite(allocation->written);
  return CUDA_SUCCESS;
}

/// Marks bytes as unwritten.
extern "C" __attribute__((visibility("default"))) CUresult
mtp_sim_forget(CUdeviceptr memory, size_t bytes) {
  Entry entry("mtp_sim_forget");
  if (entry.refused())
    return entry.result();
  Allocation *allocation = simulator().memory.find(memory, bytes);
  if (!allocation)
    return refuse(CUDA_ERROR_INVALID_VALUE,
                  "mtp_sim_forget: expected %zu bytes inside of an allocation, "
                  "got %s",
                  bytes, simulator().memory.describe(memory).c_str());
  allocation->written.clear(memory - allocation->base, bytes);
  return CUDA_SUCCESS;
}

/// Properties that the runtime asks for.
extern "C" __attribute__((visibility("default"))) const mtp::DriverTraits *
mtp_driver_traits() {
  static const mtp::DriverTraits traits = {.images = kDriverName,
                                           .hasTime = false,
                                           .longestCopy = 1 << 20,
                                           .setScratch = mtp_sim_set_scratch,
                                           .forget = mtp_sim_forget,
                                           .keepScratch = mtp_sim_keep_scratch};
  return &traits;
}

/// Calls `hook` with `data` after every turn of a loop. Null removes the hook.
extern "C" __attribute__((visibility("default"))) void
mtp_sim_on_turn(void (*hook)(void *), void *data) {
  std::lock_guard<std::recursive_mutex> lock(mutex);
  setTurnHook(hook ? TurnHook([=] { hook(data); }) : TurnHook());
}

/// Calls `hook` with `data` after every kernel of a graph. Null removes the
/// hook.
extern "C" __attribute__((visibility("default"))) void
mtp_sim_on_kernel(KernelHook hook, void *data) {
  std::lock_guard<std::recursive_mutex> lock(mutex);
  std::function<void(const KernelRun &)> call;
  if (hook)
    call = [=](const KernelRun &run) { hook(data, run); };
  setKernelHook(std::move(call));
}

/// Returns the largest number of times that a thread of the last kernel may
/// have waited for loads: its batches of loads, each of which may need a value
/// of the one before.
extern "C" __attribute__((visibility("default"))) uint64_t
mtp_sim_load_batches() {
  std::lock_guard<std::recursive_mutex> lock(mutex);
  return simulator().loadBatches;
}

/// Returns the number of times that a caller has waited for a device: for a
/// stream, an event, a synchronous copy, or a copy to memory that is not
/// pinned.
extern "C" __attribute__((visibility("default"))) uint64_t mtp_sim_waits() {
  std::lock_guard<std::recursive_mutex> lock(mutex);
  return simulator().waits;
}

/// Makes a lost device usable again, as for a new process.
extern "C" __attribute__((visibility("default"))) void mtp_sim_revive() {
  std::lock_guard<std::recursive_mutex> lock(mutex);
  for (int device = 0; device < kMostDevices; ++device) {
    simulator().memory.setDevice(device);
    dropQueues();
  }
  simulator().revive();
  clearMessage();
}
