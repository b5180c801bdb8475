//===- ExpandCommit.cpp - mtp.commit as core ops --------------------------===//
//
// A commit writes the states that the readable ops of the module and the host
// read. In a prefill it starts the slots whose prompts end.
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"
#include "passes/round/RoundExpansion.h"
#include "passes/round/RuleFlags.h"
#include "passes/support/Calls.h"
#include "passes/support/RowsPerSlot.h"
#include "runtime/schema/LogitRules.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::mtp {
#define GEN_PASS_DEF_EXPANDCOMMITPASS
#include "passes/Passes.h.inc"
} // namespace mlir::mtp

using namespace mlir;
using namespace mlir::mtp;
using Predicate = SlotBody::Predicate;

namespace {
struct ExpandCommitPass
    : public mlir::mtp::impl::ExpandCommitPassBase<ExpandCommitPass> {
  using Base::Base;

  void runOnOperation() override;
};
} // namespace

static void useOutputs(ModuleOp module) {
  for (llvm::StringRef state :
       {states::kLength, states::kOutTokens, states::kOutCount})
    useState(module, state);
}

/// Stores a token of the output, and of the window if rounds read it.
static void storeToken(ModuleOp module, SlotBody &body, Value token,
                       Value place) {
  body.store(token, states::kOutTokens, place);
  if (hasState(module, states::kWindow))
    body.store(token, states::kWindow, place);
}

static void storeAccepted(ModuleOp module, SlotBody &body, Value count) {
  if (hasState(module, states::kAccepted))
    body.store(count, states::kAccepted);
}

/// Counts a token of the output. -1, which ends its sequence with an error,
/// counts as token 0.
static void countToken(SlotBody &body, Value token) {
  constexpr int64_t kStep = ::mtp::kCountOfOutput;
  token = body.max(token, body.constant(0));
  Value word = body.quotient(token, 2);
  Value counts = body.load(states::kTokenCounts, word);
  Value isLower = body.compare(Predicate::eq, body.rem(token, 2), 0);
  Value count = body.select(isLower, body.rem(counts, ::mtp::kCountValues),
                            body.quotient(counts, ::mtp::kCountValues));
  Value step = body.select(isLower, body.constant(kStep),
                           body.constant(kStep * ::mtp::kCountValues));
  step = body.select(
      body.compare(Predicate::slt, count, kStep * ::mtp::kMostCounted), step,
      body.constant(0));
  body.store(body.add(counts, step), states::kTokenCounts, word);
}

static void writeHidden(Expansion &e, Value hidden, Value index) {
  if (hasState(e.module, states::kHidden))
    WriteStateOp::create(e.builder, e.loc, hidden, index, states::kHidden,
                         e.slots());
}

//===----------------------------------------------------------------------===//
// Hidden states for drafters to catch up
//===----------------------------------------------------------------------===//

/// Returns the declaration of the last hidden states; null if no op needs them.
static StateOp recentOf(ModuleOp module) {
  return module.lookupSymbol<StateOp>(states::kRecentHidden);
}

static int64_t rowsOf(StateOp recent) {
  return recent.getExtentSizes().front();
}

/// Keeps the hidden states of the rows that a round commits. `rows` has the
/// indices of the path's rows per slot; if null, the rows are consecutive.
static void keepRecent(Expansion &e, Value hidden, Value count, Value rows) {
  StateOp recent = recentOf(e.module);
  if (!recent)
    return;
  int64_t size = rowsOf(recent);
  SmallVector<Value> inputs{count};
  if (rows)
    inputs.push_back(rows);
  SlotBody body(e.builder, e.loc, "recent", e.slots(), inputs);
  Value first = body.rem(body.load(states::kLength), size);
  Value own = body.mul(body.index(), e.roundNodes());
  Value index = body.vector(size, [&](Value place) {
    Value row = body.rem(body.sub(body.add(place, size), first), size);
    Value stays = body.compare(Predicate::sle, row, body.input(0));
    Value at = rows ? body.element(body.input(1), row) : body.add(own, row);
    return body.select(stays, at, body.constant(-1));
  });
  WriteStateOp::create(e.builder, e.loc, hidden, body.yield(index).front(),
                       states::kRecentHidden, e.slots());
}

