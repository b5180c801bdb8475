//===- ExpandVerify.cpp - mtp.verify as core ops --------------------------===//
//
// In a round the target's rows are the anchor and the drafts, at places from n
// on; in a prefill they are the chunk's.
//
// A draft that is none, and what follows it, cannot be accepted, and of a slot
// whose sequence has ended nobody reads anything. Such rows are dead, and the
// region runs on packed rows. Who reads its results finds a slot's rows where
// the window has them, but for accept, which picks from packed logits.
//
// Where k changes no output, a slot may draft less than its round: the host
// writes the k that it has into the state `draft_limit`, and drafts that a
// round of that k has no node for are none from here on.
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"
#include "passes/round/NodeWalk.h"
#include "passes/round/RoundExpansion.h"
#include "runtime/schema/LoopWords.h"

#include <functional>

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

/// Of the nodes of a slot those that can be accepted: behind a draft that is
/// none nothing can.
struct LiveNodes {
  /// Whether a row's node is one.
  std::function<Value(int64_t)> lives;
  /// How long the longest path is, and how many nodes there are.
  Value longest, count;
  /// Of a tree that is the slot's own, of every node, -1 of one that is none.
  Value depths;
};

/// Writes the op in a round.
class RoundWriter {
public:
  /// Where the tree is static, `tree` are its nodes' parents; of a chain there
  /// are none.
  RoundWriter(VerifyOp op, ArrayRef<int64_t> tree)
      : op(op), e(op), k(*e.roundK()), nodes(e.roundNodes()), tree(tree) {}

  void write();

private:
  bool isTree() { return op.getParents() || !tree.empty(); }
  SmallVector<int64_t> leastK();
  SmallVector<Value> draftsOf(SlotBody &body, Value limit);
  LiveNodes knownNodes(SlotBody &body, ArrayRef<Value> drafts);
  LiveNodes computedNodes(SlotBody &body, ArrayRef<Value> drafts, Value most);
  LiveNodes findLive(SlotBody &body, MutableArrayRef<Value> drafts,
                     Value limit);
  Value positionsOf(SlotBody &body, const LiveNodes &live, Value n, Value runs);
  TargetRows writeWindow();
  bool feedsAccept(AcceptOp accept);
  void replaceResults(const TargetRows &target, PackOp pack, PackOp scored,
                      SmallVector<Value> results);
  Value promptSlots(Type type);
  Value chainOfPrompt(PromptRowsOp prompt);
  PackOp packScored(const TargetRows &target, PackOp pack);
  void writeWithPrompt(const TargetRows &target);

