//===- ExpandVerify.cpp - mtp.verify as core ops --------------------------===//
//
// In a round the target's rows are the anchor and the drafts, at positions n to
// n + k; in a prefill they are the chunk's.
//
// A draft that is none, and what follows it, cannot be accepted, and of a slot
// whose sequence has ended nobody reads anything. Such rows are dead, and the
// region runs on packed rows. Who reads its results finds a slot's rows where
// the window has them, but for accept, which picks from packed logits.
//
// Where k changes no output, a slot may draft less than its round: the host
// writes how much into the state `draft_limit`, and drafts behind it are none
// from here on.
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"
#include "passes/round/NodeWalk.h"
#include "passes/round/RoundExpansion.h"
#include "runtime/schema/LoopWords.h"

namespace mlir::mtp {
#define GEN_PASS_DEF_EXPANDVERIFYPASS
#include "passes/Passes.h.inc"
} // namespace mlir::mtp

using namespace mlir;
using namespace mlir::mtp;
using Predicate = SlotBody::Predicate;

namespace {
struct ExpandVerifyPass
    : public mlir::mtp::impl::ExpandVerifyPassBase<ExpandVerifyPass> {
  using Base::Base;

  void runOnOperation() override;
};

/// The rows that the target runs over, and of each slot the drafts within its
/// limit and how many of them could be accepted; null where there are none.
struct TargetRows {
  Value tokens, rows, drafts, drafted;
};

/// Of every node of a slot how long the path to it is, -1 where it cannot be
/// accepted: behind a draft that is none nothing can. And how many can.
struct Depths {
  Value all, longest, count;
};

/// Writes the op in a round.
class RoundWriter {
public:
  /// Where the tree is static, `tree` are its nodes' parents; of a chain there
  /// are none.
  RoundWriter(VerifyOp op, ArrayRef<int64_t> tree)
      : op(op), e(op), k(*e.roundK()), tree(tree) {}

  void write();

private:
  bool isTree() { return op.getParents() || !tree.empty(); }
  Depths depthsOf(SlotBody &body, Value drafts);
  Depths depthsOfTree(SlotBody &body, Value drafts);
  Value limitDrafts(SlotBody &body, Value drafts);
  TargetRows writeWindow();
  bool feedsAccept(AcceptOp accept);
  void replaceResults(const TargetRows &target, PackOp pack,
                      SmallVector<Value> results);

  VerifyOp op;
  Expansion e;
  int64_t k;
  ArrayRef<int64_t> tree;
};
} // namespace

/// Whether a slot may draft less than its round: where the rule is exact, and
/// accepts the drafts that are verified. A host that finds no `draft_limit`
/// runs each request in rounds of its own k.
static bool isLimited(VerifyOp op) {
  auto accepts = op->getBlock()->getOps<AcceptOp>();
  return op.getDrafts() && !accepts.empty() &&
         !op->getParentOfType<ModuleOp>()->hasAttr(kCustomRuleAttr) &&
         llvm::all_of(accepts, [&](AcceptOp accept) {
           return accept.getRule() == AcceptRule::Exact &&
                  accept.getDrafts() == op.getDrafts();
         });
}

/// The drafts of a slot before its limit; -1 in place of the others.
Value RoundWriter::limitDrafts(SlotBody &body, Value drafts) {
  Value limit = body.load(states::kDraftLimit), none = body.constant(-1);
  return body.vector(k, [&](Value draft) {
    return body.select(body.compare(Predicate::slt, draft, limit),
                       body.element(drafts, draft), none);
  });
}

Depths RoundWriter::depthsOfTree(SlotBody &body, Value drafts) {
  Value parents = op.getParents() ? body.input(1) : parentsOf(body, tree);
  NodeWalk walk = walkNodes(body, k + 1, parents, [&](Value node, Value) {
    return body.compare(Predicate::sge, body.element(drafts, body.sub(node, 1)),
                        0);
  });
  Value one = body.constant(1), none = body.constant(0), count = none;
  for (int64_t node = 0; node <= k; ++node) {
    Value depth = body.element(walk.depths, body.constant(node));
    count = body.add(
        count, body.select(body.compare(Predicate::sge, depth, 0), one, none));
  }
  return {walk.depths, walk.longest, count};
}

