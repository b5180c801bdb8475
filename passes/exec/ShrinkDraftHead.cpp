//===- ShrinkDraftHead.cpp - Draft from a part of the vocabulary ----------===//
//
// A draft is picked from the head's logits, and the head of a large vocabulary
// is most of the memory that a small drafter streams. A head over the rows of
// frequent tokens only is right nearly as often. Verification uses the whole
// head, so the output does not change. (FR-Spec, Zhao et al., 2025,
// arXiv:2502.14856.)
//
//   linear(x, head) -> sample           becomes
//   linear(x, head picks @draft_vocabulary)
//     -> sample of the vocabulary's tokens
//
// Drafts are the picks of a round that the host does not receive. A sampled
// pick needs the map itself, since the noise of a column is the noise of its
// token. An `argmax` is followed by a look-up. Siblings are the best of a row's
// keys, or are picked from the logits that a `mask_tokens` leaves, which gets
// the column of the token picked before. If a draft's probability is needed,
// too, an `argmax` is the best of the logits (`top_k`), and its probability is
// relative to the columns of the small head.
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/IR/ExecOps.h"
#include "passes/Passes.h"
#include "passes/exec/UnmodifiedLmHead.h"
#include "passes/support/DraftTokens.h"
#include "passes/support/Logits.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::mtp {
#define GEN_PASS_DEF_SHRINKDRAFTHEADPASS
#include "passes/Passes.h.inc"
} // namespace mlir::mtp

using namespace mlir;
using namespace mlir::exec;

namespace {

/// Takes rules of logits out while draft heads are found and shrunk, so that
/// picks are direct readers of a head.
class DraftRules {
public:
  /// Takes out the rules of all drafts.
  explicit DraftRules(ModuleOp module);

  /// Puts the rules back. If a head has become smaller, its columns stand for
  /// the tokens of the table that `makeTable` creates a reference to.
  void restore(llvm::function_ref<Value(OpBuilder &, Location)> makeTable);

private:
  struct Rules {
    /// Operands of the call.
    Value logits, slots, positions, rules, counts, bias, tokens;
    Location loc;
    /// Readers of the changed logits, and their operand numbers.
    SmallVector<std::pair<Operation *, unsigned>> readers;
    int64_t columns;
  };
  SmallVector<Rules> rules;
};

} // namespace

DraftRules::DraftRules(ModuleOp module) {
  module.walk([&](ProcessLogitsOp process) {
    if (!process.getDraft())
      return;
    Value changed = process.getY();
    Rules own{process.getLogits(), process.getSlots(),  process.getPositions(),
              process.getRules(),  process.getCounts(), process.getBias(),
              process.getTokens(), process.getLoc(),    {},
              columnsOf(changed)};
    for (OpOperand &use : changed.getUses())
      own.readers.emplace_back(use.getOwner(), use.getOperandNumber());
    changed.replaceAllUsesWith(own.logits);
    process.erase();
    // Rules without readers change nothing.
    if (!own.readers.empty())
      rules.push_back(std::move(own));
  });
}

void DraftRules::restore(
    llvm::function_ref<Value(OpBuilder &, Location)> makeTable) {
  auto isBefore = [](auto &a, auto &b) {
    return a.first->isBeforeInBlock(b.first);
  };
  Value none;
  for (const Rules &own : rules) {
    OpBuilder builder(llvm::min_element(own.readers, isBefore)->first);
    bool isSmaller = columnsOf(own.logits) != own.columns;
    Value tokens = isSmaller ? makeTable(builder, own.loc) : own.tokens;
    auto process = ProcessLogitsOp::create(
        builder, own.loc, own.logits.getType(), /*ranked=*/TypeRange(),
        /*best=*/none, /*columns=*/none, own.logits, own.slots, own.positions,
        /*places=*/none, /*path=*/none, /*length=*/none, own.rules, own.counts,
        own.bias, /*masks=*/none, tokens, /*depth=*/0, /*draft=*/true);
    for (auto [reader, operand] : own.readers)
      reader->setOperand(operand, process.getY());
  }
}

