//===- KernelCatalogue.h - Kernels whose code is written once ---*- C++ -*-===//
//
// A kernel is an attribute of the exec dialect (ExecKernels.td), which says the
// buffers, params and tasks too. Row kernels (compiler/Codegen/Rows) have their
// code here, written once for all targets; for the others each target has a
// table of emitters. A table's entry is made of a function that takes the
// attribute of its kind, so that it reads nothing that the kind does not have.
//
//===----------------------------------------------------------------------===//

#ifndef COMPILER_CODEGEN_KERNELCATALOGUE_H
#define COMPILER_CODEGEN_KERNELCATALOGUE_H

#include "compiler/Codegen/KernelBuilder.h"
#include "dialects/Exec/IR/ExecAttrs.h"
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

namespace mtp::codegen {

namespace exec = mlir::exec;
using mlir::exec::strideOr;

/// Begins an error about a kernel; the message is appended by the caller.
using EmitError = mlir::exec::KernelErrorFn;

/// A real number of a kernel, `absent` where it has none.
inline float valueOf(mlir::FloatAttr value, float absent = 0.0f) {
  return value ? static_cast<float>(value.getValueAsDouble()) : absent;
}

/// Elements of a cache.
inline DType dtypeOf(mlir::Type type) {
  return type.isBF16() ? DType::BF16 : DType::F32;
}

/// One kernel to emit: its exported name and what it is.
struct KernelSpec {
  std::string symbol;
  exec::KernelAttrInterface kernel;
  /// What one task does, where the kernel carries it (`exec.kernel`).
  mlir::Region *body = nullptr;
  /// Whether some call has rows that are dead. On a GPU the kernel then takes
  /// the number of those that live; a CPU counts them for it.
  bool takesLive = false;
};

/// What a task divides into (`KernelBuilder::forItems`), or the stretches of
/// its elements: a target with many threads has some for each.
struct TaskItems {
  int64_t count = 1;
  /// Whether the lanes of an item wait for each other or are joined.
  bool areJoined = true;

  /// Elements that need nothing of each other.
  static TaskItems elements(int64_t count) {
    constexpr int64_t stretch = 256;
    return {(count + stretch - 1) / stretch, /*areJoined=*/false};
  }
};

/// A kind whose code is the same on every target.
struct RowKernel {
  llvm::StringLiteral kind;
  std::function<void(KernelBuilder &, exec::KernelAttrInterface)> emit;
  /// Scratch bytes of a task; empty for none.
  std::function<int64_t(exec::KernelAttrInterface)> scratch;
  /// Empty where a task is one item.
  std::function<TaskItems(exec::KernelAttrInterface)> items;
};

/// The entry of the kind that `emit` is for.
template <typename KernelT>
RowKernel
rowKernel(void (*emit)(KernelBuilder &, KernelT),
          std::type_identity_t<int64_t (*)(KernelT)> scratch = nullptr,
          std::type_identity_t<TaskItems (*)(KernelT)> items = nullptr) {
  RowKernel entry{KernelT::kKind,
                  [emit](KernelBuilder &kb, exec::KernelAttrInterface kernel) {
                    emit(kb, mlir::cast<KernelT>(kernel));
                  },
                  {},
                  {}};
  if (scratch)
    entry.scratch = [scratch](exec::KernelAttrInterface kernel) {
      return scratch(mlir::cast<KernelT>(kernel));
    };
  if (items)
    entry.items = [items](exec::KernelAttrInterface kernel) {
      return items(mlir::cast<KernelT>(kernel));
    };
  return entry;
}

/// The same of a kind whose elements, `width` in a row, need nothing of each
/// other.
template <typename KernelT>
RowKernel elementKernel(void (*emit)(KernelBuilder &, KernelT)) {
  return rowKernel<KernelT>(emit, /*scratch=*/nullptr, [](KernelT kernel) {
    return TaskItems::elements(kernel.getWidth());
  });
}

/// The code of a kernel, where that is written once; null otherwise.
const RowKernel *findRowKernel(exec::KernelAttrInterface kernel);
/// The kinds with such code.
std::vector<llvm::StringRef> rowKernelKinds();

/// Begins an error about `spec` at `loc`.
mlir::InFlightDiagnostic emitKernelError(mlir::Location loc,
                                         const KernelSpec &spec);
/// Reports what is wrong with a kernel, whatever the target.
mlir::LogicalResult verifyKernel(mlir::Location loc, const KernelSpec &spec);

// One array per family, beside the emitters of a row kernel.
llvm::ArrayRef<RowKernel> argmaxKernels();
llvm::ArrayRef<RowKernel> cacheKernels();
llvm::ArrayRef<RowKernel> causalConvKernels();
llvm::ArrayRef<RowKernel> deltaRuleKernels();
llvm::ArrayRef<RowKernel> elementwiseKernels();
llvm::ArrayRef<RowKernel> distributionKernels();
llvm::ArrayRef<RowKernel> embeddingKernels();
llvm::ArrayRef<RowKernel> expertRowKernels();
llvm::ArrayRef<RowKernel> gateKernels();
llvm::ArrayRef<RowKernel> moeRouteKernels();
llvm::ArrayRef<RowKernel> normKernels();
llvm::ArrayRef<RowKernel> packKernels();
llvm::ArrayRef<RowKernel> ropeAppendKernels();
llvm::ArrayRef<RowKernel> ropeKernels();
llvm::ArrayRef<RowKernel> sampleKeyKernels();
llvm::ArrayRef<RowKernel> stateRowsKernels();
llvm::ArrayRef<RowKernel> vocabularyKernels();

} // namespace mtp::codegen

#endif // COMPILER_CODEGEN_KERNELCATALOGUE_H
