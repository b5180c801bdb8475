//===- KernelImage.cpp - Native code out of an artifact -------------------===//

#include "runtime/device/cpu/KernelImage.h"
#include "runtime/core/StrCat.h"

#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace mtp;

/// Checks what the dynamic linker would say less clearly.
static Status checkElf(std::span<const uint8_t> elf) {
  Elf64_Ehdr header;
  if (elf.size() < sizeof(header))
    return dataLoss(strCat("expected an ELF header of ", sizeof(header),
                           " bytes, got ", elf.size()));
  std::memcpy(&header, elf.data(), sizeof(header));
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_type != ET_DYN)
    return dataLoss("expected a 64-bit ELF shared object");
#if defined(__x86_64__)
  if (header.e_machine != EM_X86_64)
    return failedPrecondition(
        strCat("expected an ELF for x86_64, got machine ", header.e_machine));
#endif
  return okStatus();
}

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
  MTP_RETURN_IF_ERROR(checkElf(elf));
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
