//===- AttentionCombine.h - Joining splits of attention ---------*- C++ -*-===//
//
// The sums of a row over some positions are a maximum of scores and a total of
// weights for each head, and weighted values. Sums of two runs of positions are
// joined as in "FlashAttention" (Dao et al., 2022).
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_CODEGEN_GPU_ATTENTION_ATTENTIONCOMBINE_H
#define MTP_COMPILER_CODEGEN_GPU_ATTENTION_ATTENTIONCOMBINE_H

#include "compiler/Codegen/GPU/Kernels.h"
#include "compiler/Codegen/GPU/attention/AttentionShape.h"

namespace mtp::codegen {

/// Sums of a head, and the factors with which they were joined: `before` of the
/// sums of earlier positions, `behind` of the sums of later ones.
struct SplitSums {
  Value most, total, before = {}, behind = {};
};

/// Joins `sums` with `more`, the sums of later positions. Returns `more`, bit
/// for bit, if `first` is true.
SplitSums joinSums(GpuBuilder &kb, SplitSums sums, SplitSums more, Value first);

/// Joins two values by their factors.
Value joinValues(GpuBuilder &kb, Value sum, Value more, Value before,
                 Value behind);
/// Divides a value by its total. Returns zero if nothing was added.
Value closeValue(GpuBuilder &kb, Value value, Value total);

/// Factors of all heads of a block, in shared memory.
class SplitFactors {
public:
  SplitFactors(GpuBuilder &kb, int64_t tile);

  /// Stores factors. Each of the first threads has one head.
  void store(const SplitSums &sums, Value head);
  Value join(Value sum, Value more, Value head);

private:
  GpuBuilder &kb;
  int64_t tile;
  Value before, behind;
};

/// Returns the launch of attention_combine. Buffers: positions, parts, y.
/// Params: M.
GpuLaunch launchJoin(exec::AttentionCombineKernelAttr kernel);
void emitJoin(GpuBuilder &kb, exec::AttentionCombineKernelAttr kernel);
mlir::LogicalResult verifyJoin(exec::AttentionCombineKernelAttr kernel,
                               EmitError emitError);
/// Fails unless there is room for the sums of a split.
mlir::LogicalResult verifyLeft(const AttentionShape &shape,
                               EmitError emitError);

} // namespace mtp::codegen

#endif // MTP_COMPILER_CODEGEN_GPU_ATTENTION_ATTENTIONCOMBINE_H
