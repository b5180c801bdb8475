//===- KernelUnits.h - Compiles the kernels of a plan -----------*- C++ -*-===//
//
//   emit (per kernel) -> digest -> cache -> compile (per distinct digest)
//
// Threads share the work of each step. The result does not depend on the number
// of threads, on the order in which they finish, or on the cache.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_CODEGEN_UNITS_KERNELUNITS_H
#define MTP_COMPILER_CODEGEN_UNITS_KERNELUNITS_H

#include "compiler/Codegen/Units/KernelBackend.h"
#include <functional>

namespace mtp::codegen {

/// A kernel to compile.
struct UnitRequest {
  /// Name of the kernel in its plan.
  std::string name;
  /// Kind of the kernel; the symbol of the object begins with it.
  std::string kind;
  /// Emits the kernel into an empty module, as a function or as a gpu.module
  /// with one kernel. The kernel's name is kUnitSymbol. Runs in any thread.
  std::function<mlir::LogicalResult(mlir::OpBuilder &, mlir::ModuleOp)> emit;
};

/// Name of the kernel in a unit that is not compiled yet.
inline constexpr llvm::StringLiteral kUnitSymbol = "kernel";

/// A compiled kernel. Requests with equal units share an object.
struct CompiledUnit {
  /// Symbol that the object exports. It depends on the unit alone.
  std::string symbol;
  std::shared_ptr<const KernelObject> object;
};

/// Compiles the kernels in `requests`. The results and the diagnostics of
/// errors are in the order of the requests. `context` must have loaded the
/// dialects of the emitters and of the backend.
mlir::FailureOr<std::vector<CompiledUnit>>
compileUnits(mlir::MLIRContext &context, mlir::Location loc,
             llvm::ArrayRef<UnitRequest> requests, const KernelBackend &backend,
             const compiler::CodegenOptions &options);

/// Returns each distinct object of `units` once, in the order of first use.
std::vector<const KernelObject *>
distinctObjects(llvm::ArrayRef<CompiledUnit> units);

} // namespace mtp::codegen

#endif // MTP_COMPILER_CODEGEN_UNITS_KERNELUNITS_H
