//===- FakeProfiler.cpp - A profiler for NVTX -----------------------------===//
//
// A library for NVTX_INJECTION64_PATH. It writes a line for each domain and for
// each range's begin and end to the file that MTP_FAKE_PROFILER names.
//
//===----------------------------------------------------------------------===//

#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExt.h>

#include <cstdio>
#include <cstdlib>

static void note(const char *what, const char *name) {
  static std::FILE *file = std::fopen(std::getenv("MTP_FAKE_PROFILER"), "w");
  std::fprintf(file, "%s %s\n", what, name);
  std::fflush(file);
}

/// Handle of the domain.
static int theDomain;
static nvtxDomainHandle_t handle() {
  return reinterpret_cast<nvtxDomainHandle_t>(&theDomain);
}

static nvtxDomainHandle_t createDomain(const char *name) {
  note("domain", name);
  return handle();
}

static int push(nvtxDomainHandle_t domain,
                const nvtxEventAttributes_t *attributes) {
  bool isName = attributes->version == NVTX_VERSION &&
                attributes->size == sizeof(*attributes) &&
                attributes->messageType == NVTX_MESSAGE_TYPE_ASCII;
  note(domain == handle() ? "begin" : "elsewhere",
       isName ? attributes->message.ascii : "without a name");
  return 0;
}

static int pop(nvtxDomainHandle_t domain) {
  note(domain == handle() ? "end" : "elsewhere", "");
  return 0;
}

extern "C" __attribute__((visibility("default"))) int
InitializeInjectionNvtx2(NvtxGetExportTableFunc_t getTable) {
  auto *callbacks = static_cast<const NvtxExportTableCallbacks *>(
      getTable(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned size = 0;
  if (!callbacks ||
      !callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size) ||
      size <= NVTX_CBID_CORE2_DomainCreateA)
    return 0;
  auto set = [&](NvtxCallbackIdCore2 which, auto *function) {
    *table[which] = reinterpret_cast<NvtxFunctionPointer>(function);
  };
  set(NVTX_CBID_CORE2_DomainCreateA, createDomain);
  set(NVTX_CBID_CORE2_DomainRangePushEx, push);
  set(NVTX_CBID_CORE2_DomainRangePop, pop);
  return 1;
}