/// Keeps the hidden states of a prompt's last rows, from which a drafter may
/// have to catch up.
static void keepRecentOfPrompt(Expansion &e, CommitOp op) {
  StateOp recent = recentOf(e.module);
  // Without drafting there is no catch-up.
  if (!recent || cast<PrefillOp>(op->getParentOp()).getK() == 0)
    return;
  int64_t size = rowsOf(recent), last = recent.getRebuildRows();
  SlotBody body(e.builder, e.loc, "recent", e.slots());
  Value end = sequenceWord(body, SequenceWord::Total);
  Value start = sequenceWord(body, SequenceWord::Start);
  Value count = sequenceWord(body, SequenceWord::Rows);
  Value first = sequenceWord(body, SequenceWord::FirstRow);
  Value newest = body.rem(body.sub(end, 1), size);
  Value index = body.vector(size, [&](Value place) {
    Value behind = body.rem(body.sub(body.add(newest, size), place), size);
    Value row = body.sub(body.sub(body.sub(end, 1), behind), start);
    Value inChunk = body.both(body.compare(Predicate::sge, row, 0),
                              body.compare(Predicate::slt, row, count));
    Value isLast = body.compare(Predicate::slt, behind, last);
    return body.select(body.both(inChunk, isLast), body.add(first, row),
                       body.constant(-1));
  });
  WriteStateOp::create(e.builder, e.loc, op.getHidden(),
                       body.yield(index).front(), states::kRecentHidden,
                       e.slots());
}

/// Returns the index of the kept row for the position of a row of a catch-up,
/// among `size` rows per sequence. Rows without a sequence get any index.
static Value keptRow(SlotBody &body, int64_t sequences, int64_t size) {
  Value row = body.index(), kept = body.constant(0);
  for (int64_t i = 0; i < sequences; ++i) {
    auto word = [&](SequenceWord which) {
      return body.load(states::kSequences,
                       {body.constant(int64_t(which)), body.constant(i)});
    };
    Value own = body.sub(row, word(SequenceWord::FirstRow));
    Value isOwn =
        body.both(body.compare(Predicate::sge, own, 0),
                  body.compare(Predicate::slt, own, word(SequenceWord::Rows)));
    Value place = body.rem(body.add(word(SequenceWord::Start), own), size);
    kept = body.select(isOwn, body.add(place, i * size), kept);
  }
  return kept;
}

/// Returns for each row of a catch-up the row that was kept for its position.
static LogicalResult expand(RecentHiddenOp op) {
  Expansion e(op);
  StateOp recent = recentOf(e.module);
  if (!recent || rowsOf(recent) < 1)
    return op.emitOpError("expected a state @")
           << states::kRecentHidden << ", found none";
  int64_t size = rowsOf(recent);
  auto tokens =
      RankedTensorType::get({ShapedType::kDynamic}, e.builder.getI32Type());
  auto prompt = PromptRowsOp::create(e.builder, e.loc, tokens,
                                     RowsType::get(op.getContext()));
  Value slots = RowSlotsOp::create(e.builder, e.loc, tokens, prompt.getRows());
  useState(e.module, states::kSequences);
  SlotBody body(e.builder, e.loc, "recent", slots);
  Value index =
      body.yield(keptRow(body, catchUpSequences(e.module), size)).front();
  Value kept = ReadStateOp::create(e.builder, e.loc, op.getType(),
                                   states::kRecentHidden, e.slots(), size);
  op.replaceAllUsesWith(e.gatherRows(kept, index));
  op.erase();
  return success();
}

//===----------------------------------------------------------------------===//
// Paths of trees
//===----------------------------------------------------------------------===//

namespace {
/// How entries of a tree were written to a cache.
struct TreeEntries {
  /// True if every node has an entry. Its position is the slot's length plus
  /// the node's number.
  bool ofAllNodes = false;
  /// The rows whose nodes have entries, at the places of the rows.
  llvm::SetVector<MakeTreeRowsOp> rows;
};
/// The caches with entries that a commit moves into place.
using TreeCaches = llvm::MapVector<Attribute, TreeEntries>;
} // namespace

static TreeCaches treeCaches(Block &round) {
  TreeCaches caches;
  auto note = [&](auto op) {
    Operation *rows = op.getRows().getDefiningOp();
    if (auto pack = dyn_cast_or_null<PackOp>(rows))
      rows = pack.getRows().getDefiningOp();
    auto made = dyn_cast_or_null<MakeTreeRowsOp>(rows);
    if (!op.getCacheAttr())
      return;
    if (isa_and_nonnull<TreeRowsOp>(rows))
      caches[op.getCacheAttr()].ofAllNodes = true;
    else if (made && !made.getRefreshed())
      caches[op.getCacheAttr()].rows.insert(made);
  };
  for (Operation &op : round)
    llvm::TypeSwitch<Operation *>(&op)
        .Case<AttentionOp, MlaAttentionOp, CacheAppendOp>(note);
  return caches;
}

