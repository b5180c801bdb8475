//===- ExpandVerify.cpp - mtp.verify as core ops --------------------------===//
//
// In a round the target's rows are the anchor and the drafts, at places from n
// on; in a prefill they are the chunk's.
//
// A missing draft (-1) and the drafts after it cannot be accepted, and results
// of a slot whose sequence has ended are not read. Their rows are padding rows,
// and the region runs on packed rows. Its results are unpacked to the window's
// order, except for accept, which picks from packed logits.
//
// If k changes no output, a slot may draft less than its round. The host writes
// the slot's k into the state `draft_limit`, and drafts for which a round of
// that k has no node are dropped here. Such a round may also verify fewer rows
// than its windows have (`max_rows`). The host says how many rows a slot may
// have, and only its first active nodes are kept. Nodes with places beyond the
// context's last are dropped. So are, under any rule, nodes that a round of the
// k wanted by the program (`want_k`) does not have.
//
// If the region has recurrent layers, its rows state how many of the slot's
// last rows the layer folds and how many it keeps. A round folds the anchor and
// the accepted drafts of the round before, and keeps all of its rows. A
// prompt's chunk folds the row before it, if another chunk ran before, and
// keeps its last row.
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"
#include "passes/round/NodeWalk.h"
#include "passes/round/RoundExpansion.h"
#include "passes/round/RowBudget.h"
#include "passes/round/RuleFlags.h"
#include "runtime/schema/LogitRules.h"
#include "runtime/schema/LoopLayout.h"

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

/// The rows of the target. For each slot also the drafts within its limit and
/// the number of drafts that could be accepted; null if there are none.
struct TargetRows {
  Value tokens, rows, drafts, drafted;
  /// Rows that the region gets if they are not packed.
  Value runs;
};

/// The nodes of a slot that can be accepted; nodes after a missing draft
/// cannot.
struct ActiveNodes {
  /// Returns whether the node of a row can be accepted.
  std::function<Value(int64_t)> lives;
  /// The length of the longest path, and the number of nodes.
  Value longest, count;
  /// For a tree of the slot's own: the depth of every node, -1 if it is
  /// dropped.
  Value depths;
};

/// Limits on the nodes of a slot that are verified.
struct NodeLimits {
  /// The largest depth, or null.
  Value depth;
  /// Nodes from this one on have no place in the context.
  Value places;
  /// The number of rows that the slot may have, or null.
  Value rows;
};

/// Writes the op in a round.
class RoundWriter {
public:
  /// `tree` holds the parents of a static tree's nodes; it is empty for a
  /// chain.
  RoundWriter(VerifyOp op, ArrayRef<int64_t> tree)
      : op(op), e(op), k(*e.roundK()), nodes(e.roundNodes()), tree(tree),
        envelope(e.module->getAttrOfType<EnvelopeAttr>(kEnvelopeAttr)) {}

  void write();

private:
  bool isTree() { return op.getParents() || !tree.empty(); }
  SmallVector<int64_t> leastK();
  SmallVector<Value> draftsOf(SlotBody &body, Value limit);
  NodeLimits limitsOf(SlotBody &body, Value n, Value limit, Value runs);
  ActiveNodes knownNodes(SlotBody &body, ArrayRef<Value> drafts,
                         const NodeLimits &limits);
  ActiveNodes computedNodes(SlotBody &body, ArrayRef<Value> drafts,
                            const NodeLimits &limits);
  ActiveNodes findActive(SlotBody &body, MutableArrayRef<Value> drafts,
                         const NodeLimits &limits);
  Value positionsOf(SlotBody &body, const ActiveNodes &live, Value n,
                    Value runs);
  SmallVector<Value> runOf(SlotBody &body, Value accepted);
  Value runsOfWindow(Value rows, ValueRange run);
  void keepPath(SlotBody &body, ArrayRef<Value> drafts);
  TargetRows writeWindow();
  bool feedsAccept(AcceptOp accept);
  void replaceResults(const TargetRows &target, PackOp pack, PackOp scored,
                      SmallVector<Value> results);
  Value promptSlots(Type type);
  Value chainOfPrompt(PromptRowsOp prompt);
  PackOp limited(PackOp pack);
  PackOp packScored(const TargetRows &target, PackOp pack);
  void writeWithPrompt(const TargetRows &target);

