//===- SplitAttention.cpp - Split positions among workers -----------------===//
//
// A plain step has one attention task per tile of heads, often fewer than there
// are workers. The longer the context, the longer the idle workers wait. If
// positions are divided into splits (`split`, see Envelope.h), several workers
// can each sum some splits of a row and store partial results, which another
// call combines ("Flash-Decoding", Dao et al., 2023):
//
//   attention   becomes   attention_split_kv -> attention_combine
//
// Splits begin at fixed positions and are combined in order in either form, so
// the number of workers does not change a bit.
//
// Whether a call is split depends on its number of tasks, and so on n: it is
// split if it has fewer tasks than workers. A program is split at the n at
// which that changes. To keep these n few, calls with similar numbers of rows
// go together: a call with at least three quarters of the rows of another is
// not split if the other has enough tasks. The number of workers per row would
// need more programs if it were fixed here. The kernel chooses it, since it
// knows its rows.
//
// On a GPU a task is a thread block, and one without work ends at once, so
// every split of a split call has a block. The rule is the same except for the
// number of tasks per call. Splits are shorter than on a processor, since there
// are many blocks and each takes only one. A call costs a GPU more than one
// split of a short row. So a round with split calls gets a second program
// without them, for rows of little more than one split.
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

/// Positions that a row must have beyond its first split to be split on a GPU.
/// Semantic: bits depend on splits. See compiler/Codegen/GPU/DESIGN.md.
static constexpr int64_t kJoinPositions = 192;

namespace {
/// An attention with splits, and how its work divides.
struct SplitCall {
  AttentionOp op;
  TaskShape shape;
  Count rows;
  int64_t splits;

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
  SmallVector<SplitCall> findCalls(ProgramOp program) const;
  SmallVector<bool> splitsAt(ArrayRef<SplitCall> calls, int64_t n) const;
  void split(const SplitCall &call);
  void addShort(ProgramOp program, int64_t split, SymbolTable &symbols) const;
  void splitCalls(ProgramOp program, SymbolTable &symbols);
};
} // namespace

/// Returns the floats of the partial result of one split of a row. For each
/// tile of heads they are the maxima and the sums of weights, a vector each;
/// for each head they are the sums of values, in whole vectors. No target has
/// vectors of more than 16 floats.
static int64_t splitStride(AttentionOp attention) {
  constexpr int64_t kLanes = 16;
  int64_t tiles = kernelTasks(attention.makeKernel(), {1});
  int64_t heads = attention.getHeads();
  return tiles * 2 * kLanes +
         heads * llvm::alignTo(columnsOf(attention.getY()) / heads, kLanes);
}

/// Returns how a GPU's blocks divide a call. A block has up to `kQueries`
/// queries, a tile of heads times rows of one slot. A slot has the program's
/// rows per n; rows of a prompt (one per n) count as one slot each.
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

/// Returns the positions of a GPU's split for rows of up to `positions`: two
/// iterations of a block's loop, or more, so that no row has more splits than
/// on a processor (see Envelope.h). Returns 0 if a row is faster without
/// splits.
static int64_t blockSplit(int64_t positions) {
  constexpr int64_t kLeastPositions = 128, kMostSplits = 64;
  int64_t split = kLeastPositions;
  while (split * kMostSplits < positions)
    split *= 2;
  return split + kJoinPositions < positions ? split : 0;
}

/// Returns the positions of a slot of full length.
static int64_t positionsOf(AttentionOp op) {
  return columnsOf(op.getPageTable()) * shapeOf(op.getPages())[1];
}

/// Gives all calls a GPU's splits. A row's bits depend on its splits, so calls
/// that are not split use them, too.
static void resizeSplits(AttentionOp op) {
  if (int64_t split = blockSplit(positionsOf(op)))
    op.setSplit(split);
  else
    op.removeSplitAttr();
}

TaskShape SplitAttentionPass::shapeOfCall(AttentionOp op) const {
  return blocks ? blockShape(op) : taskShape(op.makeKernel());
}