/// Checks that the rows of a tree are not passed to a function, since the
/// caches that it writes would be unknown.
static LogicalResult checkInlined(Block &round) {
  for (Operation &op : round)
    if (getCallee(&op) && llvm::any_of(op.getOperands(), [](Value operand) {
          return isa_and_nonnull<TreeRowsOp, MakeTreeRowsOp, PackOp>(
              operand.getDefiningOp());
        }))
      return op.emitOpError(
          "expected no call that takes the rows of a tree, is "
          "mtp-inline-layers missing before this pass?");
  return success();
}

/// Moves the entries of the path from the places in `rows` to their positions.
/// Entries of other nodes may never have been written. A row's node is its
/// index in its window.
static LogicalResult moveRows(Expansion &e, CommitOp op,
                              FlatSymbolRefAttr cache,
                              ArrayRef<MakeTreeRowsOp> rows) {
  SmallVector<Value> inputs{op.getPath()};
  SmallVector<int64_t> counts;
  for (MakeTreeRowsOp some : rows) {
    std::optional<int64_t> count =
        rowsPerSlot(some.getPlaces(), e.roundNodes());
    if (!count)
      return some.emitOpError("expected places in groups of a slot, whose "
                              "entries a commit moves");
    counts.push_back(*count);
    for (Value each : {some.getPlaces(), some.getPositions(), some.getRoots()})
      inputs.push_back(e.bySlot(each, *count));
  }
  SlotBody body(e.builder, e.loc, "path", e.slots(), inputs);
  enum : int64_t { Place, Position, Root };
  auto along = [&](int64_t which) {
    return body.vector(*e.roundK() + 1, [&](Value place) {
      Value node = body.element(body.input(0), place);
      Value entry = body.constant(-1);
      for (auto [i, count] : llvm::enumerate(counts))
        for (int64_t row = 0; row < count; ++row) {
          auto of = [&](int64_t what) {
            return body.element(body.input(1 + 3 * i + what), row);
          };
          Value own = body.sub(of(Place), of(Root));
          Value isNode = body.both(body.compare(Predicate::eq, node, own),
                                   body.compare(Predicate::sge, of(Place), 0));
          entry = body.select(isNode, of(which), entry);
        }
      return entry;
    });
  };
  ValueRange moved = body.yield({along(Place), along(Position)});
  CacheMoveOp::create(e.builder, e.loc, moved[0], moved[1], e.slots(), cache);
  return success();
}

/// Moves the entries of the path into place. Returns the rows of the path, -1
/// after its end. `places` holds the indices of a slot's rows if they are
/// packed.
static FailureOr<Value> movePath(Expansion &e, CommitOp op, Value places) {
  SmallVector<Value> inputs{op.getPath()};
  if (places)
    inputs.push_back(places);
  SlotBody body(e.builder, e.loc, "path", e.slots(), inputs);
  Value n = body.load(states::kLength), none = body.constant(-1);
  auto along = [&](llvm::function_ref<Value(Value, Value)> value) {
    return body.vector(*e.roundK() + 1, [&](Value place) {
      Value node = body.element(body.input(0), place);
      return body.select(body.compare(Predicate::sge, node, 0),
                         value(place, node), none);
    });
  };
  Value first = body.mul(body.index(), e.roundNodes());
  ValueRange moved =
      body.yield({along([&](Value, Value node) { return body.add(n, node); }),
                  along([&](Value place, Value) { return body.add(n, place); }),
                  along([&](Value, Value node) {
                    return places ? body.element(body.input(1), node)
                                  : body.add(first, node);
                  })});
  for (auto &[name, entries] : treeCaches(*op->getBlock())) {
    auto cache = cast<FlatSymbolRefAttr>(name);
    if (entries.ofAllNodes)
      CacheMoveOp::create(e.builder, e.loc, moved[0], moved[1], e.slots(),
                          cache);
    else if (failed(moveRows(e, op, cache, entries.rows.getArrayRef())))
      return failure();
  }
  return moved[2];
}

//===----------------------------------------------------------------------===//
// Commits
//===----------------------------------------------------------------------===//

