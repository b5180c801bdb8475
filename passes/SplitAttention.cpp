//===- SplitAttention.cpp - Positions for idle workers --------------------===//
//
// A plain step has as many tasks of attention as tiles of heads, often fewer
// than there are workers, and the longer the context the longer the others
// wait. Where positions come in parts (`part`, see Envelope.h), the parts of a
// row can be added up by several workers, each of which leaves what it added
// up, and joined by another call ("Flash-Decoding", Dao et al., 2023):
//
//   attention   becomes   attention_parts -> attention_join
//
// Parts begin at fixed positions and are joined in their order in either form,
// so that the number of workers does not change a bit.
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/IR/ExecOps.h"
#include "passes/Passes.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::mtp {
#define GEN_PASS_DEF_SPLITATTENTIONPASS
#include "passes/Passes.h.inc"
} // namespace mlir::mtp

using namespace mlir;
using namespace mlir::exec;

namespace {
struct SplitAttentionPass
    : public mlir::mtp::impl::SplitAttentionPassBase<SplitAttentionPass> {
  using Base::Base;

  void runOnOperation() override;

private:
  void split(AttentionOp attention);
};
} // namespace

/// Floats of what is left of one part of a row: for each tile of heads the
/// maxima and the sums of weights, a vector each, and for each head the sums of
/// values, in whole vectors. No target has vectors of more than 16 floats.
static int64_t partStride(AttentionOp attention) {
  constexpr int64_t kLanes = 16;
  int64_t tiles =
      kernelTasks(attention.getKernelKind(), attention.getKernelConfig(), {1});
  int64_t heads = attention.getHeads();
  return tiles * 2 * kLanes +
         heads * llvm::alignTo(columnsOf(attention.getY()) / heads, kLanes);
}

void SplitAttentionPass::split(AttentionOp attention) {
  // There is no kernel for parts of a tree.
  if (attention.getTree() || !attention.getPart())
    return;
  int64_t part = *attention.getPart();
  int64_t tasks = attention.getTasks();
  int64_t positions =
      columnsOf(attention.getPageTable()) * shapeOf(attention.getPages())[1];
  int64_t parts = llvm::divideCeil(positions, part);
  int64_t splits = std::min<int64_t>(parts, llvm::divideCeil(workers, tasks));
  if (splits < 2)
    return;
  OpBuilder builder(attention);
  Location loc = attention.getLoc();
  Value y = attention.getY();
  int64_t heads = attention.getHeads();
  auto leftType = RankedTensorType::get(
      {rowsOf(y), parts * partStride(attention)}, builder.getF32Type());
  auto left = AttentionPartsOp::create(
      builder, loc, leftType, attention.getQ(), attention.getSlots(),
      attention.getPositions(), attention.getPageTable(), attention.getPages(),
      heads, attention.getKvHeads(), attention.getKeysAt(),
      attention.getValuesAt(), attention.getScale(), attention.getCacheHeads(),
      attention.getPartAttr(), attention.getWindow(), columnsOf(y) / heads,
      parts, splits);
  auto join = AttentionJoinOp::create(
      builder, loc, y.getType(), attention.getPositions(), left, parts, heads,
      attention.getKvHeads(), part, attention.getWindow(),
      getElementTypeOrSelf(attention.getPages()));
  attention->replaceAllUsesWith(join);
  attention.erase();
  ++numSplit;
}

void SplitAttentionPass::runOnOperation() {
  SmallVector<AttentionOp> calls;
  getOperation().walk([&](AttentionOp call) { calls.push_back(call); });
  for (AttentionOp call : calls)
    split(call);
}