  VerifyOp op;
  Expansion e;
  int64_t k, nodes;
  ArrayRef<int64_t> tree;
  EnvelopeAttr envelope;
};
} // namespace

/// Returns whether the accept reads the drafts that are verified.
static bool takesDrafts(VerifyOp op, AcceptOp accept) {
  return op.getDrafts() && accept.getDrafts() == op.getDrafts();
}

/// Returns for each node the k of the smallest round that has it.
SmallVector<int64_t> RoundWriter::leastK() {
  SmallVector<int64_t> least;
  for (int64_t smaller = 0; smaller < k; ++smaller)
    least.resize(std::min(envelope.getNodes(smaller, op.getTree()), nodes),
                 smaller);
  least.resize(nodes, k);
  return least;
}

/// Returns the drafts of a slot, -1 for drafts beyond its limit; the limit may
/// be null.
SmallVector<Value> RoundWriter::draftsOf(SlotBody &body, Value limit) {
  SmallVector<int64_t> least = leastK();
  Value none = body.constant(-1);
  SmallVector<Value> drafts;
  Value areHosts = hasHostDrafts(body, op);
  for (int64_t draft = 0; draft + 1 < nodes; ++draft) {
    Value token = body.element(body.input(0), draft);
    if (areHosts)
      token = body.select(
          areHosts, body.load(states::kHostDrafts, body.constant(draft + 1)),
          token);
    if (limit)
      token =
          body.select(body.compare(Predicate::sgt, limit, least[draft + 1] - 1),
                      token, none);
    drafts.push_back(token);
  }
  return drafts;
}

/// Returns the limits of the window at `n` from the envelope and the host. The
/// host's `limit` of depth may be null. A slot that does not run gets no
/// drafts: its padding rows might accept some, and a commit would move entries
/// that were never written.
NodeLimits RoundWriter::limitsOf(SlotBody &body, Value n, Value limit,
                                 Value runs) {
  NodeLimits limits;
  // If the number of nodes is k + 1, none is deeper than k.
  if (op.getParents() && nodes != k + 1) {
    limits.depth = body.constant(k);
    if (limit)
      limits.depth = body.min(limits.depth, limit);
  }
  Value places = body.sub(body.constant(envelope.getMaxContext()), n);
  places = limitByMasks(body, e.module, nodes, places);
  limits.places = body.select(runs, places, body.constant(1));
  if (envelope.trims(nodes))
    limits.rows = body.load(states::kLoop, body.constant(::mtp::kLoopMostRows));
  return limits;
}

/// Returns the nodes of a slot's own tree that can be accepted.
ActiveNodes RoundWriter::computedNodes(SlotBody &body, ArrayRef<Value> drafts,
                                       const NodeLimits &limits) {
  Value tokens = body.vector(SmallVector<Value>(drafts));
  auto stays = [&](Value node, Value) {
    Value isToken = body.compare(Predicate::sge,
                                 body.element(tokens, body.sub(node, 1)), 0);
    return body.both(isToken,
                     body.compare(Predicate::slt, node, limits.places));
  };
  NodeWalk walk = walkNodes(body, nodes, body.input(1), stays, limits.depth);
  Value one = body.constant(1), zero = body.constant(0);
  Value none = body.constant(-1);
  Value rows = limits.rows ? body.max(limits.rows, one) : body.constant(nodes);
  // Any first nodes of a tree form a tree: parents come before their children.
  auto keep = [&](Value node, ValueRange in) -> SmallVector<Value> {
    Value depth = body.element(in[1], node);
    Value lives = body.both(body.compare(Predicate::sge, depth, 0),
                            body.compare(Predicate::slt, in[0], rows));
    depth = body.select(lives, depth, none);
    return {body.add(in[0], body.select(lives, one, zero)),
            body.replace(in[1], depth, node), body.max(in[2], depth)};
  };
  auto kept = body.repeat(nodes, {zero, walk.depths, zero}, keep);
  auto lives = [&body, depths = kept[1]](int64_t node) {
    return body.compare(Predicate::sge, body.element(depths, node), 0);
  };
  return {lives, kept[2], kept[0], kept[1]};
}

