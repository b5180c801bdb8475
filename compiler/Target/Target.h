//===- Target.h - A machine that models are compiled for --------*- C++ -*-===//
//
// What belongs to one machine: how wide the panels are that its products
// stream, which passes make its schedule of target-neutral exec IR, and the
// code of its kernels. Everything else of a compilation is the same for all
// targets; an artifact has one plan for each that was asked for.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_TARGET_TARGET_H
#define MTP_COMPILER_TARGET_TARGET_H

#include "compiler/Target/CodegenOptions.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "runtime/core/Result.h"
#include "runtime/schema/mtp_artifact_generated.h"
#include "llvm/ADT/StringMap.h"
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace mtp::compiler {

/// A product that a library of the GPU's vendor computes, see schema::Gemm.
struct LibraryGemm {
  uint32_t rows = 0, outputs = 0, inputs = 0;
  uint64_t workspace = 0;

  auto operator<=>(const LibraryGemm &) const = default;
};

/// By what algorithm it does so fastest, see schema::GemmAlgorithm.
struct LibraryAlgorithm {
  uint64_t version = 0;
  std::string chip;
  LibraryGemm gemm;
  std::vector<uint64_t> words;
};

/// Finds these on this machine.
using TuneGemms = std::function<Result<std::vector<LibraryAlgorithm>>(
    llvm::ArrayRef<LibraryGemm>)>;

/// What the flags of mtpc say of machines; a target takes what concerns it.
struct TargetOptions {
  /// The processor's name; "native" is this machine's.
  std::string cpu = "native";
  /// The GPU, as the CUDA toolkit names it.
  std::string chip = "sm_90";
  /// Threads that a step should keep busy; does not change what it computes.
  int64_t workers = 1;
  /// Rows of prompts from which on a GPU's library multiplies them; 0: never.
  int64_t libraryRows = kLibraryRows;

  static constexpr int64_t kLibraryRows = 128;
  /// Null: algorithms are the library's choice.
  TuneGemms tuneGemms;
};

/// What a plan says of its machine. The runtime compares it with its own.
struct Machine {
  std::string arch;
  std::string cpu;
  std::vector<std::string> features;
};

/// How a GPU starts a kernel.
struct KernelLaunch {
  /// Its name in the image.
  std::string symbol;
  /// Number of the image in KernelCode::images.
  uint32_t image = 0;
  /// Blocks for every so many rows, or in all where that is 0.
  uint64_t blocks = 0;
  uint32_t rowsPerGroup = 0;
  /// Of a block.
  uint32_t threads = 0;
  uint32_t sharedBytes = 0;
  /// No more blocks than this in all; 0 for any number.
  uint64_t mostBlocks = 0;
  /// Whether it takes the number of its rows that live.
  bool takesLive = false;
};

/// What a kernel takes of a GPU, as its assembler says.
struct KernelResources {
  std::string symbol;
  /// Of a block.
  uint64_t threads = 0;
  /// Of a thread.
  uint64_t registers = 0;
  /// Memory of a thread, and how much of the traffic there is of registers
  /// that did not suffice.
  uint64_t stackBytes = 0;
  uint64_t spillBytes = 0;
  /// Static shared memory of a block.
  uint64_t sharedBytes = 0;
};

/// Kernels as code.
struct KernelImage {
  std::vector<char> bytes;
  /// Of a cubin: the same kernels as PTX, for other chips.
  std::vector<char> ptx;
};

/// All kernels of a plan as code.
struct KernelCode {
  schema::ImageFormat format;
  /// All kernels in one, or several that kernels name (KernelLaunch::image).
  std::vector<KernelImage> images;
  /// Number of the image with the kernels of runtime/schema/DeviceLoop.h, which
  /// a GPU has; -1 if there is none.
  int loopImage = -1;
  /// Of a GPU's kernels: how each is started.
  llvm::StringMap<KernelLaunch> launchOf;
  /// Of a GPU's kernels, where they were assembled; by their names in the
  /// image.
  std::vector<KernelResources> resources;
  /// Of products of a library, where they were looked for.
  std::vector<LibraryAlgorithm> algorithms;
  /// Scratch of one worker, bytes: of each kernel, and what is enough for all.
  llvm::StringMap<uint64_t> scratchOf;
  uint64_t scratchBytes = 0;
};

class Target {
public:
  virtual ~Target() = default;

  /// The name that --target takes.
  virtual llvm::StringRef name() const = 0;

  virtual Machine machine() const = 0;

  /// Outputs in a panel of the weights that products stream (`#exec.panels`).
  /// Weights that two targets want alike are stored once.
  virtual int64_t panelWidth() const = 0;

  /// Whether the runtime makes a graph of each program and n.
  virtual bool runsGraphs() const { return false; }

  /// Adds the passes between the choice of kernels and bufferization: they
  /// order and divide the calls of every program as the machine wants them.
  virtual void addSchedulePasses(mlir::OpPassManager &manager) const {}

  /// Makes code of every exec.kernel of `module` but builtins; their contracts
  /// hold. A kernel that the target cannot emit is an error there.
  /// The code depends on the module and the target alone, and on no option.
  virtual mlir::FailureOr<KernelCode>
  generateCode(mlir::ModuleOp module, const CodegenOptions &options) const = 0;
};

using Targets = std::vector<std::unique_ptr<Target>>;

/// The targets that a tool was built with.
class TargetRegistry {
public:
  /// Fails, naming the flag, where options are not for the target.
  using Create =
      std::function<Result<std::unique_ptr<Target>>(const TargetOptions &)>;

  void add(llvm::StringRef name, Create create);

  /// Makes the targets called `names`, in their order, each name once.
  Result<Targets> create(llvm::ArrayRef<std::string> names,
                         const TargetOptions &options) const;

private:
  /// In the order in which they were added.
  std::vector<std::pair<std::string, Create>> entries;
};

} // namespace mtp::compiler

#endif // MTP_COMPILER_TARGET_TARGET_H
