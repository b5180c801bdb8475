//===- KernelImage.cpp - Native code from an artifact ---------------------===//

#include "runtime/device/cpu/KernelImage.h"
#include "runtime/core/StrCat.h"
#include "runtime/device/cpu/ElfImage.h"

#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace mtp;

static Status writeAll(int fd, std::span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    ssize_t count = ::write(fd, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return resourceExhausted(
          strCat("cannot copy a kernel image: ", std::strerror(errno)));
    bytes = bytes.subspan(size_t(count));
  }
  return okStatus();
}

Result<std::unique_ptr<KernelImage>>
KernelImage::load(std::span<const uint8_t> elf) {
  MTP_RETURN_IF_ERROR(verifyElf(elf));
  int fd = ::memfd_create("mtp-kernels", MFD_CLOEXEC);
  if (fd < 0)
    return resourceExhausted(strCat("cannot make memory for a kernel image: ",
                                    std::strerror(errno)));
  if (Status status = writeAll(fd, elf); !status.isOk()) {
    ::close(fd);
    return status;
  }
  std::string path = strCat("/proc/self/fd/", fd);
  void *handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char *reason = ::dlerror();
    ::close(fd);
    return dataLoss(strCat("cannot load a kernel image: ",
                           reason ? reason : "unknown reason"));
  }
  return std::unique_ptr<KernelImage>(new KernelImage(fd, handle));
}

KernelImage::~KernelImage() {
  ::dlclose(handle);
  ::close(fd);
}

Result<KernelFunction> KernelImage::find(const std::string &symbol) const {
  void *address = ::dlsym(handle, symbol.c_str());
  if (!address)
    return notFound(strCat("the kernel image has no symbol '", symbol, "'"));
  return reinterpret_cast<KernelFunction>(address);
}
