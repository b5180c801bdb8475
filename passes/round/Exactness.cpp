//===- Exactness.cpp - Does output equal that of k = 0? -------------------===//
//
// An exact mtp.accept keeps the drafts that equal the target's picks. So output
// equals the output of k = 0 if a row's pick is the same in every round that
// may verify the row. This file follows picks back to their sources, through
// states that the program writes, too. A source is a doubt if it
//
// - depends on k, or is written only where drafts are made,
// - depends on the round and is the same for all rows of the round: at k = 0
//   each row has a round of its own,
// - is an op that is not known to work row by row.
//
// A region may read the tokens before its row, and the program may keep results
// of them. The author answers for both, and for a host that sees the drafts.
//
//===----------------------------------------------------------------------===//

#include "passes/round/Exactness.h"
#include "dialects/MTP/IR/StateTable.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "passes/support/RowWise.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::mtp;

namespace {

/// Quantities on which a number, or a row of numbers, depends.
enum Trait : unsigned {
  kNone = 0,
  /// A state that may differ from round to round.
  kByRound = 1,
  /// The index of a row among the rows that a round verifies.
  kByPlace = 2,
  /// The text up to a row.
  kByText = 4,
  /// k.
  kByK = 8,
  /// Rows of activations.
  kOfRows = 16,
};

/// The stores of a module by the names of their states.
using Stores = llvm::DenseMap<StringAttr, SmallVector<Operation *>>;

/// Follows the picks of one round or prefill back to what they are made of.
class PickSources {
public:
  PickSources(Operation *program, const Stores &stores)
      : stores(stores),
        awaitsHost(
            !program->getRegion(0).front().getOps<AwaitHostOp>().empty()) {}

  /// Returns a dependence of the picks of `accept` on the round, if there is
  /// one.
  std::optional<Doubt> find(AcceptOp accept);

private:
  // Rows of activations, one op after another.
  void visit(Value value);
  void visitArgument(BlockArgument argument);
  void visitRows(Value rows, Operation *user);
  void visitSide(Value value, Operation *user);
  void visitMask(MaskColumnsOp mask);
  void judge(unsigned traits, Location loc);
  void visitAround(Operation *store, StringAttr name);
  void visitStore(StoreOp store, StringAttr name);
  // Numbers of slots and rows, in bodies.
  unsigned traitsOf(Value value);
  unsigned traitsOfArgument(BlockArgument argument);
  unsigned traitsOfResult(OpResult result);
  std::optional<unsigned> traitsOfControl(OpResult result);
  unsigned traitsOfOther(OpResult result);
  unsigned traitsOfAll(ValueRange values);
  unsigned traitsOfTurns(Value bound);
  unsigned traitsOfLoop(scf::ForOp loop, unsigned number);
  unsigned traitsOfState(Operation *op, FlatSymbolRefAttr name);
  void visitStores(StringAttr name);

  void follow(Value value) {
    if (value && seen.insert(value).second)
      pending.push_back(value);
  }
  void doubt(Location loc, const llvm::Twine &why) {
    if (!found)
      found = Doubt{loc, why.str()};
  }

  const Stores &stores;
  bool awaitsHost;
  llvm::DenseSet<Value> seen;
  llvm::DenseMap<Value, unsigned> known;
  llvm::DenseSet<StringAttr> visitedStates;
  SmallVector<Value> pending;
  std::optional<Doubt> found;
};

} // namespace

//===----------------------------------------------------------------------===//
// States
//===----------------------------------------------------------------------===//

/// Returns whether `value` is computed only from constants and the state of
/// this name.
static bool isMadeOfItself(Value value, StringAttr name, bool &reads) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  if (op->hasTrait<OpTrait::ConstantLike>())
    return true;
  if (auto load = dyn_cast<LoadOp>(op)) {
    reads = true;
    return load.getStateAttr().getAttr() == name && load.getIndices().empty();
  }
  return isa<arith::ArithDialect>(op->getDialect()) &&
         llvm::all_of(op->getOperands(), [&](Value operand) {
           return isMadeOfItself(operand, name, reads);
         });
}

