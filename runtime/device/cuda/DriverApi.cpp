//===- DriverApi.cpp - The CUDA driver, found at run time -----------------===//

#include "runtime/device/cuda/DriverApi.h"
#include "runtime/core/StrCat.h"

#include <dlfcn.h>

using namespace mtp;

/// Oldest driver that fits the headers' ABI and the images of mtpc.
static constexpr int kLeastDriver = 13000;

/// Returns "13.0" for 13000.
static std::string versionName(int version) {
  return strCat(version / 1000, ".", version % 1000 / 10);
}

/// Finds functions one after another, and keeps the name of the first missing
/// one.
namespace {
class Finder {
public:
  explicit Finder(void *library) : library(library) {}
  template <typename Function>
  void find(Function &function, const char *name) {
    function = reinterpret_cast<Function>(::dlsym(library, name));
    if (!function && !missing)
      missing = name;
  }

  void *library;
  const char *missing = nullptr;
};
} // namespace

// Text of the name that a macro of cuda.h makes of another name.
#define MTP_CUDA_TEXT2(name) #name
#define MTP_CUDA_TEXT(name) MTP_CUDA_TEXT2(name)

Result<DriverApi> DriverApi::open(const std::string &path) {
  void *library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return failedPrecondition(strCat("no NVIDIA driver: ", ::dlerror()));
  DriverApi api;
  api.library = library;
  // Checks the version first: an old driver lacks functions, and its age is the
  // better message.
  Finder finder(library);
  finder.find(api.cuDriverGetVersion, MTP_CUDA_TEXT(cuDriverGetVersion));
  int version = 0;
  if (!finder.missing && api.cuDriverGetVersion(&version) == CUDA_SUCCESS &&
      version < kLeastDriver)
    return failedPrecondition(
        strCat("expected an NVIDIA driver for CUDA ", versionName(kLeastDriver),
               " or later, got one for CUDA ", versionName(version)));
#define MTP_CUDA_FIND(name) finder.find(api.name, MTP_CUDA_TEXT(name));
  MTP_CUDA_FUNCTIONS(MTP_CUDA_FIND)
#undef MTP_CUDA_FIND
  if (auto traits =
          reinterpret_cast<GetDriverTraits *>(::dlsym(library, kDriverTraits)))
    api.traits = *traits();
  if (finder.missing)
    return failedPrecondition(strCat("expected an NVIDIA driver with ",
                                     finder.missing, ", got ", path,
                                     " without it"));
  MTP_RETURN_IF_ERROR(api.check(api.cuInit(0), "no NVIDIA GPU: cuInit"));
  return api;
}

std::string DriverApi::nameOf(CUresult result) const {
  const char *name = nullptr;
  if (cuGetErrorName(result, &name) != CUDA_SUCCESS || !name)
    return strCat("CUDA error ", int(result));
  return name;
}

Status DriverApi::check(CUresult result, std::string_view what) const {
  if (result == CUDA_SUCCESS)
    return okStatus();
  if (result == CUDA_ERROR_OUT_OF_MEMORY)
    return exhausted(what);
  return failedPrecondition(strCat(what, ": ", nameOf(result)));
}

Status DriverApi::exhausted(std::string_view what) const {
  std::string message = strCat(what, ": CUDA_ERROR_OUT_OF_MEMORY");
  size_t unused = 0, total = 0;
  if (cuMemGetInfo(&unused, &total) == CUDA_SUCCESS)
    message += strCat(", with ", unused, " of the GPU's ", total,
                      " bytes free; lower kv_pages");
  return resourceExhausted(std::move(message));
}
