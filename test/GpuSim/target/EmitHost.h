//===- EmitHost.h - GPU kernels as code for the simulator -------*- C++ -*-===//

#ifndef TEST_GPUSIM_TARGET_EMITHOST_H
#define TEST_GPUSIM_TARGET_EMITHOST_H

#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"
#include <vector>

namespace mtp::gpu {

/// Makes of a module of kernels (NVVM's LLVM IR) an image that gpu-sim loads
/// (SimAbi.h). Consumes the module's contents.
llvm::Expected<std::vector<char>> emitHostImage(llvm::Module &module);

} // namespace mtp::gpu

#endif // TEST_GPUSIM_TARGET_EMITHOST_H
