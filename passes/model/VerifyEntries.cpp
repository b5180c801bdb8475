//===- VerifyEntries.cpp - Check entries of shared cache layers -----------===//
//
// Entries are a function of tokens and rows if the ops that make keys and
// values are. So two attentions write equal entries if these ops are equal,
// starting from the tokens, and each token is at its own position.
//
//===----------------------------------------------------------------------===//

#include "dialects/MTP/IR/MTPOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "passes/Passes.h"
#include "passes/model/RecurrenceUses.h"

namespace mlir::mtp {
#define GEN_PASS_DEF_VERIFYENTRIESPASS
#include "passes/Passes.h.inc"
} // namespace mlir::mtp

using namespace mlir;
using namespace mlir::mtp;

namespace {
struct VerifyEntriesPass
    : public mlir::mtp::impl::VerifyEntriesPassBase<VerifyEntriesPass> {
  using Base::Base;

  void runOnOperation() override;

private:
  LogicalResult verify(Operation *program);
  LogicalResult verifyWrites(Operation *program);

  /// Layers that the target uses in any round or prefill, with one use each.
  DenseMap<std::pair<Attribute, int64_t>, Operation *> targetLayers;
};

/// A use of a layer.
struct Use {
  Operation *op;
  Value rows;
  /// The values of which an entry is made.
  SmallVector<Value> parts;
};

using LayerKey = std::pair<Attribute, int64_t>;
} // namespace

static std::optional<std::pair<LayerKey, Use>> findUse(Operation *op) {
  if (auto attention = dyn_cast<AttentionOp>(op);
      attention && attention.getCache()) {
    Use use{op, attention.getRows(), {attention.getK()}};
    if (attention.getV())
      use.parts.push_back(attention.getV());
    return {{{attention.getCacheAttr(), int64_t(*attention.getLayer())}, use}};
  }
  if (auto attention = dyn_cast<MlaAttentionOp>(op);
      attention && attention.getCache())
    return {
        {{attention.getCacheAttr(), int64_t(*attention.getLayer())},
         {op, attention.getRows(), {attention.getC(), attention.getKPe()}}}};
  return std::nullopt;
}

static Value plainRows(Value rows) {
  auto tree = rows.getDefiningOp<TreeRowsOp>();
  return tree ? tree.getRows() : rows;
}

//===----------------------------------------------------------------------===//
// Positions that are not committed
//===----------------------------------------------------------------------===//

namespace {
/// Proves that positions are at or after the length of their slot, by proving
/// it of the values from which they are computed.
class BehindLength {
public:
  bool holds(Value value);

private:
  bool holdsFor(BlockArgument argument);
  bool holdsFor(OpResult result);
  bool isNotNegative(Value value);

  /// Values for which the claim is assumed, to prove it for the next iteration
  /// of a loop.
  DenseSet<Value> assumed;
};
} // namespace

bool BehindLength::isNotNegative(Value value) {
  APInt number;
  if (matchPattern(value, m_ConstantInt(&number)))
    return number.isNonNegative();
  if (auto cast = value.getDefiningOp<arith::IndexCastOp>())
    return isNotNegative(cast.getIn());
  auto argument = dyn_cast<BlockArgument>(value);
  auto loop = argument
                  ? dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp())
                  : scf::ForOp();
  return loop && loop.getInductionVar() == value &&
         isNotNegative(loop.getLowerBound());
}

bool BehindLength::holds(Value value) {
  if (!assumed.insert(value).second)
    return true;
  if (auto argument = dyn_cast<BlockArgument>(value))
    return holdsFor(argument);
  return holdsFor(cast<OpResult>(value));
}

bool BehindLength::holdsFor(BlockArgument argument) {
  Operation *parent = argument.getOwner()->getParentOp();
  unsigned number = argument.getArgNumber();
  if (auto body = dyn_cast<PerSlotOp>(parent))
    return number >= 2 && holds(body.getInputs()[number - 2]);
  auto loop = dyn_cast<scf::ForOp>(parent);
  return loop && number > 0 && holds(loop.getInitArgs()[number - 1]) &&
         holds(loop.getYieldedValues()[number - 1]);
}

bool BehindLength::holdsFor(OpResult result) {
  Operation *op = result.getOwner();
  unsigned number = result.getResultNumber();
  if (auto refresh = dyn_cast<RefreshOp>(op))
    return result == refresh.getNext();
  if (auto load = dyn_cast<LoadOp>(op))
    return load.getState() == "length";
  if (auto body = dyn_cast<PerSlotOp>(op))
    return holds(body.getYield().getValues()[number]);
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return holds(loop.getInitArgs()[number]) &&
           holds(loop.getYieldedValues()[number]);
  if (auto sum = dyn_cast<arith::AddIOp>(op)) {
    // Only one way is tried: a failed attempt must not leave assumptions for
    // the other.
    if (isNotNegative(sum.getRhs()))
      return holds(sum.getLhs());
    return isNotNegative(sum.getLhs()) && holds(sum.getRhs());
  }
  return false;
}

