//===- ExecSampleKernels.cpp - Builtins that sample ----------------------===//

#include "dialects/Exec/IR/KernelFamily.h"

using namespace mlir;
using namespace mlir::exec;

/// A builtin of the runtime with so many buffers, the last one its result, and
/// three params; FORMAT.md has them.
static constexpr KernelKind sampler(llvm::StringLiteral name, int64_t buffers,
                                    Division division = Division::Rows) {
  return {name, 3, division, nullptr, nullptr, {buffers, 1, 3}};
}

static constexpr KernelKind kKinds[] = {
    sampler("mtp.sample", 5),
    sampler("mtp.sample_parts", 7),
    sampler("mtp.sample_mapped", 6),
    sampler("mtp.sample_parts_mapped", 8),
    sampler("mtp.sample_scan", 7, Division::RowStretches),
    sampler("mtp.sample_scan_mapped", 8, Division::RowStretches),
    sampler("mtp.sample_join", 8),
    sampler("mtp.sample_join_mapped", 9),
};

llvm::ArrayRef<KernelKind> mlir::exec::sampleKernels() { return kKinds; }