namespace {

/// The calls that pick drafts from a head's logits, and its weight.
struct DraftHead {
  LinearOp linear;
  SmallVector<Operation *> picks;
  SmallVector<MaskTokensOp> excludes;
  /// Keys whose best columns are drafts.
  SmallVector<SampleKeysOp> keys;
  RefOp ref;
  exec::WeightOp weight;
  /// The reason why the head is not shrunk, and the op responsible; null if the
  /// head is shrunk.
  llvm::StringRef reason;
  Operation *reader = nullptr;
};

struct ShrinkDraftHeadPass
    : public mlir::mtp::impl::ShrinkDraftHeadPassBase<ShrinkDraftHeadPass> {
  using Base::Base;

  void runOnOperation() override;

private:
  LogicalResult checkTokens(exec::WeightOp head);
  ConstantOp constant(llvm::StringRef name, ArrayRef<int32_t> numbers,
                      exec::WeightOp head);
  exec::WeightOp smallHead(exec::WeightOp head);
  void mapPick(Operation *pick);
  void mapMaskTokens(MaskTokensOp exclude);
  void mapKeys(SampleKeysOp keys);
  LogicalResult shrink(const DraftHead &head);
  void warn(const DraftHead &head);

  int64_t size() const { return int64_t(tokens.size()); }

  /// The token of each column and, if siblings are drafted, the column of each
  /// token.
  ConstantOp vocabulary, columns;
  /// The small head of each head.
  llvm::DenseMap<Operation *, exec::WeightOp> smallHeads;
  /// Locations of reported heads. The round of each k has a copy of a head, but
  /// one report suffices.
  llvm::DenseSet<Location> reported;
};

} // namespace

/// Returns whether `user` picks tokens by the columns of `logits`.
static bool isPick(Operation *user, Value logits) {
  if (isa<ArgmaxOp>(user))
    return true;
  if (auto best = dyn_cast<TopKOp>(user))
    return best.getX() == logits && !best.getSums();
  auto sample = dyn_cast<SampleOp>(user);
  return sample && !sample.getTokens() && sample.getLogits() == logits;
}

/// Returns the keys of `logits` if `user` makes them or their probabilities;
/// null if they have readers other than the choice of the best.
static SampleKeysOp findKeys(Operation *user, Value logits) {
  if (auto p = dyn_cast<ProbabilitiesOp>(user); p && p.getY().hasOneUse())
    user = *p.getY().user_begin();
  auto keys = dyn_cast<SampleKeysOp>(user);
  bool isOwn = keys && keys.getX() == logits && !keys.getTokens() &&
               keys.getP().hasOneUse() &&
               keys.getP().getDefiningOp<ProbabilitiesOp>() &&
               keys.getP().getDefiningOp<ProbabilitiesOp>().getX() == logits;
  return isOwn &&
                 llvm::all_of(keys->getUsers(), llvm::IsaPred<TopKOp, ArgmaxOp>)
             ? keys
             : SampleKeysOp();
}

/// Returns whether `columns` are looked up in a constant, the tokens of a head
/// with a vocabulary of its own.
static bool areLookedUp(Value columns) {
  return llvm::any_of(columns.getUsers(), [](Operation *user) {
    if (auto reshape = dyn_cast<ReshapeOp>(user))
      return areLookedUp(reshape.getResult());
    auto lookUp = dyn_cast<GatherRowsOp>(user);
    auto ref = lookUp ? lookUp->getOperand(0).getDefiningOp<RefOp>() : RefOp();
    return ref && SymbolTable::lookupNearestSymbolFrom<ConstantOp>(
                      lookUp, ref.getResourceAttr());
  });
}

/// Returns whether the tokens of `user`, a reader of logits, are the tokens of
/// a head with a vocabulary of its own.
static bool hasOwnVocabulary(Operation *user) {
  if (isa<ProbabilitiesOp>(user))
    return llvm::any_of(user->getUsers(), [](Operation *keys) {
      return isa<SampleKeysOp>(keys) && hasOwnVocabulary(keys);
    });
  if (auto sample = dyn_cast<SampleOp>(user))
    return bool(sample.getTokens());
  if (auto keys = dyn_cast<SampleKeysOp>(user))
    return bool(keys.getTokens());
  return isa<ArgmaxOp, TopKOp>(user) && areLookedUp(user->getResult(0));
}

static bool goesToHost(Operation *op) {
  return llvm::any_of(op->getUsers(), [](Operation *user) {
    return isa<OutputOp>(user) || (isa<ReshapeOp>(user) && goesToHost(user));
  });
}

/// Follows the logits of `head` to all readers, including siblings and ops that
/// make new logits from them. Returns whether only drafts are picked, from the
/// model's vocabulary: none of these values goes to the host.
static bool findPicks(DraftHead &head) {
  llvm::SetVector<Value> pending;
  pending.insert(head.linear.getY());
  for (size_t i = 0; i < pending.size(); ++i) {
    Value logits = pending[i];
    for (Operation *user : logits.getUsers()) {
      auto exclude = dyn_cast<MaskTokensOp>(user);
      if (hasOwnVocabulary(user))
        return false;
      if (isPick(user, logits)) {
        if (isa<TopKOp>(user)
                ? goesToHost(user)
                : llvm::any_of(user->getUsers(), llvm::IsaPred<OutputOp>))
          return false;
        head.picks.push_back(user);
      } else if (SampleKeysOp keys = findKeys(user, logits)) {
        if (llvm::any_of(keys->getUsers(), goesToHost))
          return false;
        if (user == keys)
          head.keys.push_back(keys);
      } else if (exclude) {
        head.excludes.push_back(exclude);
        pending.insert(exclude.getY());
      } else if (isa<OutputOp>(user)) {
        return false;
      } else {
        head.reason = "its logits are read by more than picks";
        head.reader = user;
        for (OpResult result : user->getResults())
          if (mlir::mtp::passesLogits(logits, result))
            pending.insert(result);
      }
    }
  }
  return !head.picks.empty() || !head.keys.empty();
}

