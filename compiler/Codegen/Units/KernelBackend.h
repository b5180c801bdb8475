//===- KernelBackend.h - Interface of a machine's backend -------*- C++ -*-===//
//
// A kernel is the unit of code generation. Its emitter fills a module of its
// own, a backend compiles that module to an object, and the target links the
// objects of a plan into an image.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_CODEGEN_UNITS_KERNELBACKEND_H
#define MTP_COMPILER_CODEGEN_UNITS_KERNELBACKEND_H

#include "compiler/Target/CodegenOptions.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <string>
#include <vector>

namespace mtp::codegen {

/// Code of a kernel. The parts depend on the backend: an ELF object, or PTX, a
/// cubin and the assembler's report.
struct KernelObject {
  std::vector<std::vector<char>> parts;
};

/// Compiles kernels one after another, in one thread.
class KernelCompiler {
public:
  virtual ~KernelCompiler() = default;

  /// Compiles the kernel in `unit`, whose contents it consumes. The object
  /// exports the kernel as `symbol`; other symbols of the object begin with
  /// `symbol`, or are not visible outside. Errors are diagnostics of `unit`.
  virtual mlir::FailureOr<KernelObject>
  compile(mlir::ModuleOp unit, llvm::StringRef symbol,
          compiler::KernelSeconds &seconds) = 0;
};

/// Creates compilers of kernels for one machine.
class KernelBackend {
public:
  virtual ~KernelBackend() = default;

  /// Returns everything that decides the bytes of an object, apart from the
  /// unit and LLVM: the machine, options, and a fingerprint of the backend's
  /// code.
  virtual std::string identity() const = 0;

  /// Returns whether kernels of one image with equal units may share a symbol.
  /// If not, each kernel gets its own object.
  virtual bool sharesSymbols() const { return true; }

  /// Creates a compiler. May be called from any thread.
  virtual std::unique_ptr<KernelCompiler>
  makeCompiler(mlir::MLIRContext &context) const = 0;
};

} // namespace mtp::codegen

#endif // MTP_COMPILER_CODEGEN_UNITS_KERNELBACKEND_H
