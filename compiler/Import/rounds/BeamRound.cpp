//===- BeamRound.cpp - Dynamic trees --------------------------------------===//
//
// EAGLE-2 (arXiv:2406.16858), with functions of library/beam.mlir.in. At each
// depth the best nodes are expanded, with one pass of the drafter per depth.
// The best of all candidates are drafted.
//
// Each of the model's modules drafts one depth; the last module also drafts all
// deeper ones. Module d runs one pass. Its rows are the rows that were verified
// last, which gives its cache the accepted entries, and the beams of all depths
// so far.
//
// @later_modules holds the depths of modules 2 and up, and @grow the expansion
// of a depth, so the round's length does not depend on the number of modules.
// modules.
//
//===----------------------------------------------------------------------===//

#include "compiler/Import/emitters/FolderEmitter.h"
#include "compiler/Import/rounds/StepRound.h"

#include "dialects/MTP/IR/RuleAttrs.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <array>

namespace mtp::importer {

namespace {

using Values = llvm::SmallVector<mlir::Value>;

/// State that is carried from depth to depth: logits, states, the next
/// position, and the sums, numbers and masks of the beam's nodes.
struct Beam {
  Values values;
  /// Hidden states from the last module for all its rows, and the tokens and
  /// rows of each beam after the first.
  mlir::Value handedOn;
  Values tokens, rows;
};

class BeamEmitter {
public:
  explicit BeamEmitter(ModelContext &context)
      : context(context), builder(context.builder) {}

  Drafts emit();
  /// Emits @grow. Arguments: the slots, `sharp` if the tree has it, and a beam.
  /// Results: the tokens, rows, states, next position, sums, numbers and masks
  /// of the nodes to expand next.
  void emitGrow();
  /// Emits @later_modules. Arguments: the slots, `sharp` if the tree has it,
  /// the first module's hidden states, and a beam. Results: the beam of the
  /// last module.
  void emitLater();

private:
  llvm::SmallVector<mlir::Type> beamTypes();
  llvm::SmallVector<Argument> beamArguments();
  llvm::SmallVector<Argument> slotArguments();
  mlir::ValueRange takeSlots(mlir::ValueRange given);
  Values slotValues();
  std::array<mlir::Value, 2> best(mlir::ValueRange beam);
  llvm::SmallVector<mlir::Type> grownTypes();
  mlir::Operation *grow(mlir::ValueRange beam);
  mlir::Value take(mlir::Value x, mlir::Value rows, llvm::StringRef name);
  Beam begin();
  Values firstOf(const Beam &beam, int64_t module);
  Values runModule(Beam beam, int64_t module);
  Values later(const Beam &beam);
  Values depths(mlir::ValueRange first);

