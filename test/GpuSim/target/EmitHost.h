//===- EmitHost.h - GPU kernels as code for the simulator -------*- C++ -*-===//

#ifndef MTP_TEST_GPUSIM_TARGET_EMITHOST_H
#define MTP_TEST_GPUSIM_TARGET_EMITHOST_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"
#include "llvm/Target/TargetMachine.h"
#include <memory>
#include <vector>

namespace mtp::gpu {

/// Creates the machine that images are compiled for.
llvm::Expected<std::unique_ptr<llvm::TargetMachine>> makeHostMachine();

/// Lowers a module of kernels (NVVM's LLVM IR) to code of `machine` that calls
/// the simulator.
llvm::Error lowerForHost(llvm::Module &module, llvm::TargetMachine &machine);

/// Writes a lowered module as an ELF object, and consumes its contents.
llvm::Expected<std::vector<char>> writeHostObject(llvm::Module &module,
                                                  llvm::TargetMachine &machine);

/// Links objects into an image that gpu-sim loads (SimAbi.h).
llvm::Expected<std::vector<char>>
linkHostImage(llvm::ArrayRef<llvm::StringRef> objects);

/// Makes an image of one module of kernels: runs all steps above. Consumes the
/// module's contents.
llvm::Expected<std::vector<char>> emitHostImage(llvm::Module &module);

} // namespace mtp::gpu

#endif // MTP_TEST_GPUSIM_TARGET_EMITHOST_H