/// Checks that the ops around a store let it run at every k.
void PickSources::visitAround(Operation *op, StringAttr name) {
  auto store = dyn_cast<StoreOp>(op);
  bool isOfPlace =
      store && (traitsOfAll(store.getIndices()) & kByPlace) != kNone;
  for (Operation *around = op->getParentOp(); !isa<RoundOp, PrefillOp>(around);
       around = around->getParentOp()) {
    unsigned traits = kNone;
    if (isa<DraftRegionOp, DraftChainOp, DraftTreeOp, DraftHeadsOp>(around))
      return doubt(op->getLoc(), "picks are made of @" + name.getValue() +
                                     ", which is written where there are "
                                     "drafts alone");
    if (auto branch = dyn_cast<scf::IfOp>(around))
      traits = traitsOf(branch.getCondition());
    else if (auto loop = dyn_cast<scf::ForOp>(around); loop && !isOfPlace)
      traits = traitsOf(loop.getUpperBound());
    if ((traits & kByK) && !(traits & (kByPlace | kByRound)))
      return doubt(op->getLoc(), "picks are made of @" + name.getValue() +
                                     ", which is written under a condition on "
                                     "k");
  }
}

void PickSources::visitStore(StoreOp store, StringAttr name) {
  bool reads = false;
  if (!store->getParentOfType<scf::ForOp>() && store.getIndices().empty() &&
      isMadeOfItself(store.getValue(), name, reads) && reads)
    return doubt(store.getLoc(), "picks are made of @" + name.getValue() +
                                     ", which goes by how many rounds there "
                                     "were");
  unsigned traits = traitsOf(store.getValue());
  if ((traits & kByK) && !(traits & (kByPlace | kByRound | kByText)))
    doubt(store.getLoc(),
          "picks are made of @" + name.getValue() + ", in which k is kept");
}

/// Checks the stores to a state on which picks depend.
void PickSources::visitStores(StringAttr name) {
  auto written = stores.find(name);
  if (!visitedStates.insert(name).second || written == stores.end())
    return;
  for (Operation *op : written->second) {
    visitAround(op, name);
    if (auto store = dyn_cast<StoreOp>(op))
      visitStore(store, name);
  }
}

/// Returns the traits of a state. Inputs of a request are equal in all of its
/// rounds.
unsigned PickSources::traitsOfState(Operation *op, FlatSymbolRefAttr name) {
  auto state = SymbolTable::lookupNearestSymbolFrom<StateOp>(op, name);
  StringRef own = name.getValue();
  if (!state || state.getInput() || own == "sampling" || own == "stop_tokens")
    return kNone;
  visitStores(name.getAttr());
  bool isConstant = !findSharedState(own) && !stores.contains(name.getAttr()) &&
                    state.getRebuild() != Rebuild::Tokens;
  return isConstant ? kNone : kByRound;
}

//===----------------------------------------------------------------------===//
// Numbers in bodies
//===----------------------------------------------------------------------===//

unsigned PickSources::traitsOfAll(ValueRange values) {
  unsigned traits = kNone;
  for (Value value : values)
    traits |= traitsOf(value);
  return traits;
}

/// Returns the traits of a loop's iterations or a tensor's length. If they
/// depend on k, they tell the rows of a window apart.
unsigned PickSources::traitsOfTurns(Value bound) {
  unsigned traits = traitsOf(bound);
  return (traits & ~kByK) | ((traits & kByK) ? kByPlace : kNone);
}

unsigned PickSources::traitsOfLoop(scf::ForOp loop, unsigned number) {
  return traitsOfTurns(loop.getUpperBound()) |
         traitsOfTurns(loop.getLowerBound()) |
         traitsOf(loop.getInitArgs()[number]) |
         traitsOf(loop.getYieldedValues()[number]);
}

/// Returns whether a body runs once per row, not once per slot.
static bool runsByRow(PerSlotOp body) {
  auto argument = dyn_cast<BlockArgument>(body.getSlots());
  return (argument && isa<AcceptOp>(argument.getOwner()->getParentOp())) ||
         isa_and_nonnull<RowSlotsOp>(body.getSlots().getDefiningOp());
}