/// Returns the nodes of a chain or a static tree that can be accepted, as
/// separate values. A vector indexed at run time would be in memory for a GPU's
/// thread.
ActiveNodes RoundWriter::knownNodes(SlotBody &body, ArrayRef<Value> drafts,
                                    const NodeLimits &limits) {
  auto parents = tree.empty() ? llvm::to_vector(llvm::seq<int64_t>(-1, k))
                              : SmallVector<int64_t>(tree);
  SmallVector<int64_t> depths = nodeDepths(parents);
  Value zero = body.constant(0), one = body.constant(1);
  Value longest = zero, count = one;
  SmallVector<Value> live{body.compare(Predicate::sge, longest, 0)};
  for (auto [draft, token] : llvm::enumerate(drafts)) {
    int64_t node = draft + 1;
    Value isToken = body.compare(Predicate::sge, token, 0);
    Value lives = body.both(isToken, live[parents[node]]);
    lives = body.both(lives, body.compare(Predicate::sgt, limits.places, node));
    // In a chain, all nodes before an active one are active.
    Value before = tree.empty() ? body.constant(node) : count;
    if (limits.rows)
      lives =
          body.both(lives, body.compare(Predicate::slt, before, limits.rows));
    live.push_back(lives);
    if (!tree.empty())
      count = body.add(count, body.select(lives, one, zero));
    longest = body.max(longest,
                       body.select(lives, body.constant(depths[node]), zero));
  }
  auto lives = [live](int64_t node) { return live[node]; };
  return {lives, longest, tree.empty() ? body.add(longest, 1) : count,
          /*depths=*/Value()};
}

/// Returns the nodes of `drafts` that a slot with these limits can accept. All
/// others become -1, so that a rule cannot keep a draft that was not verified.
ActiveNodes RoundWriter::findActive(SlotBody &body,
                                    MutableArrayRef<Value> drafts,
                                    const NodeLimits &limits) {
  ActiveNodes live = op.getParents() ? computedNodes(body, drafts, limits)
                                     : knownNodes(body, drafts, limits);
  Value none = body.constant(-1);
  for (auto [draft, token] : llvm::enumerate(drafts))
    token = body.select(live.lives(draft + 1), token, none);
  return live;
}

/// Adds the slot's active rows to the count of earlier rounds, if the slot
/// runs.
static void addRows(SlotBody &body, Value count, Value runs) {
  Value word = body.constant(::mtp::kLoopRows);
  Value before = body.load(states::kLoop, word);
  Value rows = body.select(runs, count, body.constant(0));
  body.store(body.add(before, rows), states::kLoop, word);
}

