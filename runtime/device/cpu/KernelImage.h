//===- KernelImage.h - Native code from an artifact -------------*- C++ -*-===//

#ifndef MTP_RUNTIME_DEVICE_CPU_KERNELIMAGE_H
#define MTP_RUNTIME_DEVICE_CPU_KERNELIMAGE_H

#include "runtime/core/Result.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace mtp {

/// A kernel. It runs the tasks [taskBegin, taskEnd); runtime/schema explains
/// the other arguments.
using KernelFunction = void (*)(void *const *buffers, const int64_t *params,
                                int64_t taskBegin, int64_t taskEnd,
                                void *scratch);

/// A loaded ELF shared object. Its functions are valid as long as it lives.
class KernelImage {
public:
  /// Loads an image that `verifyElf` accepts from memory, without a file on
  /// disk. No code of the image runs before one of its kernels is called.
  static Result<std::unique_ptr<KernelImage>>
  load(std::span<const uint8_t> elf);

  KernelImage(const KernelImage &) = delete;
  KernelImage &operator=(const KernelImage &) = delete;
  ~KernelImage();

  /// Returns the kernel of that symbol, or NotFound.
  Result<KernelFunction> find(const std::string &symbol) const;

private:
  KernelImage(int fd, void *handle) : fd(fd), handle(handle) {}

  /// The anonymous file. It stays open because the dynamic linker identifies
  /// the image by the descriptor's path. It would take a second image with the
  /// same number for the first image.
  int fd;
  void *handle;
};

} // namespace mtp

#endif // MTP_RUNTIME_DEVICE_CPU_KERNELIMAGE_H
