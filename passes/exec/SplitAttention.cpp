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
// Whether a call is split depends on how many tasks it has, and so on n: where
// there are fewer than workers. A program is split where that changes. Calls
// with nearly as many rows go together, so that this is at a few n: one with
// three quarters of the rows of another is not split where that has enough.
// Into how many shares a call is split would make more programs. That is up to
// the kernel, which knows its rows.
//
// On a GPU a task is a block, and one that has nothing to do ends at once: all
// parts of a call that is split have a block. The rule is the same but for how
// many tasks a call has. Parts are smaller there than those of a processor,
// since blocks are many and each has one only. Since a call costs a GPU more
// than a part of a short row, a round whose calls are split gets another
// program beside it, for rows of little more than one part, in which none is.
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/IR/ExecOps.h"
#include "passes/Passes.h"
#include "passes/exec/SplitProgram.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

namespace mlir::mtp {
#define GEN_PASS_DEF_SPLITATTENTIONPASS
#include "passes/Passes.h.inc"
} // namespace mlir::mtp

using namespace mlir;
using namespace mlir::exec;

/// Positions that a GPU's block adds up while a further call, a join, would
/// take: estimated, see compiler/Codegen/GPU/README.md.
static constexpr int64_t kJoinPositions = 192;

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
  TaskShape shapeOfCall(AttentionOp op) const;
  SmallVector<PartedCall> findCalls(ProgramOp program) const;
  SmallVector<bool> splitsAt(ArrayRef<PartedCall> calls, int64_t n) const;
  void split(const PartedCall &call);
  void addShort(ProgramOp program, int64_t part, SymbolTable &symbols) const;
  void splitCalls(ProgramOp program, SymbolTable &symbols);
};
} // namespace

/// Floats of what is left of one part of a row: for each tile of heads the
/// maxima and the sums of weights, a vector each, and for each head the sums of
/// values, in whole vectors. No target has vectors of more than 16 floats.
static int64_t partStride(AttentionOp attention) {
  constexpr int64_t kLanes = 16;
  int64_t tiles = kernelTasks(attention.makeKernel(), {1});
  int64_t heads = attention.getHeads();
  return tiles * 2 * kLanes +
         heads * llvm::alignTo(columnsOf(attention.getY()) / heads, kLanes);
}

/// A GPU's block has up to `kQueries` queries, of a tile of heads times rows of
/// one slot. Where a program has so many rows for each n, a slot has so many;
/// rows of a prompt (one for each n) are counted as if each was a slot's.
static TaskShape blockShape(AttentionOp op) {
  constexpr int64_t kQueries = 16;
  int64_t heads = op.getHeads(), group = heads / int64_t(op.getKvHeads());
  int64_t tile = std::min(group, kQueries);
  while (group % tile != 0)
    --tile;
  int64_t ofSlot = std::max<int64_t>(rowsOf(op.getQ()).step, 1);
  int64_t rowsPerBlock = std::min(kQueries / tile, ofSlot);
  int64_t blocks = llvm::divideCeil(ofSlot, rowsPerBlock);
  return {ofSlot, heads / tile * blocks};
}

/// Positions of a GPU's part where a row may have so many: two turns of a
/// block's loop, or so many that no row has more parts than a processor's (see
/// Envelope.h). 0 where a row is sooner done without.
static int64_t blockPart(int64_t positions) {
  constexpr int64_t kLeastPositions = 128, kMostParts = 64;
  int64_t part = kLeastPositions;
  while (part * kMostParts < positions)
    part *= 2;
  return part + kJoinPositions < positions ? part : 0;
}

/// Positions of a slot of full length.
static int64_t positionsOf(AttentionOp op) {
  return columnsOf(op.getPageTable()) * shapeOf(op.getPages())[1];
}

/// Gives a GPU's parts to all calls: a row's bits follow from its parts, so
/// calls that are not split have them, too.
static void resizeParts(AttentionOp op) {
  if (int64_t part = blockPart(positionsOf(op)))
    op.setPart(part);
  else
    op.removePartAttr();
}

TaskShape SplitAttentionPass::shapeOfCall(AttentionOp op) const {
  return blocks ? blockShape(op) : taskShape(op.makeKernel());
}

/// The calls of a program whose positions come in several parts, and how their
/// work divides. There is no kernel for parts of a tree.
SmallVector<PartedCall> SplitAttentionPass::findCalls(ProgramOp program) const {
  SmallVector<PartedCall> calls;
  for (auto op : program.getBody().getOps<AttentionOp>()) {
    if (op.getTree() || !op.getPart())
      continue;
    int64_t parts = llvm::divideCeil(positionsOf(op), *op.getPart());
    if (parts > 1)
      calls.push_back({op, shapeOfCall(op), rowsOf(op.getQ()), parts});
  }
  return calls;
}

/// Which calls are split at n.
SmallVector<bool> SplitAttentionPass::splitsAt(ArrayRef<PartedCall> calls,
                                               int64_t n) const {
  // A last group of few rows is a task, but less than one's work.
  auto work = [&](const PartedCall &call) {
    return blocks ? call.tasksAt(n) : call.rows.at(n) * call.shape.tasks;
  };
  int64_t leastEnough = std::numeric_limits<int64_t>::max() / 4;
  for (const PartedCall &call : calls)
    if (call.tasksAt(n) >= workers)
      leastEnough = std::min(leastEnough, work(call));
  return llvm::map_to_vector(calls, [&](const PartedCall &call) {
    return call.tasksAt(n) < workers && 4 * work(call) < 3 * leastEnough;
  });
}

void SplitAttentionPass::split(const PartedCall &call) {
  AttentionOp attention = call.op;
  int64_t part = *attention.getPart(), parts = call.parts;
  // On a GPU every part is a block's.
  int64_t splits =
      blocks ? parts : std::max<int64_t>(workers / call.shape.tasks, 2);
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

/// Copies a round for rows that have little to divide: what lies behind their
/// first part is sooner added up than joined to it.
void SplitAttentionPass::addShort(ProgramOp program, int64_t part,
                                  SymbolTable &symbols) const {
  int64_t positions = part + kJoinPositions;
  auto copy = cast<ProgramOp>(program->clone());
  copy.setPositions(positions);
  copy.setSymName(
      (program.getSymName() + "_below" + llvm::Twine(positions)).str());
  symbols.insert(copy, std::next(program->getIterator()));
}

/// Splits calls as is best for the least n, and for all n for which that is the
/// same; others get a program of their own.
void SplitAttentionPass::splitCalls(ProgramOp program, SymbolTable &symbols) {
  SmallVector<PartedCall> calls = findCalls(program);
  Points points = program.getPoints();
  SmallVector<bool> splits = splitsAt(calls, points.least);
  // Tasks do not become fewer: where no call lacks any, the rest is alike.
  bool isSplit = llvm::is_contained(splits, true);
  for (int64_t n = points.least + 1; isSplit && n <= points.most; ++n)
    if (splitsAt(calls, n) != splits) {
      splitCalls(mlir::mtp::splitProgram(program, n, symbols), symbols);
      break;
    }
  if (isSplit && blocks && program.getKind() == ProgramKind::Decode)
    addShort(program, *calls.front().op.getPart(), symbols);
  for (auto [call, isSplit] : llvm::zip_equal(calls, splits))
    if (isSplit)
      split(call);
}

void SplitAttentionPass::runOnOperation() {
  SymbolTable symbols(getOperation());
  if (blocks)
    getOperation().walk(resizeParts);
  for (ProgramOp program : llvm::to_vector(getOperation().getOps<ProgramOp>()))
    splitCalls(program, symbols);
}
