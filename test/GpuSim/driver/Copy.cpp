//===- Copy.cpp - Copies and fills by the host ----------------------------===//

#include "Copy.h"

#include "test/GpuSim/machine/Report.h"
#include "test/GpuSim/machine/Simulator.h"
#include <cstring>

using namespace mtp::gpusim;

/// Returns the allocation on the device's side, or null after an error message.
static Allocation *deviceSide(const char *what, uintptr_t address,
                              size_t bytes) {
  Allocation *allocation = simulator().memory.find(address, bytes);
  if (!allocation)
    refuse(CUDA_ERROR_INVALID_VALUE,
           "%s: expected %zu bytes inside of an allocation, got %s", what,
           bytes, simulator().memory.describe(address).c_str());
  return allocation;
}

void Copy::keepSource() {
  auto *source = reinterpret_cast<const char *>(from);
  kept = std::make_shared<std::vector<char>>(source, source + bytes);
}

CUresult Copy::run(Touched *touched) const {
  Allocation *target = nullptr, *source = nullptr;
  if (!bytes)
    return CUDA_SUCCESS;
  if (toDevice)
    target = deviceSide("copy to the device", to, bytes);
  if (toDevice && !target)
    return CUDA_ERROR_INVALID_VALUE;
  if (fromDevice)
    source = deviceSide("copy from the device", from, bytes);
  if (fromDevice && !source)
    return CUDA_ERROR_INVALID_VALUE;
  uint64_t run = simulator().graphRun;
  for (Allocation *side : {target, source})
    if (side)
      side->enter(run);
  size_t offset = source ? from - source->base : 0;
  bool tracked = source && source->kind == MemoryKind::Device;
  if (!toDevice && tracked) {
    size_t byte = source->written.firstClear(offset, bytes);
    if (byte != ByteBits::npos)
      return refuse(CUDA_ERROR_INVALID_VALUE,
                    "uninitialised: copy of %zu bytes to the host from byte "
                    "%zu of an allocation of %zu; nothing wrote byte %zu",
                    bytes, offset, source->bytes, byte);
  }
  auto *data = kept ? kept->data() : reinterpret_cast<const char *>(from);
  std::memmove(reinterpret_cast<void *>(to), data, bytes);
  if (target) {
    target->noteWrite(to - target->base, bytes, run);
    if (tracked && target->kind == MemoryKind::Device)
      target->written.copy(to - target->base, source->written, offset, bytes);
  }
  if (touched && source)
    touched->reads.add(*source, offset, bytes);
  if (touched && target)
    touched->writes.add(*target, to - target->base, bytes);
  return CUDA_SUCCESS;
}

CUresult Fill::run(Touched *touched) const {
  size_t bytes = count * width;
  if (to % width)
    return refuse(CUDA_ERROR_INVALID_VALUE,
                  "fill: expected an address that is a multiple of %u", width);
  if (!bytes)
    return CUDA_SUCCESS;
  Allocation *target = deviceSide("fill", to, bytes);
  if (!target)
    return CUDA_ERROR_INVALID_VALUE;
  for (size_t i = 0; i < count; ++i)
    std::memcpy(reinterpret_cast<char *>(to) + i * width, &value, width);
  target->enter(simulator().graphRun);
  target->noteWrite(to - target->base, bytes, simulator().graphRun);
  if (touched)
    touched->writes.add(*target, to - target->base, bytes);
  return CUDA_SUCCESS;
}
