//===- Target.h - A machine that models are compiled for --------*- C++ -*-===//
//
// A target defines everything that belongs to one machine: the width of weight
// panels, the passes that schedule target-neutral exec IR, and the code of
// kernels. All targets share the rest of a compilation. An artifact has one
// plan for each requested target.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_TARGET_TARGET_H
#define MTP_COMPILER_TARGET_TARGET_H

#include "compiler/Target/CodegenOptions.h"
#include "compiler/Target/Tuning.h"
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

/// The fastest algorithm for a product on a chip, see schema::GemmAlgorithm.
struct LibraryAlgorithm {
  uint64_t version = 0;
  std::string chip;
  LibraryGemm gemm;
  std::vector<uint64_t> words;
};

/// Returns the known algorithms of products.
using FindAlgorithms =
    std::function<std::vector<LibraryAlgorithm>(llvm::ArrayRef<LibraryGemm>)>;

/// Machine options of mtpc's flags. A target reads the options that concern it.
struct TargetOptions {
  /// Name of the processor; "native" is this machine's.
  std::string cpu = "native";
  /// Name of the GPU, as in the CUDA toolkit.
  std::string chip = "sm_90";
  /// Number of threads that a step should keep busy. Does not change results.
  int64_t workers = 1;
  /// Values of tunables; a target reads the values for its machine.
  Tuning tuning;
  /// Null: the library chooses algorithms.
  FindAlgorithms findAlgorithms;
};

/// Machine that a plan was compiled for. The runtime compares it with its own.
struct Machine {
  std::string arch;
  std::string cpu;
  std::vector<std::string> features;
};

/// Launch parameters of a kernel on a GPU.
struct KernelLaunch {
  /// Name of the kernel in the image.
  std::string symbol;
  /// Number of the image in KernelCode::images.
  uint32_t image = 0;
  /// Number of blocks for every `rowsPerGroup` rows, or in all if
  /// `rowsPerGroup` is 0.
  uint64_t blocks = 0;
  uint32_t rowsPerGroup = 0;
  /// Threads of a block.
  uint32_t threads = 0;
  uint32_t sharedBytes = 0;
  /// Limit on the number of blocks; 0 for none.
  uint64_t mostBlocks = 0;
  /// True if the kernel takes the number of its active rows.
  bool takesActive = false;
};

/// Resources that a kernel uses on a GPU, as its assembler reports them.
struct KernelResources {
  std::string symbol;
  /// Threads of a block.
  uint64_t threads = 0;
  /// Registers of a thread.
  uint64_t registers = 0;
  /// Memory of a thread, and traffic with it for values that did not fit in
  /// registers.
  uint64_t stackBytes = 0;
  uint64_t spillBytes = 0;
  /// Static shared memory of a block.
  uint64_t sharedBytes = 0;
};

/// Code of one or several kernels.
struct KernelImage {
  std::vector<char> bytes;
  /// In a cubin's image: the same kernels as PTX, for other chips.
  std::vector<char> ptx;
};

/// Code of all kernels of a plan.
struct KernelCode {
  schema::ImageFormat format;
  /// One image with all kernels, or several (KernelLaunch::image).
  std::vector<KernelImage> images;
  /// Number of the image with the kernels of runtime/schema/DeviceLoop.h, which
  /// a GPU's plan has; -1 if there is none.
  int loopImage = -1;
  /// Launch parameters of a GPU's kernels.
  llvm::StringMap<KernelLaunch> launchOf;
  /// Resources of a GPU's kernels, by symbol, if they were assembled.
  std::vector<KernelResources> resources;
  /// Algorithms of a library's products, if they were tuned.
  std::vector<LibraryAlgorithm> algorithms;
  /// Scratch bytes of one worker: for each kernel, and enough for all kernels.
  llvm::StringMap<uint64_t> scratchOf;
  uint64_t scratchBytes = 0;
};

class Target {
public:
  virtual ~Target() = default;

  /// Returns the name that --target takes.
  virtual llvm::StringRef name() const = 0;

  virtual Machine machine() const = 0;

  /// Returns the outputs in a panel of the weights that products stream
  /// (`#exec.panels`). Weights that two targets store in one form are stored
  /// once.
  virtual int64_t panelWidth() const = 0;

  /// Returns whether the schedule puts weights in the order of tensor cores, if
  /// their format has one (WeightFormat::canBeInFragments). Kernels multiply
  /// all formats in any case.
  virtual bool ordersFragments() const { return false; }

  /// Returns whether the runtime makes a graph of each program and n.
  virtual bool runsGraphs() const { return false; }

  /// Returns the values of tunables that differ from their defaults.
  virtual Tuning tuning() const { return {}; }

  /// Adds the passes between the choice of kernels and bufferization. They
  /// order and divide the calls of every program for the machine.
  virtual void addSchedulePasses(mlir::OpPassManager &manager) const {}

  /// Generates code for every exec.kernel of `module` except builtins.
  /// Precondition: the contracts of kernels hold. A kernel that the target
  /// cannot emit is an error. The code depends on the module and the target
  /// alone, not on `options`.
  virtual mlir::FailureOr<KernelCode>
  generateCode(mlir::ModuleOp module, const CodegenOptions &options) const = 0;
};

using Targets = std::vector<std::unique_ptr<Target>>;

/// The targets that a tool was built with.
class TargetRegistry {
public:
  /// Creates a target. Fails, naming the flag, if options do not suit the
  /// target.
  using Create =
      std::function<Result<std::unique_ptr<Target>>(const TargetOptions &)>;

  void add(llvm::StringRef name, Create create);

  /// Creates the targets called `names`, in their order. Names must differ.
  Result<Targets> create(llvm::ArrayRef<std::string> names,
                         const TargetOptions &options) const;

private:
  /// In the order of `add`.
  std::vector<std::pair<std::string, Create>> entries;
};

} // namespace mtp::compiler

#endif // MTP_COMPILER_TARGET_TARGET_H