  VerifyOp op;
  Expansion e;
  int64_t k, nodes;
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

/// The k of the smallest round that has each of the nodes.
SmallVector<int64_t> RoundWriter::leastK() {
  auto envelope = e.module->getAttrOfType<EnvelopeAttr>(kEnvelopeAttr);
  SmallVector<int64_t> least;
  for (int64_t smaller = 0; smaller < k; ++smaller)
    least.resize(std::min(envelope.getNodes(smaller, op.getTree()), nodes),
                 smaller);
  least.resize(nodes, k);
  return least;
}

/// The drafts of a slot, -1 in place of those that its limit leaves out; the
/// limit may be null.
SmallVector<Value> RoundWriter::draftsOf(SlotBody &body, Value limit) {
  SmallVector<int64_t> least = leastK();
  Value none = body.constant(-1);
  SmallVector<Value> drafts;
  for (int64_t draft = 0; draft + 1 < nodes; ++draft) {
    Value token = body.element(body.input(0), draft);
    if (limit)
      token =
          body.select(body.compare(Predicate::sgt, limit, least[draft + 1] - 1),
                      token, none);
    drafts.push_back(token);
  }
  return drafts;
}

/// Of how many of `nodes` nodes `lives` holds.
static Value countNodes(SlotBody &body, int64_t nodes,
                        llvm::function_ref<Value(int64_t)> lives) {
  Value one = body.constant(1), none = body.constant(0), count = none;
  for (int64_t node = 0; node < nodes; ++node)
    count = body.add(count, body.select(lives(node), one, none));
  return count;
}

/// Of a tree that is the slot's own, at most `most` deep, which may be null.
LiveNodes RoundWriter::computedNodes(SlotBody &body, ArrayRef<Value> drafts,
                                     Value most) {
  Value tokens = body.vector(SmallVector<Value>(drafts));
  auto stays = [&](Value node, Value) {
    return body.compare(Predicate::sge, body.element(tokens, body.sub(node, 1)),
                        0);
  };
  NodeWalk walk = walkNodes(body, nodes, body.input(1), stays, most);
  auto lives = [&body, depths = walk.depths](int64_t node) {
    return body.compare(Predicate::sge, body.element(depths, node), 0);
  };
  Value one = body.constant(1), none = body.constant(0);
  auto addNode = [&](Value node, ValueRange in) -> SmallVector<Value> {
    Value isNode =
        body.compare(Predicate::sge, body.element(walk.depths, node), 0);
    return {body.add(in[0], body.select(isNode, one, none))};
  };
  Value count = body.repeat(nodes, none, addNode)[0];
  return {lives, walk.longest, count, walk.depths};
}

/// Of a chain or a static tree: numbers by themselves, and no vector. Where it
/// is indexed by what is only known when it runs, a GPU's thread has it in
/// memory.
LiveNodes RoundWriter::knownNodes(SlotBody &body, ArrayRef<Value> drafts) {
  auto parents = tree.empty() ? llvm::to_vector(llvm::seq<int64_t>(-1, k))
                              : SmallVector<int64_t>(tree);
  SmallVector<int64_t> depths = nodeDepths(parents);
  Value none = body.constant(0), longest = none;
  SmallVector<Value> live{body.compare(Predicate::sge, longest, 0)};
  for (auto [draft, token] : llvm::enumerate(drafts)) {
    int64_t node = draft + 1;
    live.push_back(
        body.both(body.compare(Predicate::sge, token, 0), live[parents[node]]));
    longest = body.max(
        longest, body.select(live.back(), body.constant(depths[node]), none));
  }
  auto lives = [live](int64_t node) { return live[node]; };
  return {lives, longest,
          tree.empty() ? body.add(longest, 1) : countNodes(body, nodes, lives),
          /*depths=*/Value()};
}

/// Of `drafts` those that can be accepted by a slot with that limit, which may
/// be null. A tree of the slot's own may be deeper than k and the limit; what
/// is becomes -1.
LiveNodes RoundWriter::findLive(SlotBody &body, MutableArrayRef<Value> drafts,
                                Value limit) {
  if (!op.getParents())
    return knownNodes(body, drafts);
  if (nodes == k + 1) // and no deeper than the limit leaves drafts
    return computedNodes(body, drafts, /*most=*/Value());
  Value most = body.constant(k), none = body.constant(-1);
  if (limit)
    most = body.min(most, limit);
  LiveNodes live = computedNodes(body, drafts, most);
  for (auto [draft, token] : llvm::enumerate(drafts))
    token = body.select(live.lives(draft + 1), token, none);
  return live;
}

/// Adds the slot's rows that live to those of the rounds before, if it runs.
static void addRows(SlotBody &body, Value count, Value runs) {
  Value word = body.constant(::mtp::kLoopRows);
  Value before = body.load(states::kLoop, word);
  Value rows = body.select(runs, count, body.constant(0));
  body.store(body.add(before, rows), states::kLoop, word);
}

/// The places of the window's rows, from n on; none of one that is dead. For a
/// tree of the slot's own in a loop: its nodes are in a vector anyway.
Value RoundWriter::positionsOf(SlotBody &body, const LiveNodes &live, Value n,
                               Value runs) {
  Value none = body.constant(-1);
  auto placeOf = [&](Value lives, Value place) {
    return body.select(body.both(runs, lives), place, none);
  };
  if (live.depths)
    return body.vector(nodes, [&](Value node) {
      Value depth = body.element(live.depths, node);
      return placeOf(body.compare(Predicate::sge, depth, 0), body.add(n, node));
    });
  SmallVector<Value> positions;
  for (int64_t row = 0; row < nodes; ++row)
    positions.push_back(placeOf(live.lives(row), body.add(n, row)));
  return body.vector(positions);
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
  Value n = body.load(states::kLength);
  Value limit = limits ? body.load(states::kDraftLimit) : Value();
  SmallVector<Value> own;
  if (drafts)
    own = draftsOf(body, limit);
  SmallVector<Value> tokens{
      body.load(states::kWindow, body.load(states::kAccepted))};
  llvm::append_range(tokens, own);
  SmallVector<Value> window{body.vector(tokens), body.vector(nodes, [&](Value) {
                              return body.slot();
                            })};
  if (drafts) {
    useState(e.module, states::kLoop);
    LiveNodes live = findLive(body, own, limit);
    Value ended = body.load(states::kLoop, body.constant(::mtp::kLoopEnded));
    Value runs = body.compare(Predicate::eq, ended, 0);
    addRows(body, live.count, runs);
    window.append({positionsOf(body, live, n, runs), live.longest});
    if (limits)
      window.push_back(body.vector(own));
  } else {
    window.push_back(body.vector(n));
  }
  ValueRange made = body.yield(window);
  return {e.byRow(made[0]), e.makeRows(e.byRow(made[1]), e.byRow(made[2])),
          limits ? Value(made[4]) : drafts, drafts ? Value(made[3]) : Value()};
}

bool mlir::mtp::goesByRows(Region &region) {
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

static Value unpack(Expansion &e, Value x, Value places) {
  return UnpackOp::create(e.builder, e.loc, x.getType(), x, places);
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

/// `scored` are the rows that have logits.
void RoundWriter::replaceResults(const TargetRows &target, PackOp pack,
                                 PackOp scored, SmallVector<Value> results) {
  auto accepts = op->getBlock()->getOps<AcceptOp>();
  if (!accepts.empty() && feedsAccept(*accepts.begin())) {
    // It knows how to tell by the rows.
    op.getResult(0).replaceAllUsesWith(results[0]);
    op.getRows().replaceAllUsesWith(scored.getPacked());
  }
  for (auto [i, result] : llvm::enumerate(results))
    if (!op.getResult(i).use_empty())
      result = unpack(e, result, (i == 0 ? scored : pack).getPlaces());
  if (op.getRows())
    results.push_back(target.rows);
  op.replaceAllUsesWith(results);
}

Value RoundWriter::promptSlots(Type type) {
  for (auto known : op->getBlock()->getOps<SlotsOp>())
    if (known.getPrompts())
      return known;
  return SlotsOp::create(e.builder, e.loc, type, /*prompts=*/true);
}

/// The rows of prompts as those of a tree have to be told: each follows the one
/// before it. Rows of one slot have one window.
Value RoundWriter::chainOfPrompt(PromptRowsOp prompt) {
  useState(e.module, states::kSequences);
  Value slots = RowSlotsOp::create(
      e.builder, e.loc, prompt.getTokens().getType(), prompt.getRows());
  SlotBody body(e.builder, e.loc, "prompt_chain", slots);
  Value position = body.constant(-1), root = position;
  Value mask = body.wideConstant(0);
  auto envelope = e.module->getAttrOfType<EnvelopeAttr>(kEnvelopeAttr);
  int64_t most = std::min<int64_t>(kMostSequences, envelope.getMaxBatch());
  for (int64_t i = 0; i < most; ++i) {
    auto load = [&](SequenceWord word) {
      return body.load(states::kSequences,
                       {body.constant(int64_t(word)), body.constant(i)});
    };
    // A chunk of fewer prompts has none of no rows.
    Value own = body.sub(body.index(), load(SequenceWord::FirstRow));
    Value isOf =
        body.both(body.compare(Predicate::sge, own, 0),
                  body.compare(Predicate::slt, own, load(SequenceWord::Rows)));
    Value start = load(SequenceWord::Start);
    Value place = body.max(own, body.constant(0));
    position = body.select(isOf, body.add(start, own), position);
    root = body.select(isOf, start, root);
    mask = body.select(isOf, body.bitsUpTo(place), mask);
  }
  ValueRange rows = body.yield({position, root, mask});
  return MakeTreeRowsOp::create(e.builder, e.loc, slots, rows[0], rows[1],
                                rows[0], rows[2], /*refreshed=*/false);
}

/// Packs those of the rows in `pack` that logits are wanted of: the slots' own,
/// and of each prompt the last. Their tokens are their places in `pack`.
PackOp RoundWriter::packScored(const TargetRows &target, PackOp pack) {
  useState(e.module, states::kSequences);
  Value slots = promptSlots(target.tokens.getType());
  SlotBody body(e.builder, e.loc, "last_rows", slots);
  Value before = body.sub(sequenceWord(body, SequenceWord::Rows), 1);
  Value row = body.add(sequenceWord(body, SequenceWord::FirstRow), before);
  ValueRange last = body.yield(
      {row, body.add(sequenceWord(body, SequenceWord::Start), before),
       body.wideConstant(1)});
  Value places = unpack(e, pack.getPromptPlaces(), last[0]);
  Value rows = e.makeRows(slots, last[1]);
  if (isTree())
    rows = MakeTreeRowsOp::create(e.builder, e.loc, slots, last[1], last[1],
                                  last[1], last[2], /*refreshed=*/false);
  return PackOp::create(e.builder, e.loc, target.rows, pack.getPlaces(), rows,
                        places);
}

/// Runs the region over the slots' rows and those of prompts together. What it
/// yields of the latter goes to the prefill beside the round.
void RoundWriter::writeWithPrompt(const TargetRows &target) {
  auto prompt = PromptRowsOp::create(e.builder, e.loc, target.tokens.getType(),
                                     RowsType::get(op.getContext()));
  Value rows = isTree() ? chainOfPrompt(prompt) : prompt.getRows();
  auto pack = PackOp::create(e.builder, e.loc, target.rows, target.tokens, rows,
                             prompt.getTokens());
  PackOp scored = packScored(target, pack);
  SmallVector<Value> results = e.inlineRegion(
      op.getBodyRegion(), {pack.getPackedTokens(), pack.getPacked()});
  results[0] = e.takeRows(results[0], scored.getPackedTokens());
  e.output("logits", results[0]);
  if (target.drafted)
    e.output(kPlacesOutput, scored.getPlaces());
  SmallVector<Value> theirs;
  for (auto [i, result] : llvm::enumerate(results))
    theirs.push_back(
        unpack(e, result, (i == 0 ? scored : pack).getPromptPlaces()));
  theirs.push_back(prompt.getRows());
  PromptValuesOp::create(e.builder, e.loc, theirs);
  replaceResults(target, pack, scored, results);
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
  if (cast<RoundOp>(op->getParentOp()).getPrompts())
    return writeWithPrompt(target);
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
    return replaceResults(target, pack, pack, results);
  if (op.getRows())
    results.push_back(rows);
  op.replaceAllUsesWith(results);
}

static LogicalResult expandInRound(VerifyOp op) {
  Expansion e(op);
  if (failed(checkDrafts(op, e, op.getDrafts(), op.getTree(), op.getParents())))
    return failure();
  // A smaller k is the first nodes: parents come before their children.
  ArrayRef<int64_t> tree;
  if (op.getTree())
    tree = op.getTree()->take_front(e.roundNodes());
  RoundWriter(op, tree).write();
  op.erase();
  return success();
}

static void expandInPrefill(VerifyOp op) {
  // The round beside it computes what it gives.
  if (cast<PrefillOp>(op->getParentOp()).getBeside())
    return;
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
