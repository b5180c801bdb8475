//===- KernelCatalogue.h - Kernels whose code is written once ---*- C++ -*-===//
//
// A kernel is an attribute of the exec dialect (ExecKernels.td), which also
// defines the buffers, params and tasks. This catalogue has the code of row
// kernels (compiler/Codegen/Rows), which all targets share. For the other
// kernels each target has a table of emitters. A table's entry is built from a
// function that takes the attribute of its kind, so that an emitter can read
// only parameters of the kind.
//
// Comments of emitters list the kernel's buffers and params in order. M is the
// number of rows. Buffers in brackets are optional.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_CODEGEN_KERNELCATALOGUE_H
#define MTP_COMPILER_CODEGEN_KERNELCATALOGUE_H

#include "compiler/Codegen/KernelBuilder.h"
#include "dialects/Exec/IR/CacheElements.h"
#include "dialects/Exec/IR/ExecAttrs.h"
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

namespace mtp::codegen {

namespace exec = mlir::exec;
using mlir::exec::strideOr;

/// Function that begins an error about a kernel; the caller appends the
/// message.
using EmitError = mlir::exec::KernelErrorFn;

/// Returns a real parameter of a kernel, or `absent` if the kernel has none.
inline float valueOf(mlir::FloatAttr value, float absent = 0.0f) {
  return value ? static_cast<float>(value.getValueAsDouble()) : absent;
}

/// Returns the element type of a cache.
inline DType dtypeOf(mlir::Type type) {
  if (exec::hasScales(type))
    return DType::I8;
  return type.isBF16() ? DType::BF16 : DType::F32;
}

/// A kernel to emit: its exported name and its attribute.
struct KernelSpec {
  std::string symbol;
  exec::KernelAttrInterface kernel;
  /// Code of one task, if the kernel carries its code (`exec.kernel`).
  mlir::Region *body = nullptr;
  /// True if some call of the kernel has padding rows. On a GPU the kernel then
  /// takes the number of active rows. On a CPU the runtime passes that number
  /// as the number of rows.
  bool takesActive = false;
};

/// Number of independent items in a task (`KernelBuilder::forItems`), or of
/// ranges of its elements. A target with many threads gives several threads to
/// each.
struct TaskItems {
  int64_t count = 1;
  /// True if the lanes of an item wait for each other or are joined.
  bool areJoined = true;

  /// Returns the items of `count` elements that do not depend on each other.
  static TaskItems elements(int64_t count) {
    constexpr int64_t stretch = 256;
    return {(count + stretch - 1) / stretch, /*areJoined=*/false};
  }
};

/// A kind whose code all targets share.
struct RowKernel {
  llvm::StringLiteral kind;
  std::function<void(KernelBuilder &, exec::KernelAttrInterface)> emit;
  /// Returns the scratch bytes of a task; empty if a task needs none.
  std::function<int64_t(exec::KernelAttrInterface)> scratch;
  /// Returns the items of a task; empty if a task is one item.
  std::function<TaskItems(exec::KernelAttrInterface)> items;
};

/// Returns the entry of the kind whose attribute `emit` takes.
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

/// Returns the entry of a kind whose elements, `width` in a row, do not depend
/// on each other.
template <typename KernelT>
RowKernel elementKernel(void (*emit)(KernelBuilder &, KernelT)) {
  return rowKernel<KernelT>(emit, /*scratch=*/nullptr, [](KernelT kernel) {
    return TaskItems::elements(kernel.getWidth());
  });
}

/// Returns the shared code of a kernel, or null if targets emit it themselves.
const RowKernel *findRowKernel(exec::KernelAttrInterface kernel);
/// Returns the kinds that have shared code.
std::vector<llvm::StringRef> rowKernelKinds();

/// Begins an error about `spec` at `loc`.
mlir::InFlightDiagnostic emitKernelError(mlir::Location loc,
                                         const KernelSpec &spec);
/// Reports errors in a kernel that are errors on every target.
mlir::LogicalResult verifyKernel(mlir::Location loc, const KernelSpec &spec);

// One array per family, defined beside its emitters.
llvm::ArrayRef<RowKernel> argmaxKernels();
llvm::ArrayRef<RowKernel> cacheKernels();
llvm::ArrayRef<RowKernel> causalConvKernels();
llvm::ArrayRef<RowKernel> deltaRuleKernels();
llvm::ArrayRef<RowKernel> elementwiseKernels();
llvm::ArrayRef<RowKernel> distributionKernels();
llvm::ArrayRef<RowKernel> embeddingKernels();
llvm::ArrayRef<RowKernel> expertRowKernels();
llvm::ArrayRef<RowKernel> gateKernels();
llvm::ArrayRef<RowKernel> logitRuleKernels();
llvm::ArrayRef<RowKernel> moeRouteKernels();
llvm::ArrayRef<RowKernel> normKernels();
llvm::ArrayRef<RowKernel> packKernels();
llvm::ArrayRef<RowKernel> pickResidualKernels();
llvm::ArrayRef<RowKernel> ropeAppendKernels();
llvm::ArrayRef<RowKernel> ropeKernels();
llvm::ArrayRef<RowKernel> sampleKeyKernels();
llvm::ArrayRef<RowKernel> stateRowsKernels();
llvm::ArrayRef<RowKernel> vocabularyKernels();

} // namespace mtp::codegen

#endif // MTP_COMPILER_CODEGEN_KERNELCATALOGUE_H
