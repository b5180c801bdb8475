//===- CodegenOptions.h - Options of code generation ------------*- C++ -*-===//

#ifndef MTP_COMPILER_TARGET_CODEGENOPTIONS_H
#define MTP_COMPILER_TARGET_CODEGENOPTIONS_H

#include "compiler/KernelCache/KernelCache.h"
#include <cstddef>
#include <functional>
#include <string>

namespace mtp::compiler {

/// Seconds that one thread spent on a kernel, by step.
struct KernelSeconds {
  double emit = 0;
  /// Lowering of the emitter's dialects to LLVM IR.
  double lower = 0;
  /// Passes on LLVM IR.
  double optimize = 0;
  /// Generation of an object or PTX from LLVM IR.
  double generate = 0;
  /// Assembly of PTX to a cubin.
  double assemble = 0;

  double total() const { return emit + lower + optimize + generate + assemble; }
};

/// Compile times of one kernel, for diagnosis.
struct KernelTiming {
  std::string name;
  std::string kind;
  KernelSeconds seconds;
  /// True if the kernel cache had the object.
  bool isCached = false;
  /// True if an equal kernel of the plan had the object.
  bool isShared = false;
};

/// Options for the compilation of kernels. No option changes a byte of the
/// result.
struct CodegenOptions {
  /// Number of threads that compile.
  unsigned jobs = 1;
  /// Cache of compiled kernels; null for none.
  KernelCache *cache = nullptr;
  /// Called with the number of kernels that are compiled and the number of all
  /// kernels to compile. One thread calls it at a time.
  std::function<void(size_t done, size_t all)> progress;
  /// Called for each kernel, in the order of the plan.
  std::function<void(const KernelTiming &)> onKernel;
};

} // namespace mtp::compiler

#endif // MTP_COMPILER_TARGET_CODEGENOPTIONS_H
