//===- HostLowering.h - NVVM's LLVM IR rewritten for gpu-sim ----*- C++ -*-===//
//
// Steps of emitHostImage, in the order in which they run. They work on LLVM
// IR, since no upstream conversion takes a gpu.module with barriers to a CPU,
// and since what is checked then is what the PTX is made from.
//
//===----------------------------------------------------------------------===//

#ifndef TEST_GPUSIM_TARGET_HOSTLOWERING_H
#define TEST_GPUSIM_TARGET_HOSTLOWERING_H

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <string>
#include <vector>

namespace mtp::gpu {

/// The functions of the simulator that a module calls: one slot each, which
/// the simulator fills when it loads the image.
class HostImports {
public:
  explicit HostImports(llvm::Module &module) : module(module) {}

  /// Calls the function of that name, at the builder's place.
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

/// What the descriptor of a kernel says of its shared memory.
struct SharedLayout {
  uint64_t staticBytes = 0;
  bool usesDynamic = false;
};

/// Replaces variables in shared memory by offsets from the block's base, and
/// returns each kernel's layout. A kernel pays for the variables that it uses
/// itself; a variable that a function uses which is no kernel is an error.
llvm::Expected<llvm::MapVector<llvm::Function *, SharedLayout>>
lowerSharedMemory(llvm::Module &module, HostImports &imports);

/// Calls the simulator ahead of every access to memory that is not plainly
/// the thread's own. Run before any optimisation, so that every access of the
/// program is seen, with its own size and alignment.
void insertAccessChecks(llvm::Module &module, HostImports &imports);

/// Turns intrinsics of NVVM into calls of the simulator. One that it does not
/// know, PTX as text, and a call of a function that the module lacks are
/// errors that name it.
llvm::Error lowerIntrinsics(llvm::Module &module, HostImports &imports);

/// Rounds f32 to bf16 in integer code, as the hardware does: the library call
/// that LLVM makes of it is not there in an image.
void expandBf16Rounding(llvm::Module &module);

/// Writes the table of a unit, with a wrapper for each kernel that takes the
/// driver's pointers to parameters.
void writeUnitTable(
    llvm::Module &module, const HostImports &imports,
    const llvm::MapVector<llvm::Function *, SharedLayout> &kernels);

/// Makes a module with the table that an image exports, which finds the tables
/// of the units that it is linked with.
std::unique_ptr<llvm::Module> makeImageTable(llvm::LLVMContext &context);

} // namespace mtp::gpu

#endif // TEST_GPUSIM_TARGET_HOSTLOWERING_H
