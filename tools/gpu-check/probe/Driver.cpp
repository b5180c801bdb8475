//===- Driver.cpp - The CUDA driver, found at run time --------------------===//

#include "Driver.h"

#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>

using namespace mtp::gpu_check;

Driver mtp::gpu_check::cu;

#define STRING_OF(name) #name
#define STRING(name) STRING_OF(name)

Driver Driver::load() {
  const char *path = std::getenv("MTP_CUDA_DRIVER");
  void *library = dlopen(path ? path : "libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
  if (!library) {
    std::fprintf(stderr, "error: no CUDA driver: %s\n", dlerror());
    std::exit(4);
  }
  Driver driver;
#define X(name)                                                                \
  driver.name =                                                                \
      reinterpret_cast<decltype(driver.name)>(dlsym(library, STRING(name)));   \
  if (!driver.name) {                                                          \
    std::fprintf(stderr, "error: the driver has no %s\n", STRING(name));       \
    std::exit(4);                                                              \
  }
  MTP_DRIVER_CALLS(X)
#undef X
#define X(name)                                                                \
  driver.name =                                                                \
      reinterpret_cast<decltype(driver.name)>(dlsym(library, STRING(name)));
  MTP_DRIVER_CAPTURE_CALLS(X)
#undef X
  return driver;
}

const char *mtp::gpu_check::nameOf(CUresult result) {
  const char *name = nullptr;
  cu.cuGetErrorName(result, &name);
  return name ? name : "unknown error";
}

void mtp::gpu_check::check(CUresult result, const char *what, const char *file,
                           int line) {
  if (result == CUDA_SUCCESS)
    return;
  std::fprintf(stderr, "%s:%d: error: %s gave %s\n", file, line, what,
               nameOf(result));
  std::fflush(stdout);
  std::_Exit(3);
}
