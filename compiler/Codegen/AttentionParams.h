//===- AttentionParams.h - Parameters of attention --------------*- C++ -*-===//

#ifndef MTP_COMPILER_CODEGEN_ATTENTIONPARAMS_H
#define MTP_COMPILER_CODEGEN_ATTENTIONPARAMS_H

#include "compiler/Codegen/CacheLayout.h"
#include "compiler/Codegen/KernelCatalogue.h"

namespace mtp::codegen {

/// Parameters of any kind of attention (ExecAttentionKernels.td). A parameter
/// that a kind does not have is 0.
struct AttentionParams {
  int64_t qHeads, kvHeads, dv;
  DType dtype;
  /// Positions in one split of the context; 0: the context is not split.
  int64_t split;
  /// Number of positions that a row sees; 0: all.
  int64_t window = 0;
  int64_t dk = 0, kOffset = 0, vOffset = 0, qStride = 0, slots = 0;
  float scale = 0;
  CacheLayout cache{1, 1, 1};
  /// Set in kernels that leave the sums of splits for another kernel or join
  /// them: splits per row, floats from one split to the next, and tasks that
  /// share the splits of a row group.
  int64_t splits = 0, splitStride = 0, tasksPerTile = 0;
  /// True if a mask selects the rows of the window that a row sees.
  bool isTree = false;
  /// Elements from one row of y to the next.
  int64_t yStride;

  template <typename KernelT>
  explicit AttentionParams(KernelT kernel)
      : qHeads(kernel.getQHeads()), kvHeads(kernel.getKvHeads()),
        dv(kernel.getDv()), dtype(dtypeOf(kernel.getDtype())),
        split(kernel.getSplit()), yStride(qHeads * dv) {
    if constexpr (requires { kernel.getDk(); }) {
      dk = kernel.getDk();
      kOffset = kernel.getKOffset();
      vOffset = kernel.getVOffset();
      qStride = strideOr(kernel.getQStride(), qHeads * dk);
      slots = kernel.getSlots();
      scale = valueOf(kernel.getScale());
      cache = CacheLayout(kernel, kernel.getEntryWidth());
    }
    if constexpr (requires { kernel.getWindow(); })
      window = kernel.getWindow();
    if constexpr (requires { kernel.getSplits(); }) {
      splits = kernel.getSplits();
      splitStride = kernel.getSplitStride();
    }
    if constexpr (requires { kernel.getTasksPerTile(); })
      tasksPerTile = kernel.getTasksPerTile();
    isTree = std::is_same_v<KernelT, mlir::exec::AttentionTreeKernelAttr>;
    if constexpr (requires { kernel.getYStride(); })
      yStride = strideOr(kernel.getYStride(), qHeads * dv);
  }
};

} // namespace mtp::codegen

#endif // MTP_COMPILER_CODEGEN_ATTENTIONPARAMS_H
