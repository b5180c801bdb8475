//===- CodegenOptions.h - How kernels are compiled --------------*- C++ -*-===//

#ifndef MTP_COMPILER_TARGET_CODEGENOPTIONS_H
#define MTP_COMPILER_TARGET_CODEGENOPTIONS_H

#include <cstddef>
#include <functional>
#include <string>

namespace mtp::compiler {

class KernelCache;

/// Seconds that one thread spent on a kernel, by step.
struct KernelSeconds {
  double emit = 0;
  /// From the emitter's dialects to LLVM IR.
  double lower = 0;
  /// Passes on LLVM IR.
  double optimize = 0;
  /// From LLVM IR to an object or PTX.
  double generate = 0;
  /// PTX to a cubin.
  double assemble = 0;

  double total() const { return emit + lower + optimize + generate + assemble; }
};

/// One compiled kernel, for people who look for time.
struct KernelTiming {
  std::string name;
  std::string kind;
  KernelSeconds seconds;
  /// Whether the kernel cache had the object.
  bool isCached = false;
  /// Whether an equal kernel of the plan had it.
  bool isShared = false;
};

/// How a target compiles kernels. No option changes a byte of the result.
struct CodegenOptions {
  /// Threads that compile.
  unsigned jobs = 1;
  /// Compiled kernels of earlier compilations; null for none.
  KernelCache *cache = nullptr;
  /// Called with the number of kernels that are compiled and of all kernels
  /// that must be. Calls come from one thread at a time.
  std::function<void(size_t done, size_t all)> progress;
  /// Called for each kernel, in the order of the plan.
  std::function<void(const KernelTiming &)> onKernel;
};

} // namespace mtp::compiler

#endif // MTP_COMPILER_TARGET_CODEGENOPTIONS_H