/// Returns the draft head of `linear`, if it is one.
static std::optional<DraftHead> findHead(LinearOp linear,
                                         SymbolTable &symbols) {
  if (!linear.isHead())
    return std::nullopt;
  DraftHead head;
  head.linear = linear;
  if (!findPicks(head))
    return std::nullopt;
  head.ref = linear.getWeight().getDefiningOp<RefOp>();
  if (head.ref)
    head.weight = symbols.lookup<exec::WeightOp>(head.ref.getResource());
  bool isPlain =
      mlir::mtp::findUnmodifiedLmHead(linear.getY()) && !linear.getBias();
  if (!isPlain || !head.weight || !isa<PanelsAttr>(head.weight.getLayout()) ||
      head.weight.getStack() != 1 || head.weight.getSources().size() != 1) {
    head.reason = "it is no plain product of one weight";
    head.reader = linear;
  }
  return head;
}

LogicalResult ShrinkDraftHeadPass::checkTokens(exec::WeightOp head) {
  int64_t vocabularySize = head.getN();
  for (int32_t token : tokens) {
    if (token < 0 || token >= vocabularySize) {
      return head.emitOpError("expected tokens of the draft vocabulary below ")
             << vocabularySize << ", got " << token;
    }
  }
  if (size() >= vocabularySize) {
    return head.emitOpError("expected a draft vocabulary smaller than the "
                            "vocabulary of ")
           << vocabularySize << ", got " << size() << " tokens";
  }
  return success();
}

/// Creates a constant with one column of numbers, next to `head`.
ConstantOp ShrinkDraftHeadPass::constant(llvm::StringRef name,
                                         ArrayRef<int32_t> numbers,
                                         exec::WeightOp head) {
  OpBuilder builder(head);
  auto made =
      ConstantOp::create(builder, head.getLoc(), name,
                         mlir::mtp::columnTable(&getContext(), numbers));
  SymbolTable(getOperation()).insert(made);
  return made;
}

exec::WeightOp ShrinkDraftHeadPass::smallHead(exec::WeightOp head) {
  exec::WeightOp &small = smallHeads[head];
  if (small)
    return small;
  OpBuilder builder(head);
  SmallVector<int32_t> all(tokens.begin(), tokens.end());
  if (!vocabulary)
    vocabulary = constant("draft_vocabulary", all, head);
  small = cast<exec::WeightOp>(builder.clone(*head));
  small.setSymName((head.getSymName() + "_draft").str());
  small.setN(size());
  small.setPicks(vocabulary.getSymName());
  SymbolTable(getOperation()).insert(small);
  return small;
}

/// Returns a reference to a table of numbers.
static Value refTable(OpBuilder &builder, Location loc, ConstantOp table) {
  int64_t rows = table.getValue().getShapedType().getShape().front();
  return RefOp::create(builder, loc,
                       MemRefType::get({rows, 1}, builder.getI32Type()),
                       table.getSymName(), /*layer=*/0);
}

/// Replaces a pick by the token of the picked column.
static void lookUpPick(Operation *pick, Value table) {
  OpBuilder builder(pick->getContext());
  builder.setInsertionPointAfter(pick);
  Value picked = pick->getResult(0);
  Value token =
      mlir::mtp::lookUpColumns(builder, pick->getLoc(), table, picked);
  picked.replaceAllUsesExcept(token, token.getDefiningOp());
}

/// Replaces the best columns by their tokens.
static void lookUpBest(TopKOp top, Value table) {
  OpBuilder builder(top->getContext());
  builder.setInsertionPointAfter(top);
  Location loc = top.getLoc();
  Value best = top.getColumns();
  auto numbers = RankedTensorType::get({0}, builder.getI32Type());
  Value flat = ReshapeOp::create(builder, loc,
                                 withRows(numbers, *elementsOf(best)), best);
  Value token = mlir::mtp::lookUpColumns(builder, loc, table, flat);
  Value back = ReshapeOp::create(builder, loc, best.getType(), token);
  best.replaceAllUsesExcept(back, flat.getDefiningOp());
}

