//===- PlaceDrafters.cpp - Places of drafters' entries --------------------===//
//
// Rounds without drafts, or with fewer drafts than a chain has modules, write
// nothing to the caches of drafters. Attention reads all places of a cache up
// to the row's own, so a missing entry must have no place. Therefore a
// drafter's entries are consecutive: after a gap a row's place is its position
// minus the number of missing positions (`drafter_places`, which the host
// writes). Its position, and so its rotation and noise, stay unchanged. So a
// drafter sees all of its entries, each at its true distance, and nothing of a
// gap. Without gaps, places are positions.
//
// A round may draft more than one of its slots wants. The drafter of that slot
// then stays unchanged: its rows get no places and are padding rows. k
// determines which drafters run. So the host writes words for each k, for the
// layers that rounds of this k use and rounds of a smaller k do not.
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"
#include "passes/round/RoundExpansion.h"
#include "runtime/schema/PlaceLayout.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::mtp {
#define GEN_PASS_DEF_PLACEDRAFTERSPASS
#include "passes/Passes.h.inc"
} // namespace mlir::mtp

using namespace mlir;
using namespace mlir::mtp;
using Predicate = SlotBody::Predicate;

namespace {
/// A cache and a layer.
using LayerKey = std::pair<Attribute, int64_t>;

/// The smallest k whose rounds use each layer for slots' own rows.
using LeastK = llvm::MapVector<LayerKey, int64_t>;

struct PlaceDraftersPass
    : public mlir::mtp::impl::PlaceDraftersPassBase<PlaceDraftersPass> {
  using Base::Base;

  void runOnOperation() override;

private:
  LogicalResult place(Operation &around, const LeastK &least);
};

/// The layer that an op uses, and the operand with its rows.
struct LayerUse {
  LayerKey layer;
  OpOperand *rows;
};

/// Writes the places of rows in one round or prefill.
class RowPlacer {
public:
  explicit RowPlacer(Operation *around)
      : module(around->getParentOfType<ModuleOp>()), builder(around) {}

  /// Returns rows for the caches of layers that rounds of `k` and more use.
  FailureOr<Value> place(Value rows, int64_t k, Operation *user);
  void place(CacheMoveOp move, int64_t k);

  int64_t numPlaced = 0;

private:
  FailureOr<Value> make(Value rows, int64_t k, Operation *user);
  template <typename OpT>
  Value numberOf(Operation *made, Value rows);
  SmallVector<Value> placesOf(Operation *user, Value slots,
                              ArrayRef<Value> numbers, int64_t k);
  SmallVector<Value> placeNumbers(Location loc, Value slots,
                                  ArrayRef<Value> numbers, int64_t k);

  ModuleOp module;
  OpBuilder builder;
  llvm::MapVector<std::pair<Value, int64_t>, Value> known;
};
} // namespace

//===----------------------------------------------------------------------===//
// Uses of layers
//===----------------------------------------------------------------------===//

static std::optional<LayerUse> useOf(Operation *op) {
  using Use = std::optional<LayerUse>;
  return llvm::TypeSwitch<Operation *, Use>(op)
      .Case([](AttentionOp op) -> Use {
        if (!op.getCache())
          return std::nullopt;
        return LayerUse{{op.getCacheAttr(), int64_t(*op.getLayer())},
                        &op.getRowsMutable()};
      })
      .Case<CacheAppendOp, CachedAttentionOp>([](auto op) -> Use {
        return LayerUse{{op.getCacheAttr(), int64_t(op.getLayer())},
                        &op.getRowsMutable()};
      })
      .Default([](Operation *) -> Use { return std::nullopt; });
}

/// Returns whether rows, or their slots, are a prompt's.
static bool isOfPrompt(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (isa<PromptRowsOp>(op))
      return true;
    if (auto slots = dyn_cast<SlotsOp>(op))
      return slots.getPrompts();
    if (op->getNumOperands() == 0)
      return false;
    // The first operand of every op that makes rows determines their owner.
    value = op->getOperand(0);
  }
  return false;
}

static LeastK findLeastK(ModuleOp module) {
  LeastK least;
  for (RoundOp round : module.getOps<RoundOp>())
    for (Operation &op : *round.getBody())
      if (std::optional<LayerUse> use = useOf(&op);
          use && !isOfPrompt(use->rows->get())) {
        int64_t k = *round.getK();
        auto [it, isNew] = least.insert({use->layer, k});
        if (!isNew)
          it->second = std::min(it->second, k);
      }
  return least;
}

