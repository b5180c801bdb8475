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
// How many workers share a row follows from how many tasks there are, and so
// from n: a program is split where that changes.
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/IR/ExecOps.h"
#include "passes/Passes.h"
#include "passes/SplitProgram.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::mtp {
#define GEN_PASS_DEF_SPLITATTENTIONPASS
#include "passes/Passes.h.inc"
} // namespace mlir::mtp

using namespace mlir;
using namespace mlir::exec;

namespace {
/// An attention that has parts, and how its work divides.
struct PartedCall {
  AttentionOp op;
  TaskShape shape;
  Count rows;
  int64_t parts;

  int64_t tasksAt(int64_t n) const {
    return llvm::divideCeil(rows.at(n), shape.rowsPerGroup) * shape.tasks;
  }
};

struct SplitAttentionPass
    : public mlir::mtp::impl::SplitAttentionPassBase<SplitAttentionPass> {
  using Base::Base;

  void runOnOperation() override;

private:
  int64_t splitsAt(const PartedCall &call, int64_t n);
  void split(const PartedCall &call, int64_t splits);
  void splitCalls(ProgramOp program, SymbolTable &symbols);
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

/// The calls of a program whose positions come in several parts. There is no
/// kernel for parts of a tree.
static SmallVector<PartedCall> findCalls(ProgramOp program) {
  SmallVector<PartedCall> calls;
  for (auto op : program.getBody().getOps<AttentionOp>()) {
    if (op.getTree() || !op.getPart())
      continue;
    int64_t positions =
        columnsOf(op.getPageTable()) * shapeOf(op.getPages())[1];
    calls.push_back({op, taskShape(op.getKernelKind(), op.getKernelConfig()),
                     rowsOf(op.getQ()),
                     int64_t(llvm::divideCeil(positions, *op.getPart()))});
  }
  return calls;
}

/// The workers that share a row; 1 where a call stays as it is. With many tasks
/// a row has a half, a quarter and so on of the workers: what is between these
/// would gain little and make a program for nearly every n.
int64_t SplitAttentionPass::splitsAt(const PartedCall &call, int64_t n) {
  int64_t wanted = llvm::divideCeil(workers, call.tasksAt(n));
  int64_t splits = workers;
  while (splits > 1 && int64_t(llvm::divideCeil(splits, 2)) >= wanted)
    splits = llvm::divideCeil(splits, 2);
  return std::min(call.parts, splits);
}

void SplitAttentionPass::split(const PartedCall &call, int64_t splits) {
  AttentionOp attention = call.op;
  int64_t part = *attention.getPart(), parts = call.parts;
  OpBuilder builder(attention);
  Location loc = attention.getLoc();
  Value y = attention.getY();
  int64_t heads = attention.getHeads();
  Type leftType =
      rowsType(rowsOf(y), parts * partStride(attention), builder.getF32Type());
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

/// Splits the calls as is best for the least n, and for all n for which that is
/// the same; others get a program of their own.
void SplitAttentionPass::splitCalls(ProgramOp program, SymbolTable &symbols) {
  SmallVector<PartedCall> calls = findCalls(program);
  auto splitsOf = [&](int64_t n) {
    return llvm::map_to_vector(
        calls, [&](const PartedCall &call) { return splitsAt(call, n); });
  };
  Points points = program.getPoints();
  SmallVector<int64_t> splits = splitsOf(points.least);
  // More rows have no more workers each: where all have one the rest is alike.
  bool isSplit = llvm::any_of(splits, [](int64_t count) { return count > 1; });
  for (int64_t n = points.least + 1; isSplit && n <= points.most; ++n)
    if (splitsOf(n) != splits) {
      splitCalls(mlir::mtp::splitProgram(program, n, symbols), symbols);
      break;
    }
  for (auto [call, count] : llvm::zip_equal(calls, splits))
    if (count > 1)
      split(call, count);
}

void SplitAttentionPass::runOnOperation() {
  SymbolTable symbols(getOperation());
  for (ProgramOp program : llvm::to_vector(getOperation().getOps<ProgramOp>()))
    splitCalls(program, symbols);
}