/// Checks that a round commits a path: the anchor and up to k drafts.
static LogicalResult checkWidths(CommitOp op, int64_t k) {
  for (Value grid : {op.getPicks(), op.getPath()})
    if (grid && widthOf(grid) != k + 1)
      return op.emitOpError("expected ")
             << k + 1 << " picks and nodes per slot, got " << grid.getType();
  return success();
}

static LogicalResult expandInRound(CommitOp op) {
  Expansion e(op);
  useOutputs(e.module);
  int64_t k = *e.roundK();
  if (failed(checkWidths(op, k)))
    return failure();
  if (op.getPath() && failed(checkInlined(*op->getBlock())))
    return failure();
  // Read hidden states directly from the packed rows.
  Value hidden = op.getHidden(), rows;
  if (auto unpack = hidden.getDefiningOp<UnpackOp>()) {
    hidden = unpack.getX();
    rows = e.bySlot(unpack.getPlaces(), e.roundNodes());
  }
  if (op.getPath()) {
    FailureOr<Value> moved = movePath(e, op, rows);
    if (failed(moved))
      return failure();
    rows = *moved;
    e.output("path", op.getPath());
  }
  keepRecent(e, hidden, op.getCount(), rows);
  SlotBody body(e.builder, e.loc, "commit", e.slots(),
                {op.getCount(), op.getPicks()});
  Value count = body.input(0), picks = body.input(1);
  Value emitted = body.add(count, 1);
  body.store(body.add(body.load(states::kLength), emitted), states::kLength);
  body.store(emitted, states::kOutCount);
  storeAccepted(e.module, body, count);
  body.repeat(k + 1, {}, [&](Value j, ValueRange) -> SmallVector<Value> {
    storeToken(e.module, body, body.element(picks, j), j);
    return {};
  });
  if (hasState(e.module, states::kTokenCounts))
    body.when(hasRule(body, ::mtp::kRulePenalties), [&] {
      body.repeat(k + 1, {}, [&](Value j, ValueRange) -> SmallVector<Value> {
        body.when(body.compare(Predicate::slt, j, emitted),
                  [&] { countToken(body, body.element(picks, j)); });
        return {};
      });
    });
  body.yield({});
  writeHidden(e, hidden, rows);
  op.erase();
  return success();
}

static void expandInPrefill(CommitOp op) {
  Expansion e(op);
  useOutputs(e.module);
  useState(e.module, states::kSequences);
  Value token = e.byRow(op.getPicks());
  SlotBody body(e.builder, e.loc, "commit", e.slots(), token);
  Value start = sequenceWord(body, SequenceWord::Start);
  Value rows = sequenceWord(body, SequenceWord::Rows);
  Value total = sequenceWord(body, SequenceWord::Total);
  Value zero = body.constant(0);
  Value isWhole = body.compare(Predicate::eq, body.add(start, rows), total);
  Value first = body.input(0);
  // After a preemption the anchor is a token that a round put out before, since
  // a rule's tokens may differ from the target's picks.
  if (hasState(e.module, states::kKnown)) {
    Value known = body.load(states::kKnown, total);
    Value isKnown = body.compare(Predicate::sge, known, 0);
    first = body.select(isKnown, known, first);
  }
  body.when(isWhole, [&] {
    body.store(total, states::kLength);
    body.store(body.constant(1), states::kOutCount);
    storeAccepted(e.module, body, zero);
    storeToken(e.module, body, first, zero);
    if (hasState(e.module, states::kTokenCounts))
      body.when(hasRule(body, ::mtp::kRulePenalties),
                [&] { countToken(body, first); });
  });
  Value last =
      body.sub(body.add(sequenceWord(body, SequenceWord::FirstRow), rows), 1);
  writeHidden(e, op.getHidden(), body.yield(last).front());
  keepRecentOfPrompt(e, op);
  op.erase();
}

static LogicalResult expand(CommitOp op) {
  if (!isa<PrefillOp>(op->getParentOp()))
    return expandInRound(op);
  expandInPrefill(op);
  return success();
}

void ExpandCommitPass::runOnOperation() {
  ModuleOp module = getOperation();
  if (failed(expandInstantiated<CommitOp>(
          module, numExpanded, [](CommitOp op) { return expand(op); })) ||
      failed(expandInstantiated<RecentHiddenOp>(
          module, numExpanded, [](RecentHiddenOp op) { return expand(op); })))
    signalPassFailure();
}
