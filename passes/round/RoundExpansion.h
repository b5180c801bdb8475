//===- RoundExpansion.h - What the expansions of a round share --*- C++ -*-===//
//
// draft, verify, accept and commit are rewritten into core ops by a pass each.
// dialects/MTP/README.md says what a round computes.
//
// Notation, for one slot: n is its length (the anchor's position), a the drafts
// that the last round accepted, W the tokens that followed the rows that it
// verified; these began at position p0 = n - 1 - a.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_PASSES_ROUND_ROUNDEXPANSION_H
#define MTP_PASSES_ROUND_ROUNDEXPANSION_H

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Pass/Pass.h"
#include "passes/support/RoundStates.h"
#include "passes/support/SlotBody.h"

namespace mlir::mtp {

/// The output of a round that says of each slot how many drafts it could have
/// accepted; mtp-repeat-rounds takes it into the ring.
inline constexpr llvm::StringLiteral kDraftedOutput = "drafted";

/// The output of a round with packed rows: where the rows of each slot are, as
/// mtp.pack says it.
inline constexpr llvm::StringLiteral kPlacesOutput = "places";

/// Rows for which tokens are picked, as many of each slot.
struct PickedRows {
  /// With the position at which the picked token's row is verified.
  Value rows;
  /// Which rows of a slot's window they are.
  SmallVector<int64_t> nodes;
  /// The drafts of a slot that the paths go through, side by side; called only
  /// where they are read.
  llvm::function_ref<Value()> drafts;
  /// Of each row the places among them that lead to it; the anchor comes first.
  SmallVector<SmallVector<int64_t>> paths;
};

/// Writes core ops in place of one op of a round or a prefill.
class Expansion {
public:
  explicit Expansion(Operation *op);

  /// The most drafts that the round accepts; nothing in a prefill.
  std::optional<int64_t> roundK() const { return k; }
  /// The rows of a slot that the round verifies; 1 in a prefill.
  int64_t roundNodes() const { return nodes; }
  bool isPrefill() const { return !k; }
  /// The value of the region's one mtp.slots.
  Value slots();
  /// One number for each row of a slot as one for each row.
  Value byRow(Value grid);
  /// What each row has as `count` for each slot: a number, or columns.
  Value bySlot(Value rows, int64_t count);
  Value makeRows(Value slots, Value positions);
  Value takeRows(Value x, Value index);
  /// Rows of activations side by side, slot by slot, each of so many rows.
  Value concatRows(ArrayRef<std::pair<Value, int64_t>> parts);
  /// Clones a region of an op for these arguments; returns what it yields.
  SmallVector<Value> inlineRegion(Region &region, ValueRange args);
  /// What the round's accept op picks from `logits`, the columns of which stand
  /// for these tokens, or for themselves.
  FailureOr<Value> pick(Value logits, const PickedRows &picked,
                        FlatSymbolRefAttr tokens);
  /// The best `count` of each row in the order in which that would pick them,
  /// those before taken out; null where the region is not a sample at its end.
  FailureOr<Value> pickBest(Value logits, const PickedRows &picked,
                            FlatSymbolRefAttr tokens, int64_t count);
  /// The best of each row, which that would pick, and the logarithm of its
  /// probability: of its part in all that could be picked.
  FailureOr<TopKOp> pickLikely(Value logits, const PickedRows &picked,
                               FlatSymbolRefAttr tokens);
  /// Whether a pick depends on more of its row than logits and position.
  bool picksByRow();
  /// The arguments of the region of `accept` for these rows.
  SmallVector<Value> pickArguments(AcceptOp accept, Value logits,
                                   const PickedRows &picked);
  void output(llvm::StringRef name, Value value);

  ModuleOp module;
  Location loc;
  OpBuilder builder;

private:
  LogicalResult selectCaptured(AcceptOp accept, const PickedRows &picked,
                               IRMapping &mapping);
  Value takeNodes(Value x, ArrayRef<int64_t> of);
  Value pathsTo(const PickedRows &picked);
  FailureOr<AcceptOp> findAccept();
  FailureOr<TopKOp> rankPicks(AcceptOp accept, Value logits,
                              const PickedRows &picked,
                              FlatSymbolRefAttr tokens, int64_t count,
                              Operation *last);
  LogicalResult cloneRegion(AcceptOp accept, Value logits,
                            const PickedRows &picked, FlatSymbolRefAttr tokens,
                            Operation *last, IRMapping &mapping);

  Operation *op;
  Operation *parent;
  std::optional<int64_t> k;
  int64_t nodes = 1;
};

/// Whether a region makes what it yields of its arguments row by row, so that
/// these may be any rows: it captures nothing that has rows, groups none by
/// slots, and writes no state.
bool goesByRows(Region &region);

/// Whether the host may have slots draft less than their round: where the rule
/// is exact, and accepts the drafts that are verified. A host that finds no
/// `draft_limit` runs each request in rounds of its own k.
bool followsLimit(VerifyOp op);

/// How many drafts the slot of `body` has at most: by the host where it may say
/// so, and by the program where the module has the state `want_k`. Null where
/// neither does.
Value loadLimit(SlotBody &body, ModuleOp module, bool isHosts);

/// Checks that the round or prefill around `op` has a k.
LogicalResult checkInstantiated(Operation *op);

/// Checks that a static tree has the nodes of the round.
LogicalResult checkTree(Operation *op, const Expansion &e,
                        llvm::ArrayRef<int64_t> tree);

/// Checks that an op of a round has a draft per node but the anchor's for each
/// slot, and a tree with room for them, or as many parents as nodes.
LogicalResult checkDrafts(Operation *op, const Expansion &e, Value drafts,
                          std::optional<llvm::ArrayRef<int64_t>> tree,
                          Value parents);

/// Checks that the region of `accept` stores nothing, and that what it captures
/// has rows for its rows.
LogicalResult checkRegion(AcceptOp accept, int64_t nodes);

/// Expands every op of a kind under `root`, and counts them.
template <typename OpT, typename ExpandFn>
LogicalResult expandAll(Operation *root, Pass::Statistic &count,
                        ExpandFn expand) {
  SmallVector<OpT> ops;
  root->walk([&](OpT op) { ops.push_back(op); });
  for (OpT op : ops) {
    if (failed(expand(op)))
      return failure();
    ++count;
  }
  return success();
}

/// The same of an op whose round or prefill has to have a k.
template <typename OpT, typename ExpandFn>
LogicalResult expandInstantiated(Operation *root, Pass::Statistic &count,
                                 ExpandFn expand) {
  return expandAll<OpT>(root, count, [&](OpT op) {
    return failed(checkInstantiated(op)) ? failure()
                                         : LogicalResult(expand(op));
  });
}

/// The word of the body's sequence.
Value sequenceWord(SlotBody &body, SequenceWord word);

} // namespace mlir::mtp

#endif // MTP_PASSES_ROUND_ROUNDEXPANSION_H
