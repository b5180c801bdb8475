//===- HostLowering.h - NVVM's LLVM IR rewritten for gpu-sim ----*- C++ -*-===//
//
// Steps of emitHostImage, in the order in which they run. They work on LLVM IR,
// because no upstream conversion lowers a gpu.module with barriers to a CPU,
// and because the checked code is then the code that PTX is made from.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_TEST_GPUSIM_TARGET_HOSTLOWERING_H
#define MTP_TEST_GPUSIM_TARGET_HOSTLOWERING_H

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <string>
#include <vector>

namespace mtp::gpu {

/// Functions of the simulator that a module calls. Each has a slot that the
/// simulator fills when it loads the image.
class HostImports {
public:
  explicit HostImports(llvm::Module &module) : module(module) {}

  /// Calls the function `name`, at the builder's insertion point.
  llvm::CallInst *call(llvm::IRBuilderBase &builder, llvm::StringRef name,
                       llvm::FunctionType *type,
                       llvm::ArrayRef<llvm::Value *> arguments);

  const llvm::MapVector<llvm::StringRef, llvm::GlobalVariable *> &all() const {
    return slots;
  }

private:
  llvm::Module &module;
  llvm::MapVector<llvm::StringRef, llvm::GlobalVariable *> slots;
};

/// Shared memory of a kernel, for its descriptor.
struct SharedLayout {
  uint64_t staticBytes = 0;
  bool usesDynamic = false;
};

/// Replaces variables in shared memory by offsets from the block's base, and
/// returns each kernel's layout. A kernel's size covers the variables that it
/// uses itself. A use of a variable in a function that is no kernel is an
/// error.
llvm::Expected<llvm::MapVector<llvm::Function *, SharedLayout>>
lowerSharedMemory(llvm::Module &module, HostImports &imports);

/// Calls the simulator before every access to memory, except clear accesses to
/// the thread's local variables. Must run before any optimisation, so that it
/// sees every access of the program with its size and alignment.
void insertAccessChecks(llvm::Module &module, HostImports &imports);

/// Turns intrinsics of NVVM into calls of the simulator. Unknown intrinsics,
/// PTX as text, and calls of functions that the module lacks are errors.
llvm::Error lowerIntrinsics(llvm::Module &module, HostImports &imports);

/// Rounds f32 to bf16 in integer code, as the hardware does. An image cannot
/// use the library call that LLVM makes of it.
void expandBf16Rounding(llvm::Module &module);

/// Writes the table of a unit. Each kernel gets a wrapper that takes the
/// driver's pointers to parameters.
void writeUnitTable(
    llvm::Module &module, const HostImports &imports,
    const llvm::MapVector<llvm::Function *, SharedLayout> &kernels);

/// Makes a module with the table that an image exports. The table finds the
/// tables of the units that are linked to the module.
std::unique_ptr<llvm::Module> makeImageTable(llvm::LLVMContext &context);

} // namespace mtp::gpu

#endif // MTP_TEST_GPUSIM_TARGET_HOSTLOWERING_H