/// Returns whether a body makes `value` from its slot number, once or repeated.
static bool isOfSlot(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return isa<PerSlotOp>(argument.getOwner()->getParentOp()) &&
           argument.getArgNumber() == 1;
  Operation *op = value.getDefiningOp();
  if (auto made = dyn_cast<tensor::GenerateOp>(op))
    return isOfSlot(made.getBody().front().getTerminator()->getOperand(0));
  return isa<tensor::SplatOp, tensor::FromElementsOp, tensor::CastOp>(op) &&
         llvm::all_of(isa<tensor::SplatOp>(op) ? op->getOperands().take_front()
                                               : op->getOperands(),
                      isOfSlot);
}

/// Returns whether rows belong to the round's own slots. A position at or after
/// one slot's length proves nothing about another slot.
static bool areOwnSlots(Value slots) {
  Operation *op = slots.getDefiningOp();
  if (auto grouped = dyn_cast_or_null<ReshapeOp>(op))
    return areOwnSlots(grouped.getX());
  if (auto body = dyn_cast_or_null<PerSlotOp>(op)) {
    unsigned number = cast<OpResult>(slots).getResultNumber();
    return isOfSlot(body.getYield().getValues()[number]) &&
           areOwnSlots(body.getSlots());
  }
  return isa_and_nonnull<SlotsOp>(op);
}

/// Returns whether rows are at or after their slots' committed lengths.
static bool areBehindLength(Value rows) {
  auto made = rows.getDefiningOp<MakeRowsOp>();
  return made && BehindLength().holds(made.getPositions()) &&
         areOwnSlots(made.getSlots());
}

//===----------------------------------------------------------------------===//
// Entries that are the target's
//===----------------------------------------------------------------------===//

namespace {
/// Compares how two values are computed, down to the tokens and rows of each.
class SameEntries {
public:
  SameEntries(Value targetRows, Value otherRows)
      : targetRows(plainRows(targetRows)), otherRows(plainRows(otherRows)) {}

  bool areSame(Value target, Value other);
  /// Returns the tokens from which the other value is made; null if none were
  /// reached yet.
  Value getTokens() const { return otherTokens; }

private:
  Value targetRows, otherRows, otherTokens;
  DenseMap<Value, Value> known;
};
} // namespace

bool SameEntries::areSame(Value target, Value other) {
  auto [it, isNew] = known.insert({target, other});
  if (!isNew)
    return it->second == other;
  if (isa<RowsType>(target.getType()))
    return plainRows(target) == targetRows && plainRows(other) == otherRows;
  if (isa<BlockArgument>(target)) {
    // Any other tensor is the target's tokens: its region has no other tensor.
    bool isFirst = !otherTokens;
    if (isFirst)
      otherTokens = other;
    return otherTokens == other && target.getType() == other.getType();
  }
  Operation *a = target.getDefiningOp(), *b = other.getDefiningOp();
  if (a == b)
    return target == other; // made from captured values, for both
  if (!b || a->getName() != b->getName() || a->getNumRegions() > 0 ||
      a->getAttrDictionary() != b->getAttrDictionary() ||
      a->getNumOperands() != b->getNumOperands() ||
      cast<OpResult>(target).getResultNumber() !=
          cast<OpResult>(other).getResultNumber())
    return false;
  return llvm::all_of(
      llvm::zip_equal(a->getOperands(), b->getOperands()),
      [&](auto pair) { return areSame(std::get<0>(pair), std::get<1>(pair)); });
}

/// Returns whether each token is at the position of its row.
static bool isAtOwnPosition(Value tokens, Value rows) {
  rows = plainRows(rows);
  if (!tokens)
    return false;
  if (auto argument = dyn_cast<BlockArgument>(tokens)) {
    Block *block = argument.getOwner();
    return isa<DraftChainOp, DraftTreeOp>(block->getParentOp()) &&
           block->getNumArguments() == 2 && rows == block->getArgument(1);
  }
  Operation *made = tokens.getDefiningOp();
  if (made != rows.getDefiningOp())
    return false;
  if (auto refresh = dyn_cast<RefreshOp>(made))
    return tokens == refresh.getTokens() && !refresh.getHidden();
  auto prompt = dyn_cast<PromptRowsOp>(made);
  return prompt && prompt.getAhead() == 0;
}