/// Returns the k of the drafters' layers of a cache; none if the target uses
/// it.
static std::optional<int64_t> leastOf(const LeastK &least, Attribute cache) {
  std::optional<int64_t> found;
  for (auto [layer, k] : least)
    if (layer.first == cache)
      found = std::min(found.value_or(k), k);
  return found && *found > 0 ? found : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

namespace {
/// Per-row numbers in the form in which a per-slot body made them.
struct Made {
  PerSlotOp body;
  SmallVector<Value> grids;
};
} // namespace

/// Returns the last of the bodies that made `numbers`, if all run for the same
/// slots.
static std::optional<Made> findBody(ArrayRef<Value> numbers, Block *block) {
  Made made;
  for (Value each : numbers) {
    auto reshape = each.getDefiningOp<ReshapeOp>();
    Value grid = reshape ? reshape.getX() : each;
    auto body = grid.getDefiningOp<PerSlotOp>();
    auto type = cast<RankedTensorType>(grid.getType());
    if (!body || body->getBlock() != block || type.getRank() > 2 ||
        type.getNumDynamicDims() > 1 ||
        (made.body && made.body.getSlots() != body.getSlots()))
      return std::nullopt;
    if (!made.body || made.body->isBeforeInBlock(body))
      made.body = body;
    made.grids.push_back(grid);
  }
  return made;
}

/// Returns the slot's element of `numbers` at `index`; `numbers` itself if it
/// is a single number.
static Value at(SlotBody &body, Value numbers, Value index) {
  return index ? body.element(numbers, index) : numbers;
}

/// Returns numbers in the shape of `like`, each computed by `number`.
static Value eachLike(SlotBody &body, Value like,
                      llvm::function_ref<Value(Value index)> number) {
  auto type = dyn_cast<RankedTensorType>(like.getType());
  if (!type)
    return number(Value());
  return type.getElementType().isInteger(64)
             ? body.wideVector(type.getDimSize(0), number)
             : body.vector(type.getDimSize(0), number);
}

/// Returns the places of positions; -1 for a position without a place. A mask
/// follows the places of its root and of its row, and is 0 if one of the two
/// places is -1.
SmallVector<Value> RowPlacer::placeNumbers(Location loc, Value slots,
                                           ArrayRef<Value> numbers, int64_t k) {
  useState(module, states::kDrafterPlaces);
  auto named = dyn_cast<NameLoc>(loc);
  SlotBody body(builder, loc, named ? named.getName().getValue() : "places",
                slots, numbers);
  auto word = [&](::mtp::PlaceWord which) {
    return body.load(states::kDrafterPlaces,
                     {body.constant(k - 1), body.constant(which)});
  };
  Value skipped = word(::mtp::kPlaceSkipped), first = word(::mtp::kPlaceFirst);
  Value dead = body.constant(-1), blind = body.wideConstant(0);
  SmallVector<Value> values;
  for (size_t i = 0; i < numbers.size(); ++i) {
    Value given = body.input(int64_t(i));
    bool isMask = getElementTypeOrSelf(given).isInteger(64);
    Value places = isMask ? values[i - 1] : Value();
    Value roots = isMask ? values[i - 2] : Value();
    values.push_back(eachLike(body, given, [&](Value index) -> Value {
      Value number = at(body, given, index);
      if (isMask) {
        auto isThere = [&](Value of) {
          return body.compare(Predicate::sgt, at(body, of, index), dead);
        };
        return body.select(body.both(isThere(roots), isThere(places)), number,
                           blind);
      }
      Value place = body.sub(number, skipped);
      return body.select(body.compare(Predicate::sge, place, first), place,
                         dead);
    }));
  }
  return SmallVector<Value>(body.yield(values));
}

/// Returns the places of the positions in `numbers` (see placeNumbers). If a
/// per-slot body made the positions, the code goes next to that body, and both
/// are joined later. Otherwise the code runs per row.
SmallVector<Value> RowPlacer::placesOf(Operation *user, Value slots,
                                       ArrayRef<Value> numbers, int64_t k) {
  OpBuilder::InsertionGuard guard(builder);
  std::optional<Made> made = findBody(numbers, user->getBlock());
  if (!made)
    return placeNumbers(user->getLoc(), slots, numbers, k);
  builder.setInsertionPointAfter(made->body);
  SmallVector<Value> places =
      placeNumbers(made->body.getLoc(), made->body.getSlots(), made->grids, k);
  builder.setInsertionPoint(user);
  for (auto [grid, number] : llvm::zip(places, numbers))
    if (grid.getType() != number.getType())
      grid = ReshapeOp::create(builder, user->getLoc(), number.getType(), grid);
  return places;
}

//===----------------------------------------------------------------------===//
// Rows and moves
//===----------------------------------------------------------------------===//

/// Returns the result of the OpT on `rows`, which `made` defines. Moves an
/// existing op directly after `made`, or creates one there, so that bodies of
/// these rows can be joined.
template <typename OpT>
Value RowPlacer::numberOf(Operation *made, Value rows) {
  for (Operation *user : rows.getUsers())
    if (auto known = dyn_cast<OpT>(user);
        known && known->getBlock() == made->getBlock()) {
      known->moveAfter(made);
      return known;
    }
  builder.setInsertionPointAfter(made);
  auto type =
      RankedTensorType::get({ShapedType::kDynamic}, builder.getI32Type());
  return OpT::create(builder, made->getLoc(), type, rows);
}

FailureOr<Value> RowPlacer::make(Value rows, int64_t k, Operation *user) {
  Operation *made = rows.getDefiningOp();
  Location loc = user->getLoc();
  if (auto tree = dyn_cast_or_null<MakeTreeRowsOp>(made)) {
    builder.setInsertionPointAfter(tree);
    SmallVector<Value> numbers =
        placesOf(tree, tree.getSlots(),
                 {tree.getRoots(), tree.getPlaces(), tree.getMasks()}, k);
    return Value(MakeTreeRowsOp::create(
        builder, loc, tree.getSlots(), tree.getPositions(), numbers[0],
        numbers[1], numbers[2], tree.getRefreshed()));
  }
  Value slots, positions;
  if (auto plain = dyn_cast_or_null<MakeRowsOp>(made)) {
    slots = plain.getSlots();
    positions = plain.getPositions();
  } else if (auto pack = dyn_cast_or_null<PackOp>(made);
             pack && pack.getRows().getDefiningOp<MakeTreeRowsOp>()) {
    // Rows stay active or padding, whatever their places.
    FailureOr<Value> tree = place(pack.getRows(), k, user);
    if (failed(tree))
      return failure();
    builder.setInsertionPointAfter(pack);
    auto copy = cast<PackOp>(builder.clone(*pack));
    copy.getRowsMutable().set(*tree);
    return Value(copy.getPacked());
  } else if (isa_and_nonnull<PromptRowsOp, PackOp>(made)) {
    positions = numberOf<RowPositionsOp>(made, rows);
    slots = numberOf<RowSlotsOp>(made, rows);
    made = positions.getDefiningOp();
  } else {
    return user->emitOpError("expected rows that mtp.make_rows or "
                             "mtp.tree_rows made, for a drafter's cache");
  }
  builder.setInsertionPointAfter(made);
  Value places = placesOf(made, slots, positions, k).front();
  return Value(MakeRowsOp::create(builder, loc, slots, places));
}

FailureOr<Value> RowPlacer::place(Value rows, int64_t k, Operation *user) {
  if (Value placed = known.lookup({rows, k}))
    return placed;
  FailureOr<Value> made = make(rows, k, user);
  if (failed(made))
    return failure();
  ++numPlaced;
  // The map may have changed meanwhile.
  return known[{rows, k}] = *made;
}

void RowPlacer::place(CacheMoveOp move, int64_t k) {
  builder.setInsertionPoint(move);
  SmallVector<Value> numbers =
      placesOf(move, move.getSlots(), {move.getFrom(), move.getTo()}, k);
  move.getFromMutable().set(numbers[0]);
  move.getToMutable().set(numbers[1]);
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

/// Returns whether rows of drafters in `op` may have gaps: in a round, and in
/// the catch-up. A prompt fills a cache without gaps.
static bool hasGaps(Operation &op) {
  if (auto round = dyn_cast<RoundOp>(op))
    return *round.getK() > 0;
  auto prefill = dyn_cast<PrefillOp>(op);
  return prefill && prefill.getCatchUp();
}

LogicalResult PlaceDraftersPass::place(Operation &around, const LeastK &least) {
  RowPlacer placer(&around);
  bool isRound = isa<RoundOp>(around);
  // Placing moves other ops, which an iterator could visit twice.
  auto ops =
      llvm::to_vector(llvm::make_pointer_range(around.getRegion(0).front()));
  for (Operation *op : ops) {
    if (auto move = dyn_cast<CacheMoveOp>(op)) {
      if (std::optional<int64_t> k = leastOf(least, move.getCacheAttr()))
        placer.place(move, *k);
      continue;
    }
    std::optional<LayerUse> use = useOf(op);
    if (!use || (isRound && isOfPrompt(use->rows->get())))
      continue;
    auto k = least.find(use->layer);
    if (k == least.end() || k->second == 0)
      continue;
    FailureOr<Value> rows = placer.place(use->rows->get(), k->second, op);
    if (failed(rows))
      return failure();
    use->rows->set(*rows);
  }
  numPlaced += placer.numPlaced;
  return success();
}

void PlaceDraftersPass::runOnOperation() {
  LeastK least = findLeastK(getOperation());
  for (Operation &op : llvm::make_early_inc_range(*getOperation().getBody()))
    if (hasGaps(op) && failed(place(op, least)))
      return signalPassFailure();
}