unsigned PickSources::traitsOfArgument(BlockArgument argument) {
  Operation *around = argument.getOwner()->getParentOp();
  unsigned number = argument.getArgNumber();
  if (auto body = dyn_cast<PerSlotOp>(around)) {
    if (number == 0)
      return runsByRow(body) ? kByRound : kByPlace;
    if (number == 1)
      return kNone;
    return traitsOf(body.getInputs()[number - 2]);
  }
  if (auto loop = dyn_cast<scf::ForOp>(around))
    return number > 0 ? traitsOfLoop(loop, number - 1)
                      : traitsOfTurns(loop.getUpperBound());
  if (auto loop = dyn_cast<scf::ParallelOp>(around))
    return traitsOfTurns(loop.getUpperBound()[number]);
  if (auto made = dyn_cast<tensor::GenerateOp>(around)) {
    auto type = cast<RankedTensorType>(made.getType());
    if (!type.isDynamicDim(number))
      return kNone;
    return traitsOfTurns(
        made.getDynamicExtents()[type.getDynamicDimIndex(number)]);
  }
  if (isa<AcceptOp>(around) && number == 3)
    return kByText;
  if (isa<AcceptOp>(around) && number == 2)
    return kNone;
  follow(argument);
  return kOfRows;
}

/// Returns the traits of a result of a loop, a branch or a tensor op in a body;
/// nothing for other ops.
std::optional<unsigned> PickSources::traitsOfControl(OpResult result) {
  using Traits = std::optional<unsigned>;
  unsigned number = result.getResultNumber();
  auto yielded = [&](Region &region) {
    return traitsOfAll(region.front().getTerminator()->getOperands());
  };
  return llvm::TypeSwitch<Operation *, Traits>(result.getOwner())
      .Case([&](scf::ForOp loop) { return traitsOfLoop(loop, number); })
      .Case([&](scf::IfOp branch) {
        return traitsOf(branch.getCondition()) |
               traitsOf(branch.thenYield().getOperand(number)) |
               traitsOf(branch.elseYield().getOperand(number));
      })
      .Case([&](scf::ParallelOp loop) {
        return traitsOfTurns(loop.getUpperBound().front()) |
               traitsOfAll(loop.getInitVals()) | yielded(loop.getRegion());
      })
      .Case([&](tensor::GenerateOp made) { return yielded(made.getBody()); })
      .Case([&](tensor::SplatOp made) { return traitsOf(made.getInput()); })
      .Case([&](tensor::ExtractOp extract) {
        unsigned traits = traitsOf(extract.getTensor());
        return traits & kOfRows ? traits
                                : traits | traitsOfAll(extract.getIndices());
      })
      .Default([](Operation *) { return std::nullopt; });
}

/// Returns the traits of a result of any other op, which also depend on its
/// operands.
unsigned PickSources::traitsOfOther(OpResult result) {
  Operation *op = result.getOwner();
  if (op->getParentOfType<PerSlotOp>() ||
      isa<arith::ArithDialect>(op->getDialect()))
    return traitsOfAll(op->getOperands());
  // Tokens that a drafter or the target picked.
  if (getElementTypeOrSelf(result).isInteger())
    return kByRound | kByText;
  follow(result);
  return kOfRows;
}

unsigned PickSources::traitsOfResult(OpResult result) {
  if (std::optional<unsigned> traits = traitsOfControl(result))
    return *traits;
  Operation *op = result.getOwner();
  return llvm::TypeSwitch<Operation *, unsigned>(op)
      .Case<SlotsOp, RowSlotsOp, WeightOp, tensor::EmptyOp>(
          [](auto) { return kNone; })
      .Case<RowPositionsOp>([](auto) { return kByText; })
      .Case<KOp, NodesOp, tensor::DimOp>([](auto) { return kByK; })
      .Case<DraftChainOp, DraftTreeOp, DraftHeadsOp, DraftRegionOp>(
          [](auto) { return kByRound; })
      .Case([&](ReshapeOp reshape) { return traitsOf(reshape.getX()); })
      .Case([&](PerSlotOp body) {
        return traitsOf(body.getYield().getValues()[result.getResultNumber()]);
      })
      .Case([&](ReadStateOp read) {
        return traitsOfState(op, read.getStateAttr());
      })
      .Case([&](LoadOp load) {
        return traitsOfState(op, load.getStateAttr()) |
               traitsOfAll(load.getIndices());
      })
      .Default([&](Operation *) { return traitsOfOther(result); });
}

