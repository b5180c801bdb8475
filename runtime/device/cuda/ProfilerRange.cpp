//===- ProfilerRange.cpp - Ranges on a profiler's timeline ----------------===//
//
// NVTX 3 is header-only. It opens the library that a profiler names in the
// environment (NVTX_INJECTION64_PATH), and does nothing without one.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/ProfilerRange.h"

using namespace mtp;

#if __has_include(<nvtx3/nvToolsExt.h>)

// A profiler that is linked to the program would be found by a weak symbol. A
// library should not add one to a program.
#define NVTX_SUPPORT_STATIC_INJECTION_LIBRARY 0
#include <nvtx3/nvToolsExt.h>

/// Returns the domain; null if no profiler is attached.
static nvtxDomainHandle_t domain() {
  static nvtxDomainHandle_t handle = nvtxDomainCreateA("mtp");
  return handle;
}

bool ProfilerRange::isWatched() { return domain() != nullptr; }

void ProfilerRange::begin(const std::string &name) {
  nvtxEventAttributes_t attributes = {};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
  attributes.message.ascii = name.c_str();
  nvtxDomainRangePushEx(domain(), &attributes);
  isOpen = true;
}

void ProfilerRange::end() { nvtxDomainRangePop(domain()); }

#else

bool ProfilerRange::isWatched() { return false; }
void ProfilerRange::begin(const std::string &) {}
void ProfilerRange::end() {}

#endif