Depths RoundWriter::depthsOf(SlotBody &body, Value drafts) {
  if (isTree())
    return depthsOfTree(body, drafts);
  Value none = body.constant(-1), longest = body.constant(0);
  SmallVector<Value> depths{longest};
  for (int64_t draft = 0; draft < k; ++draft) {
    Value isDraft =
        body.both(body.compare(Predicate::sge, body.element(drafts, draft), 0),
                  body.compare(Predicate::sge, depths.back(), 0));
    depths.push_back(body.select(isDraft, body.constant(draft + 1), none));
    longest = body.max(longest, depths.back());
  }
  return {body.vector(depths), longest, body.add(longest, 1)};
}

/// Adds the slot's rows that live to those of the rounds before, if it runs.
static void addRows(SlotBody &body, Value count, Value runs) {
  Value word = body.constant(::mtp::kLoopRows);
  Value before = body.load(states::kLoop, word);
  Value rows = body.select(runs, count, body.constant(0));
  body.store(body.add(before, rows), states::kLoop, word);
}

TargetRows RoundWriter::writeWindow() {
  for (llvm::StringRef state :
       {states::kLength, states::kAccepted, states::kWindow})
    useState(e.module, state);
  bool limits = isLimited(op);
  if (limits)
    useState(e.module, states::kDraftLimit);
  Value drafts = op.getDrafts();
  SmallVector<Value> inputs;
  for (Value input : {drafts, Value(op.getParents())})
    if (input)
      inputs.push_back(input);
  SlotBody body(e.builder, e.loc, "window", e.slots(), inputs);
  Value n = body.load(states::kLength), own;
  if (drafts)
    own = limits ? limitDrafts(body, body.input(0)) : body.input(0);
  SmallVector<Value> tokens{
      body.load(states::kWindow, body.load(states::kAccepted))};
  for (int64_t draft = 0; draft < k; ++draft)
    tokens.push_back(body.element(own, draft));
  SmallVector<Value> window{body.vector(tokens), body.vector(k + 1, [&](Value) {
                              return body.slot();
                            })};
  if (drafts) {
    useState(e.module, states::kLoop);
    Depths depths = depthsOf(body, own);
    Value ended = body.load(states::kLoop, body.constant(::mtp::kLoopEnded));
    Value runs = body.compare(Predicate::eq, ended, 0);
    addRows(body, depths.count, runs);
    window.push_back(body.vector(k + 1, [&](Value row) {
      Value isLive = body.both(
          runs, body.compare(Predicate::sge, body.element(depths.all, row), 0));
      return body.select(isLive, body.add(n, row), body.constant(-1));
    }));
    window.push_back(depths.longest);
    if (limits)
      window.push_back(own);
  } else {
    window.push_back(body.vector(n));
  }
  ValueRange made = body.yield(window);
  return {e.byRow(made[0]), e.makeRows(e.byRow(made[1]), e.byRow(made[2])),
          limits ? Value(made[4]) : drafts, drafts ? Value(made[3]) : Value()};
}

/// Whether a region makes what it yields of its arguments row by row, so that
/// these may be any rows: it captures nothing that has rows, and groups none by
/// slots.
static bool goesByRows(Region &region) {
  Block *around = region.getParentOp()->getBlock();
  auto hasRows = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return isa<RowsType>(type) ||
           (tensor && tensor.getRank() > 0 && tensor.isDynamicDim(0));
  };
  WalkResult walked = region.walk([&](Operation *inner) {
    bool isBySlot = isa<SlotsOp, RegroupOp, ProbabilitiesOp>(inner);
    bool captures = llvm::any_of(inner->getOperands(), [&](Value operand) {
      return operand.getParentBlock() == around && hasRows(operand.getType());
    });
    return isBySlot || captures ? WalkResult::interrupt()
                                : WalkResult::advance();
  });
  return !walked.wasInterrupted();
}