/// Returns the places of the window's rows, from n on; -1 for padding rows. A
/// slot's own tree uses a loop, since its nodes are in a vector anyway.
Value RoundWriter::positionsOf(SlotBody &body, const ActiveNodes &live, Value n,
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

/// Returns whether a region has layers whose rows depend on earlier rows.
static bool isRecurrent(Region &region) {
  return region
      .walk([](Operation *inner) {
        return isa<CausalConvOp, DeltaRuleOp>(inner) ? WalkResult::interrupt()
                                                     : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Returns for each row of a window how many earlier rows a recurrence folds,
/// and how many of the window's rows it keeps.
SmallVector<Value> RoundWriter::runOf(SlotBody &body, Value accepted) {
  auto each = [&](Value number) {
    return body.vector(nodes, [&](Value) { return number; });
  };
  return {each(body.add(accepted, 1)), each(body.constant(nodes))};
}

/// Adds the recurrence counts to the rows of prompts. A host that has restored
/// another slot's state writes into `accepted` how many of its rows stay.
static Value runsOfPrompt(Expansion &e, PromptRowsOp prompt, Value rows) {
  useState(e.module, states::kAccepted);
  Value slots = RowSlotsOp::create(
      e.builder, e.loc, prompt.getTokens().getType(), prompt.getRows());
  SlotBody body(e.builder, e.loc, "prompt_run", slots);
  Value pending = body.add(body.load(states::kAccepted), 1);
  ValueRange run = body.yield({pending, body.constant(1)});
  return RunRowsOp::create(e.builder, e.loc, rows, run[0], run[1]);
}

/// Adds the results of runOf() to the window's rows, if there are any.
Value RoundWriter::runsOfWindow(Value rows, ValueRange run) {
  if (run.empty())
    return rows;
  return RunRowsOp::create(e.builder, e.loc, rows, e.byRow(run[0]),
                           e.byRow(run[1]));
}

/// Stores the tokens and the parents of the window's nodes for a slot with
/// penalties: its rows count the drafts on their paths.
void RoundWriter::keepPath(SlotBody &body, ArrayRef<Value> drafts) {
  if (!hasState(e.module, states::kTokenCounts))
    return;
  int64_t most = envelope.getNodes(envelope.getMaxK());
  useState(e.module, states::kLogitPath, 2 * most);
  body.when(hasRule(body, ::mtp::kRulePenalties), [&] {
    for (auto [draft, token] : llvm::enumerate(drafts)) {
      int64_t node = draft + 1;
      Value parent = op.getParents()
                         ? body.element(body.input(1), node)
                         : body.constant(tree.empty() ? node - 1 : tree[node]);
      body.store(token, states::kLogitPath, body.constant(node));
      body.store(parent, states::kLogitPath, body.constant(most + node));
    }
  });
}

TargetRows RoundWriter::writeWindow() {
  for (llvm::StringRef state :
       {states::kLength, states::kAccepted, states::kWindow})
    useState(e.module, state);
  bool isTaken =
      llvm::any_of(op->getBlock()->getOps<AcceptOp>(),
                   [&](AcceptOp accept) { return takesDrafts(op, accept); });
  Value drafts = op.getDrafts();
  SmallVector<Value> inputs;
  for (Value input : {drafts, Value(op.getParents())})
    if (input)
      inputs.push_back(input);
  SlotBody body(e.builder, e.loc, "window", e.slots(), inputs);
  Value n = body.load(states::kLength);
  SmallVector<Value> own;
  Value limit;
  if (drafts) {
    limit = loadLimit(body, e.module, followsLimit(op));
    own = draftsOf(body, limit);
  }
  Value accepted = body.load(states::kAccepted);
  SmallVector<Value> tokens{body.load(states::kWindow, accepted)};
  llvm::append_range(tokens, own);
  SmallVector<Value> window{body.vector(tokens), body.vector(nodes, [&](Value) {
                              return body.slot();
                            })};
  if (drafts) {
    useState(e.module, states::kLoop);
    Value ended = body.load(states::kLoop, body.constant(::mtp::kLoopEnded));
    Value runs = body.compare(Predicate::eq, ended, 0);
    ActiveNodes live = findActive(body, own, limitsOf(body, n, limit, runs));
    addRows(body, live.count, runs);
    window.append({positionsOf(body, live, n, runs), live.longest});
    keepPath(body, own);
    if (isTaken)
      window.push_back(body.vector(own));
  } else {
    window.push_back(body.vector(n));
  }
  size_t numbers = window.size();
  if (isRecurrent(op.getBodyRegion()))
    llvm::append_range(window, runOf(body, accepted));
  ValueRange made = body.yield(window);
  Value text = e.byRow(made[0]);
  Value rows = e.makeRows(e.byRow(made[1]), e.byRow(made[2]));
  return {text, rows, isTaken ? Value(made[4]) : drafts,
          drafts ? Value(made[3]) : Value(),
          runsOfWindow(rows, made.drop_front(numbers))};
}

static Value unpack(Expansion &e, Value x, Value places) {
  return UnpackOp::create(e.builder, e.loc, x.getType(), x, places);
}

/// Returns whether only `accept` reads logits and rows, and any rows will do.
bool RoundWriter::feedsAccept(AcceptOp accept) {
  auto isAccept = [&](Operation *user) { return user == accept; };
  return accept.getLogits() == op.getResult(0) && op.getRows() &&
         accept.getRows() == op.getRows() && !accept.seesPaths() &&
         goesByRows(accept.getBodyRegion()) &&
         llvm::all_of(op.getResult(0).getUsers(), isAccept) &&
         llvm::all_of(op.getRows().getUsers(), isAccept);
}

/// Replaces the op's results. `scored` are the rows that have logits.
void RoundWriter::replaceResults(const TargetRows &target, PackOp pack,
                                 PackOp scored, SmallVector<Value> results) {
  auto accepts = op->getBlock()->getOps<AcceptOp>();
  if (!accepts.empty() && feedsAccept(*accepts.begin())) {
    // The accept handles packed rows.
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

/// Returns the rows of prompts in the form of a tree's rows: each follows the
/// one before it. Rows of one slot have one window.
Value RoundWriter::chainOfPrompt(PromptRowsOp prompt) {
  useState(e.module, states::kSequences);
  Value slots = RowSlotsOp::create(
      e.builder, e.loc, prompt.getTokens().getType(), prompt.getRows());
  SlotBody body(e.builder, e.loc, "prompt_chain", slots);
  Value position = body.constant(-1), root = position;
  Value mask = body.wideConstant(0);
  int64_t most = std::min<int64_t>(kMostSequences, envelope.getMaxBatch());
  for (int64_t i = 0; i < most; ++i) {
    auto load = [&](SequenceWord word) {
      return body.load(states::kSequences,
                       {body.constant(int64_t(word)), body.constant(i)});
    };
    // Unused sequences of a chunk have no rows.
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

/// Limits packed rows of windows to the envelope's row budget.
PackOp RoundWriter::limited(PackOp pack) {
  if (envelope.trims(nodes))
    pack.setAtMost(envelope.getMaxRows());
  return pack;
}

/// Packs the rows of `pack` that need logits: the slots' rows, and the last row
/// of each prompt. Their tokens are their indices in `pack`.
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
  return limited(PackOp::create(e.builder, e.loc, target.rows, pack.getPlaces(),
                                rows, places));
}

/// Runs the region over the slots' rows and the prompt rows together. The
/// results of the prompt rows go to the prefill of the mixed batch.
void RoundWriter::writeWithPrompt(const TargetRows &target) {
  auto prompt = PromptRowsOp::create(e.builder, e.loc, target.tokens.getType(),
                                     RowsType::get(op.getContext()));
  Value rows = isTree() ? chainOfPrompt(prompt) : prompt.getRows();
  if (isRecurrent(op.getBodyRegion()))
    rows = runsOfPrompt(e, prompt, rows);
  PackOp pack = limited(PackOp::create(
      e.builder, e.loc, target.runs, target.tokens, rows, prompt.getTokens()));
  PackOp scored = packScored(target, pack);
  SmallVector<Value> results = e.inlineRegion(
      op.getBodyRegion(), {pack.getPackedTokens(), pack.getPacked()});
  results[0] = e.gatherRows(results[0], scored.getPackedTokens());
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
    if (takesDrafts(op, accept))
      accept.getDraftsMutable().assign(target.drafts);
  e.output("tokens", target.tokens);
  if (target.drafted)
    e.output(kDraftedOutput, target.drafted);
  if (isTree())
    target.runs = target.rows =
        TreeRowsOp::create(e.builder, e.loc, target.rows, op.getParents(),
                           tree.empty() ? DenseI64ArrayAttr()
                                        : e.builder.getDenseI64ArrayAttr(tree));
  if (cast<RoundOp>(op->getParentOp()).getPrompts())
    return writeWithPrompt(target);
  PackOp pack;
  Value tokens = target.tokens, rows = target.runs;
  if (target.drafted && goesByRows(op.getBodyRegion())) {
    pack = limited(PackOp::create(e.builder, e.loc, rows, tokens));
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
    results.push_back(target.rows);
  op.replaceAllUsesWith(results);
}

static LogicalResult expandInRound(VerifyOp op) {
  Expansion e(op);
  if (failed(checkDrafts(op, e, op.getDrafts(), op.getTree(), op.getParents())))
    return failure();
  // A smaller k uses the first nodes: parents come before their children.
  ArrayRef<int64_t> tree;
  if (op.getTree())
    tree = op.getTree()->take_front(e.roundNodes());
  RoundWriter(op, tree).write();
  op.erase();
  return success();
}

static void expandInPrefill(VerifyOp op) {
  // The mixed batch's round computes its results.
  if (cast<PrefillOp>(op->getParentOp()).getBeside())
    return;
  Expansion e(op);
  auto type =
      cast<RankedTensorType>(op.getBodyRegion().getArgument(0).getType());
  auto prompt = PromptRowsOp::create(e.builder, e.loc, type,
                                     RowsType::get(op.getContext()));
  Value rows = prompt.getRows();
  if (isRecurrent(op.getBodyRegion()))
    rows = runsOfPrompt(e, prompt, rows);
  SmallVector<Value> results =
      e.inlineRegion(op.getBodyRegion(), {prompt.getTokens(), rows});
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
  if (failed(checkRowBudget(getOperation())) ||
      failed(expandInstantiated<VerifyOp>(getOperation(), numExpanded, expand)))
    signalPassFailure();
}
