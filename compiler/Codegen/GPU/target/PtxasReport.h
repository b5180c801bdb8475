//===- PtxasReport.h - Reader of reports of ptxas ---------------*- C++ -*-===//

#ifndef MTP_COMPILER_CODEGEN_GPU_TARGET_PTXASREPORT_H
#define MTP_COMPILER_CODEGEN_GPU_TARGET_PTXASREPORT_H

#include "compiler/Target/Target.h"

namespace mtp::gpu {

/// Reads the output of `ptxas -v`: the resources of each entry function, in the
/// order of the output. Skips other lines.
std::vector<compiler::KernelResources> readPtxasReport(llvm::StringRef report);

} // namespace mtp::gpu

#endif // MTP_COMPILER_CODEGEN_GPU_TARGET_PTXASREPORT_H