/// Checks E2 for one use of a layer that the target has.
static LogicalResult verifyShared(const Use &target, const Use &other) {
  if (areBehindLength(other.rows))
    return success();
  SameEntries same(target.rows, other.rows);
  bool isSame = target.parts.size() == other.parts.size() &&
                llvm::all_of(llvm::zip(target.parts, other.parts), [&](auto p) {
                  return same.areSame(std::get<0>(p), std::get<1>(p));
                });
  if (isSame && isAtOwnPosition(same.getTokens(), other.rows))
    return success();
  InFlightDiagnostic diag = other.op->emitOpError(
      "expected a layer that the target does not use, the entries that the "
      "target writes there, or rows from the slot's length on: what was "
      "committed would be overwritten");
  diag.attachNote(target.op->getLoc()) << "the target uses the layer here";
  if (isSame)
    diag.attachNote(other.rows.getLoc())
        << "these rows are not seen to be at the positions of their tokens";
  return diag;
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

/// Returns a loop around `op` that repeats it for the same rows, or null.
static Operation *findRepeating(Operation *op, Value rows) {
  for (auto loop = op->getParentOfType<scf::ForOp>(); loop;
       loop = loop->getParentOfType<scf::ForOp>())
    if (!loop.getRegion().isAncestor(rows.getParentRegion()))
      return loop;
  return nullptr;
}

LogicalResult VerifyEntriesPass::verify(Operation *program) {
  DenseMap<LayerKey, SmallVector<Use>> uses;
  DenseMap<LayerKey, Use> targets;
  SmallVector<std::pair<LayerKey, Use>> others;
  WalkResult result = program->walk([&](Operation *op) -> WalkResult {
    auto found = findUse(op);
    if (!found)
      return WalkResult::advance();
    auto &[layer, use] = *found;
    for (const Use &known : uses[layer])
      if (plainRows(known.rows) == plainRows(use.rows)) { // E1
        InFlightDiagnostic diag =
            op->emitOpError("expected layer ")
            << layer.second << " of " << layer.first
            << " to be used once for the same rows, got a second use: it "
               "needs a layer of its own";
        diag.attachNote(known.op->getLoc()) << "the first is here";
        return diag;
      }
    if (Operation *loop = findRepeating(op, use.rows)) {
      InFlightDiagnostic diag = // E1
          op->emitOpError("expected layer ")
          << layer.second << " of " << layer.first
          << " to be used once for the same rows, got a loop that does not "
             "make rows";
      diag.attachNote(loop->getLoc()) << "the loop is here";
      return diag;
    }
    uses[layer].push_back(use);
    if (op->getParentOfType<VerifyOp>())
      targets.insert(*found);
    else
      others.push_back(*found);
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  for (auto &[layer, use] : others) {
    auto target = targets.find(layer);
    if (target == targets.end())
      continue;
    ++numShared;
    if (failed(verifyShared(target->second, use)))
      return failure();
  }
  return success();
}

/// Returns the layer of a cache whose entries `op` writes or reads row by row.
static std::optional<LayerKey> layerOf(Operation *op) {
  if (auto found = findUse(op))
    return found->first;
  if (auto append = dyn_cast<CacheAppendOp>(op))
    return LayerKey{append.getCacheAttr(), append.getLayer()};
  if (auto attention = dyn_cast<CachedAttentionOp>(op))
    return LayerKey{attention.getCacheAttr(), attention.getLayer()};
  return std::nullopt;
}

static LogicalResult refuseWrite(Operation *op, Operation *target,
                                 StringRef why) {
  InFlightDiagnostic diag =
      op->emitOpError("expected a cache of which the target uses no entry "
                      "that is written here: ")
      << why;
  diag.attachNote(target->getLoc()) << "the target uses it here";
  return diag;
}

/// Checks E2 for ops that write entries directly, outside mtp.verify.
LogicalResult VerifyEntriesPass::verifyWrites(Operation *program) {
  bool commits = !program->getRegion(0).front().getOps<CommitOp>().empty();
  WalkResult walked = program->walk([&](Operation *op) -> WalkResult {
    if (op->getParentOfType<VerifyOp>())
      return WalkResult::advance();
    if (auto append = dyn_cast<CacheAppendOp>(op)) {
      auto target = targetLayers.find(*layerOf(op));
      if (target != targetLayers.end() && !areBehindLength(append.getRows()))
        return refuseWrite(op, target->second,
                           "what was committed would be overwritten, but for "
                           "rows from the slot's length on");
    } else if (auto move = dyn_cast<CacheMoveOp>(op); move && commits) {
      for (auto [layer, target] : targetLayers)
        if (layer.first == move.getCacheAttr())
          return refuseWrite(op, target,
                             "mtp.commit moves those that it accepts");
    }
    return WalkResult::advance();
  });
  return failure(walked.wasInterrupted());
}

void VerifyEntriesPass::runOnOperation() {
  targetLayers.clear();
  for (Operation &op : *getOperation().getBody())
    if (isa<RoundOp, PrefillOp>(op))
      op.walk([&](VerifyOp verify) {
        verify.walk([&](Operation *inner) {
          if (auto layer = layerOf(inner))
            targetLayers.try_emplace(*layer, inner);
        });
      });
  for (Operation &op : *getOperation().getBody())
    if (isa<RoundOp, PrefillOp>(op) &&
        (failed(verify(&op)) || failed(verifyWrites(&op))))
      return signalPassFailure();
  if (failed(verifyRecurrences(getOperation())))
    return signalPassFailure();
  markAllAnalysesPreserved();
}
