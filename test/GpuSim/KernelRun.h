//===- KernelRun.h - What a kernel of a graph did, for tests ----*- C++ -*-===//
//
// A test that counts what kernels compute gives `mtp_sim_on_kernel` a function:
// it is called behind every kernel of a graph, while memory is as the kernel
// has left it. The addresses of a device are those of the process.
//
//===----------------------------------------------------------------------===//

#ifndef TEST_GPUSIM_KERNELRUN_H
#define TEST_GPUSIM_KERNELRUN_H

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace mtp::gpusim {

class KernelRun {
public:
  /// The symbol in the image.
  virtual std::string_view name() const = 0;
  virtual size_t arguments() const = 0;
  /// An argument of 8 bytes.
  virtual uint64_t argument(size_t index) const = 0;
  /// Whether it read or wrote one of the bytes from `address` on; of reads also
  /// those ahead of its wait.
  virtual bool hasRead(uint64_t address, size_t bytes) const = 0;
  virtual bool hasWritten(uint64_t address, size_t bytes) const = 0;

protected:
  ~KernelRun() = default;
};

/// Set by `mtp_sim_on_kernel(hook, data)`; null: nothing is called.
using KernelHook = void (*)(void *data, const KernelRun &run);

} // namespace mtp::gpusim

#endif // TEST_GPUSIM_KERNELRUN_H