  ModelContext &context;
  mlir::OpBuilder &builder;
  /// The slots, the tree's `sharp` per slot (null if it has none), and k.
  mlir::Value slots, sharp, k;
};

constexpr llvm::StringLiteral kGrow = "grow", kLaterModules = "later_modules";

} // namespace

/// Returns the types of the sums, numbers and masks of a beam's nodes, which
/// @expand of the library returns beside rows and states.
llvm::SmallVector<mlir::Type> BeamEmitter::beamTypes() {
  auto of = [&](mlir::Type element) -> mlir::Type {
    return mlir::RankedTensorType::get(
        {mlir::ShapedType::kDynamic, context.draft.tree.width}, element);
  };
  return {of(builder.getF32Type()), of(builder.getI32Type()),
          of(builder.getI64Type())};
}

/// Returns the state carried from depth to depth, as arguments.
llvm::SmallVector<Argument> BeamEmitter::beamArguments() {
  llvm::SmallVector<Argument> arguments = {{"logits", draftLogits(context)},
                                           {"states", draftHidden(context)},
                                           {"next", context.tokens()}};
  constexpr llvm::StringLiteral names[] = {"sums", "nodes", "masks"};
  for (auto [name, type] : llvm::zip_equal(names, beamTypes()))
    arguments.push_back({name, type});
  return arguments;
}

/// Returns the arguments per slot: the slots, and `sharp` if the tree has it.
llvm::SmallVector<Argument> BeamEmitter::slotArguments() {
  llvm::SmallVector<Argument> arguments = {{"slots", context.tokens()}};
  if (context.draft.tree.sharp)
    arguments.push_back(
        {"sharp", mlir::RankedTensorType::get({mlir::ShapedType::kDynamic},
                                              builder.getF32Type())});
  return arguments;
}

/// Takes the arguments per slot off the front of a function's arguments.
mlir::ValueRange BeamEmitter::takeSlots(mlir::ValueRange given) {
  slots = given[0];
  if (context.draft.tree.sharp)
    sharp = given[1];
  return given.drop_front(sharp ? 2 : 1);
}

Values BeamEmitter::slotValues() {
  return sharp ? Values{slots, sharp} : Values{slots};
}

/// Returns the best tokens after each node of the beam and their log
/// probabilities. Both are squares of width x width per slot.
std::array<mlir::Value, 2> BeamEmitter::best(mlir::ValueRange beam) {
  int64_t width = context.draft.tree.width, open = mlir::ShapedType::kDynamic;
  auto logits = llvm::cast<mlir::RankedTensorType>(beam[0].getType());
  mlir::Value groups = mlir::mtp::ReshapeOp::create(
      builder, context.name("groups"),
      logits.clone({open, width, logits.getDimSize(1)}), beam[0]);
  mlir::Value noise;
  if (isCoupled(context))
    noise = emitCall(context, "verifying", {slots, beam[2]}, context.rows(),
                     "verifying")
                ->getResult(0);
  auto best = mlir::mtp::TopKOp::create(
      builder, context.name("best"),
      mlir::RankedTensorType::get({open, width, width}, builder.getI32Type()),
      logits.clone({open, width, width}), groups, width, vocabularyOf(context),
      noise, /*number=*/mlir::Value());
  // Sums along a path add the log share of each pick. A log share is at most 0,
  // so a node never ranks above its parent.
  if (noise)
    best->setAttr(mlir::mtp::kSharesAttr, builder.getUnitAttr());
  mlir::Value logs = best.getLogs();
  if (sharp)
    logs = emitCall(context, "sharpen", {slots, logs, sharp}, logs.getType(),
                    "sharpened")
               ->getResult(0);
  return {best.getBest(), logs};
}

llvm::SmallVector<mlir::Type> BeamEmitter::grownTypes() {
  llvm::SmallVector<mlir::Type> types = {
      context.tokens(), context.rows(), draftHidden(context), context.tokens()};
  llvm::append_range(types, beamTypes());
  return types;
}

void BeamEmitter::emitGrow() {
  llvm::SmallVector<Argument> arguments = slotArguments();
  llvm::append_range(arguments, beamArguments());
  FunctionEmitter function(context, kGrow, arguments, grownTypes(),
                           /*prefixes=*/{});
  mlir::ValueRange beam = takeSlots(function.function().getArguments());
  std::array<mlir::Value, 2> found = best(beam);
  Values inputs = {slots, found[0], found[1]};
  llvm::append_range(inputs, beam.drop_front());
  function.finish(
      emitApply(context, "expand", inputs, grownTypes(), "beam")->getResults());
}

mlir::Operation *BeamEmitter::grow(mlir::ValueRange beam) {
  Values inputs = slotValues();
  llvm::append_range(inputs, beam);
  return emitCall(context, kGrow, inputs, grownTypes(), "grown");
}

mlir::Value BeamEmitter::take(mlir::Value x, mlir::Value rows,
                              llvm::StringRef name) {
  return mlir::mtp::GatherRowsOp::create(builder, context.name(name),
                                         x.getType(), x, rows);
}

/// Returns the first beam: the anchor's row of each slot, repeated for each
/// node.
Beam BeamEmitter::begin() {
  auto refresh = mlir::mtp::RefreshOp::create(
      builder, context.name("refreshed"), context.tokens(), context.rows(),
      context.tokens(), context.tokens(), context.handedOn());
  mlir::Value hidden = refresh.getHidden();
  if (fusesTaps(context))
    hidden = emitFused(context, hidden);
  mlir::Operation *step =
      emitStep(context, {refresh.getTokens(), hidden, refresh.getRows()});
  llvm::SmallVector<mlir::Type> results = {context.tokens()};
  llvm::append_range(results, beamTypes());
  mlir::Operation *begin = emitCall(
      context, "begin", {slots, refresh.getAnchor()}, results, "begin");
  mlir::Value rows = begin->getResult(0);
  return {{take(step->getResult(0), rows, "logits"),
           take(step->getResult(1), rows, "states"), refresh.getNext(),
           begin->getResult(1), begin->getResult(2), begin->getResult(3)},
          step->getResult(1),
          {},
          {}};
}

/// Emits the first depth of `module` (2 or more) and of all later modules. If
/// the round is not that deep, the beam stays as it is.
Values BeamEmitter::firstOf(const Beam &beam, int64_t module) {
  if (module > countSteps(context))
    return beam.values;
  mlir::Value least = emitIndex(context, module - 1, "shallow");
  mlir::Value isDeep =
      mlir::arith::CmpIOp::create(builder, context.name("is_deep"),
                                  mlir::arith::CmpIPredicate::ugt, k, least);
  auto branch = mlir::scf::IfOp::create(
      builder, context.name("beam"), mlir::ValueRange(beam.values).getTypes(),
      isDeep, /*addThenBlock=*/true, /*addElseBlock=*/true);
  mlir::OpBuilder::InsertionGuard guard(builder);
  auto yield = [&](mlir::Block *block, auto values) {
    builder.setInsertionPointToEnd(block);
    mlir::scf::YieldOp::create(builder, builder.getUnknownLoc(), values());
  };
  yield(branch.thenBlock(), [&] { return runModule(beam, module); });
  yield(branch.elseBlock(), [&] { return beam.values; });
  return Values(branch.getResults());
}

Values BeamEmitter::runModule(Beam beam, int64_t module) {
  mlir::Operation *next = grow(beam.values);
  beam.tokens.push_back(next->getResult(0));
  beam.rows.push_back(next->getResult(1));
  auto rows = mlir::mtp::RefreshModuleOp::create(
      builder, context.name("joined"), context.tokens(), context.rows(),
      draftHidden(context), context.tokens(), context.tokens(),
      uint64_t(module), beam.handedOn, beam.tokens, beam.rows);
  mlir::Operation *step =
      emitStep(context, {rows.getTokens(), rows.getHidden(), rows.getRows()},
               module - 1);
  beam.handedOn = step->getResult(1);
  beam.values = {take(step->getResult(0), rows.getLast(), "logits"),
                 take(step->getResult(1), rows.getLast(), "states")};
  llvm::append_range(beam.values, next->getResults().drop_front(3));
  return firstOf(beam, module + 1);
}

void BeamEmitter::emitLater() {
  llvm::SmallVector<Argument> arguments = slotArguments();
  arguments.push_back({"handed_on", draftHidden(context)});
  llvm::SmallVector<mlir::Type> results;
  for (const Argument &argument : beamArguments()) {
    results.push_back(argument.type);
    arguments.push_back(argument);
  }
  FunctionEmitter function(context, kLaterModules, arguments, results,
                           /*prefixes=*/{});
  mlir::ValueRange given = takeSlots(function.function().getArguments());
  k = mlir::mtp::KOp::create(builder, context.name("k"),
                             builder.getIndexType());
  function.finish(firstOf({Values(given.drop_front()), given[0], {}, {}},
                          /*module=*/2));
}

/// Returns the beam after each module has drafted its own depth.
Values BeamEmitter::later(const Beam &beam) {
  if (countSteps(context) == 1)
    return beam.values;
  Values inputs = slotValues();
  inputs.push_back(beam.handedOn);
  llvm::append_range(inputs, beam.values);
  return Values(emitCall(context, kLaterModules, inputs,
                         mlir::ValueRange(beam.values).getTypes(), "beam")
                    ->getResults());
}

/// Emits the remaining depths, with one pass of the last module for each.
Values BeamEmitter::depths(mlir::ValueRange first) {
  int64_t modules = countSteps(context);
  mlir::Value one = emitIndex(context, 1, "c1");
  mlir::Value begin =
      modules == 1 ? one : emitIndex(context, modules, "modules");
  auto loop = mlir::scf::ForOp::create(
      builder, context.name("beam"), begin, k, one, first,
      [&](mlir::OpBuilder &inner, mlir::Location location, mlir::Value,
          mlir::ValueRange beam) {
        mlir::OpBuilder outer = builder;
        builder = inner;
        mlir::Operation *next = grow(beam);
        mlir::Value rows = next->getResult(1);
        if (modules > 1)
          rows = mlir::mtp::ModuleRowsOp::create(builder, context.name("moved"),
                                                 context.rows(), rows,
                                                 uint64_t(modules));
        mlir::Operation *step =
            emitStep(context, {next->getResult(0), next->getResult(2), rows},
                     modules - 1);
        Values yielded(step->getResults());
        llvm::append_range(yielded, next->getResults().drop_front(3));
        mlir::scf::YieldOp::create(builder, location, yielded);
        builder = outer;
      });
  return Values(loop.getResults());
}

Drafts BeamEmitter::emit() {
  slots = emitSlots(context);
  if (context.draft.tree.sharp)
    sharp = context.numbers["sharp"];
  auto draft = mlir::mtp::DraftRegionOp::create(
      builder, context.name("drafts"),
      mlir::TypeRange{context.grid(), context.grid()});
  mlir::OpBuilder::InsertionGuard guard(builder);
  enterRegion(context, draft.getBodyRegion(), {});
  Beam first = begin();
  k = mlir::mtp::KOp::create(builder, context.name("k"),
                             builder.getIndexType());
  Values beam = depths(later(first));
  mlir::Operation *last = grow(beam);
  mlir::Operation *kept = emitCall(
      context, "rerank", {slots, last->getResult(3), context.numbers["most"]},
      {context.grid(), context.grid()}, "kept");
  emitYield(context, kept->getResults());
  return {draft.getResult(0), draft.getResult(1), {}};
}

bool isCoupled(const ModelContext &context) {
  return context.draft.tree.rank == TreeRank::Coupled &&
         picksAsTarget(context.draft.accept);
}

void emitBeamFunctions(ModelContext &context) {
  BeamEmitter(context).emitGrow();
  if (countSteps(context) > 1)
    BeamEmitter(context).emitLater();
}

void addBeamNumbers(ModelContext &context, std::vector<RoundNumber> &numbers) {
  const DraftTree &tree = context.draft.tree;
  mlir::Builder &builder = context.builder;
  if (tree.kind == DraftTreeKind::Dynamic)
    numbers.push_back(constantNumber(
        context, "most", builder.getI32IntegerAttr(int32_t(tree.nodes - 1))));
  if (tree.sharp)
    numbers.push_back(constantNumber(
        context, "sharp", builder.getF32FloatAttr(float(*tree.sharp))));
}

Drafts emitBeam(ModelContext &context) { return BeamEmitter(context).emit(); }

} // namespace mtp::importer
