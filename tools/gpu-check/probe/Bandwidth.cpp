//===- Bandwidth.cpp - The device, and its rates --------------------------===//

#include "Gpu.h"
#include "Parts.h"

#include <cstring>

using namespace mtp::gpu_check;

static int attribute(CUdevice_attribute which) {
  int value = 0;
  CHECK(cu.cuDeviceGetAttribute(&value, which, machine.device));
  return value;
}

void mtp::gpu_check::runBandwidth() {
  char name[128];
  CHECK(cu.cuDeviceGetName(name, sizeof(name), machine.device));
  report("device", std::string(name));
  int version = 0;
  CHECK(cu.cuDriverGetVersion(&version));
  report("cuda of the driver", version);
  report("processors", machine.processors);
  report("l2 bytes", attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE));
  report("shared bytes of a processor",
         attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR));
  report("shared bytes of a block",
         attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN));
  report("clock kHz", attribute(CU_DEVICE_ATTRIBUTE_CLOCK_RATE));

  const size_t bytes = size_t(4) << 30;
  CUdeviceptr from = allocateFilled(bytes, 1), to = allocateFilled(bytes, 2);
  double copy = timeStream(
      [&] { CHECK(cu.cuMemcpyDtoDAsync(to, from, bytes, machine.stream)); }, 15,
      600);
  report("copy GB/s, both directions", 2.0 * bytes / copy / 1e3);
  const size_t pinned = size_t(256) << 20;
  void *host = nullptr;
  CHECK(cu.cuMemHostAlloc(&host, pinned, 0));
  std::memset(host, 1, pinned);
  double upload = timeStream(
      [&] { CHECK(cu.cuMemcpyHtoDAsync(to, host, pinned, machine.stream)); },
      9);
  report("copy from the host, GB/s", double(pinned) / upload / 1e3);
  CUfunction read = machineKernel("read_all");
  for (unsigned perProcessor : {1u, 2u, 4u}) {
    double us = timeStream(
        [&] {
          launch(read, machine.processors * perProcessor, 512, 0,
                 {from, bytes / 16, to});
        },
        10);
    report("read GB/s, blocks of 512 per processor " +
               std::to_string(perProcessor),
           bytes / us / 1e3);
  }
  CUfunction cached = machineKernel("read_cached");
  const size_t window = size_t(16) << 20;
  for (unsigned perProcessor : {2u, 4u}) {
    double us = timeStream(
        [&] {
          launch(cached, machine.processors * perProcessor, 512, 0,
                 {from, bytes / 16, window / 16 - 1, to});
        },
        10);
    report("read GB/s from 16 MB in L2, blocks of 512 per processor " +
               std::to_string(perProcessor),
           bytes / us / 1e3);
  }
}