// The pick sees columns of the small head, which are rows of the vocabulary.
void ShrinkDraftHeadPass::mapPick(Operation *pick) {
  OpBuilder builder(pick);
  Location loc = pick->getLoc();
  Value table = refTable(builder, loc, vocabulary);
  if (auto sample = dyn_cast<SampleOp>(pick)) {
    sample.getTokensMutable().assign(table);
    return;
  }
  if (auto top = dyn_cast<TopKOp>(pick))
    return lookUpBest(top, table);
  lookUpPick(pick, table);
}

// The op gets a token and excludes a column.
void ShrinkDraftHeadPass::mapMaskTokens(MaskTokensOp exclude) {
  OpBuilder builder(exclude);
  Location loc = exclude.getLoc();
  Value table = refTable(builder, loc, columns);
  exclude.getTokensMutable().set(
      mlir::mtp::lookUpColumns(builder, loc, table, exclude.getTokens()));
}

/// Gives logits the columns of the small head.
static void setColumns(Value logits, int64_t count) {
  auto type = cast<RankedTensorType>(logits.getType());
  logits.setType(type.clone({type.getDimSize(0), count}));
}

// The noise of the keys is the noise of tokens, to which the best columns are
// mapped.
void ShrinkDraftHeadPass::mapKeys(SampleKeysOp keys) {
  setColumns(keys.getP(), size());
  setColumns(keys.getKeys(), size());
  OpBuilder builder(keys);
  Location loc = keys.getLoc();
  Value table = refTable(builder, loc, vocabulary);
  keys.getTokensMutable().assign(table);
  llvm::SmallDenseSet<Operation *> users(keys->user_begin(), keys->user_end());
  for (Operation *user : users)
    if (auto top = dyn_cast<TopKOp>(user))
      lookUpBest(top, table);
    else
      lookUpPick(user, table);
}

LogicalResult ShrinkDraftHeadPass::shrink(const DraftHead &head) {
  if (failed(checkTokens(head.weight)))
    return failure();
  exec::WeightOp whole = head.weight, weight = smallHead(whole);
  if (!head.excludes.empty() && !columns) {
    // A token without a column excludes none.
    SmallVector<int32_t> table(whole.getN(), -1);
    for (auto [column, token] : llvm::enumerate(tokens))
      table[token] = int32_t(column);
    columns = constant("draft_columns", table, whole);
  }
  LinearOp linear = head.linear;
  OpBuilder builder(linear);
  RefOp ref = head.ref;
  auto weightRef =
      RefOp::create(builder, linear.getLoc(), weight.getPackedType(),
                    weight.getSymName(), /*layer=*/0);
  linear.getWeightMutable().set(weightRef);
  setColumns(linear.getY(), size());
  for (MaskTokensOp exclude : head.excludes) {
    setColumns(exclude.getY(), size());
    mapMaskTokens(exclude);
  }
  for (Operation *pick : head.picks)
    mapPick(pick);
  for (SampleKeysOp keys : head.keys)
    mapKeys(keys);
  if (ref->use_empty())
    ref.erase();
  ++numHeads;
  return success();
}

void ShrinkDraftHeadPass::warn(const DraftHead &head) {
  LinearOp linear = head.linear;
  if (!reported.insert(linear.getLoc()).second)
    return;
  InFlightDiagnostic diag =
      linear.emitWarning("this head drafts from the whole vocabulary, not from "
                         "the draft vocabulary's ")
      << size() << " tokens, since " << head.reason
      << "; a head that is to draft from few tokens can have a vocabulary of "
         "its own (mtp.vocabulary)";
  if (head.reader != linear)
    diag.attachNote(head.reader->getLoc()) << "they are read here";
}

void ShrinkDraftHeadPass::runOnOperation() {
  if (tokens.empty()) {
    getOperation().emitError(
        "expected tokens of the draft vocabulary, got none");
    return signalPassFailure();
  }
  DraftRules rules(getOperation());
  SymbolTable symbols(getOperation());
  SmallVector<DraftHead> heads;
  bool isAny = false;
  for (ProgramOp program : getOperation().getOps<ProgramOp>()) {
    if (program.getKind() != ProgramKind::Decode)
      continue;
    for (auto linear : program.getBody().getOps<LinearOp>())
      if (std::optional<DraftHead> head = findHead(linear, symbols))
        heads.push_back(std::move(*head));
  }
  for (const DraftHead &head : heads) {
    if (head.reader) {
      warn(head);
      continue;
    }
    isAny = true;
    if (failed(shrink(head)))
      return signalPassFailure();
  }
  if (!isAny) {
    getOperation().emitError("expected drafts that are picked from a head's "
                             "logits, found none to give a smaller vocabulary");
    return signalPassFailure();
  }
  rules.restore([&](OpBuilder &builder, Location loc) {
    return refTable(builder, loc, vocabulary);
  });
  // A head that was only used for drafts is not stored in full.
  for (auto &[head, small] : smallHeads)
    if (SymbolTable::symbolKnownUseEmpty(head, getOperation()))
      head->erase();
}