/// Returns the calls of a program with several splits, and how their work
/// divides. There is no kernel for splits of a tree.
SmallVector<SplitCall> SplitAttentionPass::findCalls(ProgramOp program) const {
  SmallVector<SplitCall> calls;
  for (auto op : program.getBody().getOps<AttentionOp>()) {
    if (op.getTree() || !op.getSplit())
      continue;
    int64_t splits = llvm::divideCeil(positionsOf(op), *op.getSplit());
    if (splits > 1)
      calls.push_back({op, shapeOfCall(op), rowsOf(op.getQ()), splits});
  }
  return calls;
}

/// Returns which calls are split at n.
SmallVector<bool> SplitAttentionPass::splitsAt(ArrayRef<SplitCall> calls,
                                               int64_t n) const {
  // A last group of few rows is a task, but less work than a full one.
  auto work = [&](const SplitCall &call) {
    return blocks ? call.tasksAt(n) : call.rows.at(n) * call.shape.tasks;
  };
  int64_t leastEnough = std::numeric_limits<int64_t>::max() / 4;
  for (const SplitCall &call : calls)
    if (call.tasksAt(n) >= workers)
      leastEnough = std::min(leastEnough, work(call));
  return llvm::map_to_vector(calls, [&](const SplitCall &call) {
    return call.tasksAt(n) < workers && 4 * work(call) < 3 * leastEnough;
  });
}

void SplitAttentionPass::split(const SplitCall &call) {
  AttentionOp attention = call.op;
  int64_t split = *attention.getSplit(), splits = call.splits;
  // On a GPU every split is one block's.
  int64_t tasksPerTile =
      blocks ? splits : std::max<int64_t>(workers / call.shape.tasks, 2);
  OpBuilder builder(attention);
  Location loc = attention.getLoc();
  Value y = attention.getY();
  int64_t heads = attention.getHeads();
  Type leftType = rowsType(rowsOf(y), splits * splitStride(attention),
                           builder.getF32Type());
  auto left = AttentionSplitKvOp::create(
      builder, loc, leftType, attention.getQ(), attention.getSlots(),
      attention.getPositions(), attention.getPageTable(), attention.getPages(),
      heads, attention.getKvHeads(), attention.getKeysAt(),
      attention.getValuesAt(), attention.getScale(), attention.getCacheHeads(),
      attention.getSplitAttr(), attention.getWindow(), columnsOf(y) / heads,
      splits, tasksPerTile);
  auto join = AttentionCombineOp::create(
      builder, loc, y.getType(), attention.getPositions(), left, splits, heads,
      attention.getKvHeads(), split, attention.getWindow(),
      getElementTypeOrSelf(attention.getPages()));
  attention->replaceAllUsesWith(join);
  attention.erase();
  ++numSplit;
}

/// Copies a round for rows with little to divide: positions beyond the first
/// split are summed faster than combined.
void SplitAttentionPass::addShort(ProgramOp program, int64_t split,
                                  SymbolTable &symbols) const {
  int64_t positions = split + shortPositions;
  auto copy = cast<ProgramOp>(program->clone());
  copy.setPositions(positions);
  copy.setSymName(
      (program.getSymName() + "_below" + llvm::Twine(positions)).str());
  symbols.insert(copy, std::next(program->getIterator()));
}

/// Splits the calls that should be split at the least n. The n at which other
/// calls should be split get a separate program.
void SplitAttentionPass::splitCalls(ProgramOp program, SymbolTable &symbols) {
  SmallVector<SplitCall> calls = findCalls(program);
  Points points = program.getPoints();
  SmallVector<bool> splits = splitsAt(calls, points.least);
  // Task counts never decrease with n: if no call lacks tasks, no later n
  // differs.
  bool isSplit = llvm::is_contained(splits, true);
  for (int64_t n = points.least + 1; isSplit && n <= points.most; ++n)
    if (splitsAt(calls, n) != splits) {
      splitCalls(mlir::mtp::splitProgram(program, n, symbols), symbols);
      break;
    }
  if (isSplit && blocks && program.getKind() == ProgramKind::Decode)
    addShort(program, *calls.front().op.getSplit(), symbols);
  for (auto [call, isSplit] : llvm::zip_equal(calls, splits))
    if (isSplit)
      split(call);
}

void SplitAttentionPass::runOnOperation() {
  SymbolTable symbols(getOperation());
  if (blocks)
    getOperation().walk(resizeSplits);
  for (ProgramOp program : llvm::to_vector(getOperation().getOps<ProgramOp>()))
    splitCalls(program, symbols);
}
