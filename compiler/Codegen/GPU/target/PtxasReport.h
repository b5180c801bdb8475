//===- PtxasReport.h - What ptxas says of kernels ---------------*- C++ -*-===//

#ifndef COMPILER_CODEGEN_GPU_TARGET_PTXASREPORT_H
#define COMPILER_CODEGEN_GPU_TARGET_PTXASREPORT_H

#include "compiler/Target/Target.h"

namespace mtp::gpu {

/// Reads the output of `ptxas -v`: what each entry function takes, in its
/// order there. Lines that say something else are passed over.
std::vector<compiler::KernelResources> readPtxasReport(llvm::StringRef report);

} // namespace mtp::gpu

#endif // COMPILER_CODEGEN_GPU_TARGET_PTXASREPORT_H