/// Whether nobody but `accept` reads logits and rows, and any rows will do.
bool RoundWriter::feedsAccept(AcceptOp accept) {
  auto isAccept = [&](Operation *user) { return user == accept; };
  return accept.getLogits() == op.getResult(0) && op.getRows() &&
         accept.getRows() == op.getRows() && !accept.seesPaths() &&
         goesByRows(accept.getBodyRegion()) &&
         llvm::all_of(op.getResult(0).getUsers(), isAccept) &&
         llvm::all_of(op.getRows().getUsers(), isAccept);
}

void RoundWriter::replaceResults(const TargetRows &target, PackOp pack,
                                 SmallVector<Value> results) {
  auto accepts = op->getBlock()->getOps<AcceptOp>();
  if (!accepts.empty() && feedsAccept(*accepts.begin())) {
    // It knows how to tell by the rows.
    op.getResult(0).replaceAllUsesWith(results[0]);
    op.getRows().replaceAllUsesWith(pack.getPacked());
  }
  for (auto [i, result] : llvm::enumerate(results))
    if (!op.getResult(i).use_empty())
      result = UnpackOp::create(e.builder, e.loc, result.getType(), result,
                                pack.getPlaces());
  if (op.getRows())
    results.push_back(target.rows);
  op.replaceAllUsesWith(results);
}

void RoundWriter::write() {
  TargetRows target = writeWindow();
  for (auto accept : op->getBlock()->getOps<AcceptOp>())
    if (op.getDrafts() && accept.getDrafts() == op.getDrafts())
      accept.getDraftsMutable().assign(target.drafts);
  e.output("tokens", target.tokens);
  if (target.drafted)
    e.output(kDraftedOutput, target.drafted);
  if (isTree())
    target.rows =
        TreeRowsOp::create(e.builder, e.loc, target.rows, op.getParents(),
                           tree.empty() ? DenseI64ArrayAttr()
                                        : e.builder.getDenseI64ArrayAttr(tree));
  PackOp pack;
  Value tokens = target.tokens, rows = target.rows;
  if (target.drafted && goesByRows(op.getBodyRegion())) {
    pack = PackOp::create(e.builder, e.loc, rows, tokens);
    rows = pack.getPacked();
    tokens = pack.getPackedTokens();
    e.output(kPlacesOutput, pack.getPlaces());
  }
  SmallVector<Value> results =
      e.inlineRegion(op.getBodyRegion(), {tokens, rows});
  e.output("logits", results[0]);
  if (pack)
    return replaceResults(target, pack, results);
  if (op.getRows())
    results.push_back(rows);
  op.replaceAllUsesWith(results);
}

static LogicalResult expandInRound(VerifyOp op) {
  int64_t k = *Expansion(op).roundK();
  if (failed(checkDrafts(op, k, op.getDrafts(), op.getTree(), op.getParents())))
    return failure();
  // A smaller k is the first nodes: parents come before their children.
  ArrayRef<int64_t> tree;
  if (op.getTree())
    tree = op.getTree()->take_front(k + 1);
  RoundWriter(op, tree).write();
  op.erase();
  return success();
}

static void expandInPrefill(VerifyOp op) {
  Expansion e(op);
  auto type =
      cast<RankedTensorType>(op.getBodyRegion().getArgument(0).getType());
  auto prompt = PromptRowsOp::create(e.builder, e.loc, type,
                                     RowsType::get(op.getContext()));
  SmallVector<Value> results = e.inlineRegion(
      op.getBodyRegion(), {prompt.getTokens(), prompt.getRows()});
  if (op.getRows())
    results.push_back(prompt.getRows());
  op.replaceAllUsesWith(results);
  op.erase();
}

static LogicalResult expand(VerifyOp op) {
  if (Expansion(op).roundK())
    return expandInRound(op);
  expandInPrefill(op);
  return success();
}

void ExpandVerifyPass::runOnOperation() {
  if (failed(expandInstantiated<VerifyOp>(getOperation(), numExpanded, expand)))
    signalPassFailure();
}