unsigned PickSources::traitsOf(Value value) {
  auto [it, isNew] = known.insert({value, kNone});
  if (!isNew)
    return it->second;
  auto argument = dyn_cast<BlockArgument>(value);
  unsigned traits = argument ? traitsOfArgument(argument)
                             : traitsOfResult(cast<OpResult>(value));
  known[value] = traits;
  return traits;
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// Visits rows on which picks depend. The rows of mtp.verify need no check.
void PickSources::visitRows(Value rows, Operation *user) {
  auto argument = dyn_cast<BlockArgument>(rows);
  Operation *around = argument ? argument.getOwner()->getParentOp() : nullptr;
  if (isa_and_nonnull<VerifyOp, AcceptOp>(around) ||
      isa_and_nonnull<VerifyOp>(rows.getDefiningOp()))
    return;
  doubt(user->getLoc(), "picks are made by rows that are not those of "
                        "mtp.verify");
}

/// Judges the traits of a value. A value that depends on the round and on a
/// row's index may depend on the text up to the row, as the anchor's position
/// plus the row's index does.
void PickSources::judge(unsigned traits, Location loc) {
  if (traits & kByText)
    return;
  unsigned own = traits & (kByRound | kByPlace | kByK);
  if (own == kByRound)
    doubt(loc, "picks are made of what follows from the round and is the same "
               "for all rows that it verifies");
  else if (own == kByK)
    doubt(loc, "picks are made of the k of the round");
  else if ((own & kByPlace) && !(own & kByRound))
    doubt(loc, "picks are made of the place of a row among those that a round "
               "verifies");
}

/// Judges a value without rows from which rows are computed.
void PickSources::visitSide(Value value, Operation *user) {
  judge(traitsOf(value), user->getLoc());
}

/// Visits a mask. A host that sees the drafts determines for each row which
/// tokens may follow.
void PickSources::visitMask(MaskColumnsOp mask) {
  follow(mask.getX());
  auto state =
      SymbolTable::lookupNearestSymbolFrom<StateOp>(mask, mask.getStateAttr());
  if (awaitsHost && state && state.getInput())
    return;
  unsigned traits = traitsOfState(mask, mask.getStateAttr());
  if (mask.getAt())
    traits |= traitsOf(mask.getAt());
  judge(traits, mask.getLoc());
}

/// Returns whether row i of the result of `op` depends only on row i of its
/// operands, and in the target's region also on the cache entries before it.
static bool goesRowByRow(Operation *op) {
  if (isRowWise(op) ||
      isa<EmbedOp, RopeOp, MaskFirstOp, HeadLinearOp, MoeRouteOp, MoeExpertsOp,
          ArgmaxOp, MaskTokensOp, EntropyOp, LogSumExpOp, TopKOp, GatherOp,
          ProbabilitiesOp, SampleOp, ReshapeOp, tensor::CastOp>(op))
    return true;
  return isa<AttentionOp, MlaAttentionOp, CachedAttentionOp, CausalConvOp,
             DeltaRuleOp>(op) &&
         op->getParentOfType<VerifyOp>();
}

void PickSources::visitArgument(BlockArgument argument) {
  Operation *around = argument.getOwner()->getParentOp();
  auto accept = dyn_cast<AcceptOp>(around);
  if (isa<RowsType>(argument.getType()))
    return visitRows(argument, around);
  if (accept && argument.getArgNumber() == 0)
    return follow(accept.getLogits());
  if (!accept && !isa<VerifyOp>(around))
    doubt(around->getLoc(), "it is not known what picks are made of");
}

void PickSources::visit(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return visitArgument(argument);
  Operation *op = value.getDefiningOp();
  if (op->hasTrait<OpTrait::ConstantLike>() || isa<WeightOp>(op))
    return;
  if (isa<RowsType>(value.getType()))
    return visitRows(value, op);
  if (auto verify = dyn_cast<VerifyOp>(op)) {
    Operation *yield = verify.getBodyRegion().front().getTerminator();
    return follow(yield->getOperand(cast<OpResult>(value).getResultNumber()));
  }
  if (auto mask = dyn_cast<MaskColumnsOp>(op))
    return visitMask(mask);
  if (auto sample = dyn_cast<SampleOp>(op); sample && sample.getAnchored())
    return doubt(op->getLoc(), "picks have noise by the anchor's position "
                               "('anchored'), which follows from where a round "
                               "begins");
  if (goesRowByRow(op)) {
    for (Value operand : op->getOperands())
      follow(operand);
    return;
  }
  if (isa<PerSlotOp, ReadStateOp, RowSlotsOp, RowPositionsOp, SlotsOp>(op))
    return visitSide(value, op);
  doubt(op->getLoc(), "it is not known that " + op->getName().getStringRef() +
                          " makes picks row by row");
}

std::optional<Doubt> PickSources::find(AcceptOp accept) {
  if (Value rows = accept.getRows())
    visitRows(rows, accept);
  for (Value picked :
       accept.getBodyRegion().front().getTerminator()->getOperands())
    follow(picked);
  while (!pending.empty() && !found)
    visit(pending.pop_back_val());
  return found;
}

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

/// Collects the stores of rounds and prefills by the name of the state.
static Stores findStores(ModuleOp module) {
  Stores stores;
  for (Operation &op : *module.getBody())
    if (isa<RoundOp, PrefillOp>(op))
      op.walk([&](Operation *inner) {
        if (auto store = dyn_cast<StoreOp>(inner))
          stores[store.getStateAttr().getAttr()].push_back(inner);
        else if (auto write = dyn_cast<WriteStateOp>(inner))
          stores[write.getStateAttr().getAttr()].push_back(inner);
      });
  return stores;
}

template <typename Op>
static Op findOnly(Block &body) {
  auto ops = body.getOps<Op>();
  return ops.empty() ? Op() : *ops.begin();
}

/// Finds a doubt in one program. Its output is only known if mtp.commit writes
/// the result of mtp.accept, and mtp.accept reads the logits of mtp.verify.
static std::optional<Doubt> findDoubtIn(Operation *program,
                                        const Stores &stores) {
  Block &body = program->getRegion(0).front();
  auto accept = findOnly<AcceptOp>(body);
  if (!accept)
    return Doubt{program->getLoc(), "it decides by code which tokens it puts "
                                    "out, and not by an mtp.accept"};
  if (accept.getRule() != AcceptRule::Exact)
    return Doubt{accept.getLoc(), "its rule is custom"};
  if (!findOnly<VerifyOp>(body))
    return Doubt{accept.getLoc(),
                 "the rows of its logits are not those of an mtp.verify"};
  if (!findOnly<CommitOp>(body))
    return Doubt{accept.getLoc(), "no mtp.commit puts out what it picks, so "
                                  "that code does"};
  return PickSources(program, stores).find(accept);
}

std::optional<Doubt> mlir::mtp::findDoubt(RoundOp round, PrefillOp prefill) {
  auto module = round->getParentOfType<ModuleOp>();
  Stores stores = findStores(module);
  for (Operation &op : *module.getBody()) {
    auto other = dyn_cast<RoundOp>(op);
    auto prompt = dyn_cast<PrefillOp>(op);
    if ((other && other.getK()) || (prompt && prompt.getK()))
      return Doubt{op.getLoc(), "it is written for one k by itself, and may "
                                "do another thing there"};
  }
  std::optional<Doubt> doubt = findDoubtIn(round, stores);
  return doubt || !prefill ? doubt : findDoubtIn(prefill, stores);
}
