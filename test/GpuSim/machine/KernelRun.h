//===- KernelRun.h - Report of a graph's kernel -----------------*- C++ -*-===//
//
// A test that counts the work of kernels gives `mtp_sim_on_kernel` a function.
// It is called after every kernel of a graph, while memory is as the kernel
// left it. Addresses of the device are addresses of the process.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_TEST_GPUSIM_MACHINE_KERNELRUN_H
#define MTP_TEST_GPUSIM_MACHINE_KERNELRUN_H

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace mtp::gpusim {

class KernelRun {
public:
  /// Returns the symbol in the image.
  virtual std::string_view name() const = 0;
  virtual size_t arguments() const = 0;
  /// Returns an argument of 8 bytes.
  virtual uint64_t argument(size_t index) const = 0;
  /// Returns true if the kernel read or wrote one of the bytes from `address`
  /// on. Reads before its wait count.
  virtual bool hasRead(uint64_t address, size_t bytes) const = 0;
  virtual bool hasWritten(uint64_t address, size_t bytes) const = 0;

protected:
  ~KernelRun() = default;
};

/// Function that `mtp_sim_on_kernel(hook, data)` sets. Null: nothing is called.
using KernelHook = void (*)(void *data, const KernelRun &run);

} // namespace mtp::gpusim

#endif // MTP_TEST_GPUSIM_MACHINE_KERNELRUN_H
