//===- RoundExpansion.h - Shared code of the expansions ---------*- C++ -*-===//
//
// Passes rewrite draft, verify, accept and commit into core ops, one per op.
// dialects/MTP/README.md describes what a round computes.
//
// Notation, for one slot: n is its length (the anchor's position), and a is the
// number of drafts that the last round accepted. W are the tokens that followed
// the rows that it verified. These rows began at position p0 = n - 1 - a.
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

/// Name of the round's output that has, for each slot, the number of drafts
/// that the round could have accepted. mtp-repeat-rounds writes it into the
/// ring.
inline constexpr llvm::StringLiteral kDraftedOutput = "drafted";

/// Name of the output with the places of each slot's rows, from mtp.pack, in a
/// round with packed rows.
inline constexpr llvm::StringLiteral kPlacesOutput = "places";

/// Rows for which tokens are picked, with an equal number per slot.
struct PickedRows {
  /// Rows at the positions at which the picked tokens are verified.
  Value rows;
  /// The indices of the rows in a slot's window.
  SmallVector<int64_t> nodes;
  /// Returns the drafts of a slot on the paths; called only if they are read.
  llvm::function_ref<Value()> drafts;
  /// For each row the indices of the drafts that lead to it; the anchor comes
  /// first.
  SmallVector<SmallVector<int64_t>> paths;
};

/// Writes core ops in place of one op of a round or a prefill.
class Expansion {
public:
  explicit Expansion(Operation *op);

  /// Returns the largest number of drafts that the round accepts; none in a
  /// prefill.
  std::optional<int64_t> roundK() const { return k; }
  /// Returns the number of rows of a slot that the round verifies; 1 in a
  /// prefill.
  int64_t roundNodes() const { return nodes; }
  bool isPrefill() const { return !k; }
  /// Returns the value of the region's one mtp.slots.
  Value slots();
  /// Flattens a grid with numbers per slot and row to one number per row.
  Value byRow(Value grid);
  /// Groups values per row (numbers or columns) by slot, `count` rows for each
  /// slot.
  Value bySlot(Value rows, int64_t count);
  Value makeRows(Value slots, Value positions);
  Value gatherRows(Value x, Value index);
  /// Concatenates rows of activations slot by slot. Each part has its number of
  /// rows per slot.
  Value concatRows(ArrayRef<std::pair<Value, int64_t>> parts);
  /// Clones a region of an op for these arguments; returns the yielded values.
  SmallVector<Value> inlineRegion(Region &region, ValueRange args);
  /// Picks from `logits` like the round's accept op. Columns of `logits` stand
  /// for `tokens`, or for their own numbers if that is null.
  FailureOr<Value> pick(Value logits, const PickedRows &picked,
                        FlatSymbolRefAttr tokens);
  /// Returns the best `count` tokens of each row, in the order in which
  /// repeated picks without replacement would choose them. Null if the region
  /// does not end with a sample.
  FailureOr<Value> pickBest(Value logits, const PickedRows &picked,
                            FlatSymbolRefAttr tokens, int64_t count);
  /// Returns the best token of each row, which `pick` would pick, and the
  /// logarithm of its share of all tokens that could be picked.
  FailureOr<TopKOp> pickLikely(Value logits, const PickedRows &picked,
                               FlatSymbolRefAttr tokens);
  /// Returns whether a pick depends on more of its row than logits and
  /// position.
  bool picksByRow();
  /// Returns the arguments of the region of `accept` for these rows.
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

/// Returns whether a region computes its results row by row, so that it can run
/// on any rows: it captures no values with rows, groups none by slots, and
/// writes no state.
bool goesByRows(Region &region);

/// Returns whether the host may make slots draft less than their round. The
/// rule must be exact and must accept the drafts that are verified. Without a
/// `draft_limit` the host runs each request in rounds of its own k.
bool followsLimit(VerifyOp op);

/// Loads the largest number of drafts of the body's slot: the host's limit if
/// `isHosts`, and the program's if the module has the state `want_k`. Null if
/// neither exists.
Value loadLimit(SlotBody &body, ModuleOp module, bool isHosts);

/// Returns whether a slot has masks. The tokens of `host_drafts` then take the
/// place of its drafts; the host wrote them when the round had stopped. Null
/// for a module without masks, and for a round that does not stop.
Value hasHostDrafts(SlotBody &body, VerifyOp op);

/// Checks that the round or prefill around `op` has a k.
LogicalResult checkInstantiated(Operation *op);

/// Checks that a static tree has the nodes of the round.
LogicalResult checkTree(Operation *op, const Expansion &e,
                        llvm::ArrayRef<int64_t> tree);

/// Checks that an op of a round has one draft per node except the anchor for
/// each slot. A tree must have room for them, and there must be one parent
/// per node.
LogicalResult checkDrafts(Operation *op, const Expansion &e, Value drafts,
                          std::optional<llvm::ArrayRef<int64_t>> tree,
                          Value parents);

/// Checks that the region of `accept` stores nothing, and that the values that
/// it captures have rows for its rows.
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

/// Expands every op of a kind whose round or prefill must have a k, and counts
/// them.
template <typename OpT, typename ExpandFn>
LogicalResult expandInstantiated(Operation *root, Pass::Statistic &count,
                                 ExpandFn expand) {
  return expandAll<OpT>(root, count, [&](OpT op) {
    return failed(checkInstantiated(op)) ? failure()
                                         : LogicalResult(expand(op));
  });
}

/// Returns the word of the body's sequence.
Value sequenceWord(SlotBody &body, SequenceWord word);

} // namespace mlir::mtp

#endif // MTP_PASSES_ROUND_ROUNDEXPANSION_H
