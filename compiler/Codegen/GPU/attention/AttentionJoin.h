//===- AttentionJoin.h - Joining parts of attention -------------*- C++ -*-===//
//
// The sums of a row over some positions: a maximum of scores and a total of
// weights for each head, and weighted values. Those of two runs of positions
// become those of both as in "FlashAttention" (Dao et al., 2022).
//
//===----------------------------------------------------------------------===//

#ifndef COMPILER_CODEGEN_GPU_ATTENTION_ATTENTIONJOIN_H
#define COMPILER_CODEGEN_GPU_ATTENTION_ATTENTIONJOIN_H

#include "compiler/Codegen/GPU/Kernels.h"
#include "compiler/Codegen/GPU/attention/AttentionShape.h"

namespace mtp::codegen {

/// A head's sums, and the factors of what made them: of the sums before, and of
/// those behind.
struct PartSums {
  Value most, total, before = {}, behind = {};
};

/// What `sums` and `more`, of positions behind theirs, are together: `more`,
/// bit by bit, where these are the `first`.
PartSums joinSums(GpuBuilder &kb, PartSums sums, PartSums more, Value first);

/// Values of both, by their factors.
Value joinValues(GpuBuilder &kb, Value sum, Value more, Value before,
                 Value behind);
/// A value by its total; zero if nothing was added.
Value closeValue(GpuBuilder &kb, Value value, Value total);

/// The factors of all heads of a block, in shared memory.
class PartFactors {
public:
  PartFactors(GpuBuilder &kb, int64_t tile);

  /// The first threads have a head each.
  void store(const PartSums &sums, Value head);
  Value join(Value sum, Value more, Value head);

private:
  GpuBuilder &kb;
  int64_t tile;
  Value before, behind;
};

/// attention_join: buffers: positions, parts, y. params: M.
GpuLaunch launchJoin(exec::AttentionJoinKernelAttr kernel);
void emitJoin(GpuBuilder &kb, exec::AttentionJoinKernelAttr kernel);
mlir::LogicalResult verifyJoin(exec::AttentionJoinKernelAttr kernel,
                               EmitError emitError);
/// Reports unless there is room for what is left of a part.
mlir::LogicalResult verifyLeft(const AttentionShape &shape,
                               EmitError emitError);

} // namespace mtp::codegen

#endif // COMPILER_CODEGEN_GPU_ATTENTION_ATTENTIONJOIN_H
