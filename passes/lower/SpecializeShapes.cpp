//===- SpecializeShapes.cpp - Programs for ranges of n --------------------===//
//
// A round with a known k becomes a program for all batches, a prefill one for
// all chunks. Rows become counts of n, which is the number of slots or the rows
// of the chunk. Exported functions become programs as well.
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/IR/ExecOps.h"
#include "dialects/Exec/IR/KernelKinds.h"
#include "dialects/MTP/IR/MTPOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "passes/Passes.h"
#include "passes/lower/FunctionProgram.h"
#include "passes/support/CountRows.h"
#include "passes/support/Envelope.h"
#include "passes/support/RoundStates.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::mtp {
#define GEN_PASS_DEF_SPECIALIZESHAPESPASS
#include "passes/Passes.h.inc"
} // namespace mlir::mtp

using namespace mlir;
using namespace mlir::mtp;

namespace {

/// Ops by their symbols, in the module's order.
using Names = llvm::MapVector<StringRef, Operation *>;

struct SpecializeShapesPass
    : public mlir::mtp::impl::SpecializeShapesPassBase<SpecializeShapesPass> {
  using Base::Base;

  void runOnOperation() override;

private:
  LogicalResult checkNames(const Names &taken);
  LogicalResult checkRounds(EnvelopeAttr envelope);
  LogicalResult writeProgram(Operation *round, exec::ProgramOp program,
                             const ProgramRows &rows);
  LogicalResult writeRound(OpBuilder &builder, RoundOp round, StringRef name,
                           int64_t sequences, exec::Points points);
  LogicalResult writeRounds(EnvelopeAttr envelope);
  LogicalResult writePrefill(OpBuilder &builder, PrefillOp prefill,
                             int64_t sequences, exec::Points points);
  LogicalResult writeCatchUp(OpBuilder &builder, PrefillOp prefill);
  LogicalResult writePrefills(EnvelopeAttr envelope);
  LogicalResult writeModel();
  LogicalResult writeFunctions();
};

} // namespace

/// Returns the names that the module defines and keeps.
static Names findNames(ModuleOp module) {
  Names names;
  for (Operation &op : *module.getBody()) {
    auto function = dyn_cast<func::FuncOp>(op);
    // The memory of a declared state gets the state's name.
    if (isa<RoundOp, PrefillOp, StateOp>(op) ||
        (function && function.isPrivate())) {
      continue;
    }
    if (StringAttr name = SymbolTable::getSymbolName(&op))
      names[name.getValue()] = &op;
  }
  return names;
}

/// Checks that no other symbol has a name that the file format reserves for
/// states and programs.
LogicalResult SpecializeShapesPass::checkNames(const Names &taken) {
  for (Operation &op : *getOperation().getBody()) {
    if (!isa<exec::StateOp, exec::ProgramOp>(op))
      continue;
    llvm::StringRef name = SymbolTable::getSymbolName(&op).getValue();
    Operation *other = taken.lookup(name);
    if (other && other != &op) {
      return other->emitError("expected a name other than '")
             << name << "', which a "
             << (isa<exec::StateOp>(op) ? "state" : "program")
             << " of the round has; rename it";
    }
  }
  return success();
}

/// Checks that there is a prefill for plain decoding, and, if a prefill reads
/// ahead for drafters, one for all drafts.
static LogicalResult checkPrefills(ModuleOp module, EnvelopeAttr envelope) {
  auto prefills = module.getOps<PrefillOp>();
  if (prefills.empty())
    return module.emitError("expected a prefill beside the rounds, got none");
  llvm::SmallDenseSet<int64_t> found;
  for (PrefillOp prefill : prefills) {
    if (!prefill.getK())
      return prefill.emitOpError("expected a prefill with a k, is "
                                 "mtp-instantiate-rounds missing before this "
                                 "pass?");
    if (!prefill.getCatchUp())
      found.insert(*prefill.getK());
  }
  int64_t ahead = placesAhead(module);
  for (int64_t k : {int64_t(0), ahead > 0 ? int64_t(envelope.getMaxK()) : 0}) {
    if (found.contains(k))
      continue;
    InFlightDiagnostic diag = (*prefills.begin()).emitOpError("expected one ");
    diag << "for k = " << k << ", too, got none";
    if (k > 0)
      diag << ": the prompt is read " << ahead << " places ahead";
    return diag;
  }
  return success();
}

/// Checks that every k has a round, and that there are prefills.
LogicalResult SpecializeShapesPass::checkRounds(EnvelopeAttr envelope) {
  ModuleOp module = getOperation();
  llvm::SmallDenseSet<int64_t> found;
  for (RoundOp round : module.getOps<RoundOp>()) {
    if (!round.getK())
      return round.emitOpError("expected a round with a k, is "
                               "mtp-instantiate-rounds missing before this "
                               "pass?");
    found.insert(*round.getK());
  }
  for (int64_t k = 0; k <= int64_t(envelope.getMaxK()); ++k)
    if (!found.contains(k))
      return module.emitError("expected a round for k = ") << k << ", got none";
  return checkPrefills(module, envelope);
}

/// Checks that a declared output has the declared rows.
static LogicalResult checkOutput(OutputOp op, Value value, Operation *round,
                                 const ProgramRows &rows) {
  if (!op.getOf())
    return success();
  auto decode = dyn_cast<RoundOp>(round);
  bool isPerToken = decode && *op.getOf() == OutputRows::Tokens;
  exec::Count expected =
      isPerToken ? rows.slots * (*decode.getK() + 1) : rows.slots;
  exec::Count got = exec::rowsOf(value);
  if (got == expected)
    return success();
  return op.emitOpError("expected ")
         << expected << " rows for " << stringifyOutputRows(*op.getOf())
         << ", got " << got << " rows";
}

/// Clones the region of `round` into `program`.
LogicalResult SpecializeShapesPass::writeProgram(Operation *round,
                                                 exec::ProgramOp program,
                                                 const ProgramRows &rows) {
  OpBuilder builder = OpBuilder::atBlockBegin(&program.getBody().front());
  IRMapping mapping;
  SmallVector<exec::OutputOp> outputs;
  for (Operation &op : round->getRegion(0).front()) {
    if (auto output = dyn_cast<OutputOp>(op)) {
      Value value = mapping.lookup(output.getValue());
      if (failed(checkOutput(output, value, round, rows)))
        return failure();
      outputs.push_back(exec::OutputOp::create(
          builder, op.getLoc(), output.getName(), value, output.getOfAttr()));
      continue;
    }
    if (auto wait = dyn_cast<AwaitHostOp>(op)) {
      for (auto [name, value] : {std::pair("drafts", wait.getDrafts()),
                                 std::pair("parents", wait.getParents())})
        if (value)
          outputs.push_back(exec::OutputOp::create(builder, op.getLoc(), name,
                                                   mapping.lookup(value),
                                                   OutputRowsAttr()));
      exec::AwaitHostOp::create(builder, op.getLoc());
      continue;
    }
    if (failed(countRows(builder.clone(op, mapping), rows)))
      return failure();
  }
  // The host reads outputs after all other ops.
  Block &body = program.getBody().front();
  for (exec::OutputOp output : outputs)
    output->moveBefore(&body, body.end());
  ++numPrograms;
  return success();
}

/// Returns n, or its value if a program has only one n.
static exec::Count countOf(exec::Points points, bool isFixed) {
  return isFixed ? exec::Count(points.least) : exec::Count(0, 1);
}

/// Splits the batches of a round into those whose rows are all verified and
/// those that its row budget trims.
static SmallVector<exec::Points> partsOf(exec::Points points, RoundOp round) {
  for (auto pack : round.getBody()->getOps<PackOp>()) {
    if (!pack.getAtMost())
      continue;
    int64_t whole = int64_t(*pack.getAtMost()) / round.getWindow();
    if (whole >= points.least && whole < points.most)
      return {{points.least, whole}, {whole + 1, points.most}};
  }
  return {points};
}

/// Returns the ranges of n of the programs: all n in one, or each n by itself.
static SmallVector<exec::Points> pointsUpTo(int64_t most, bool single) {
  if (!single)
    return {{1, most}};
  SmallVector<exec::Points> all;
  for (int64_t n = 1; n <= most; ++n)
    all.push_back({n, n});
  return all;
}

/// Writes the program of `round` for these batches under `name`. `sequences` is
/// the number of prompts in its batch, if it has any.
LogicalResult SpecializeShapesPass::writeRound(OpBuilder &builder,
                                               RoundOp round, StringRef name,
                                               int64_t sequences,
                                               exec::Points points) {
  auto program =
      exec::ProgramOp::create(builder, round.getLoc(), name,
                              exec::ProgramKind::Decode, *round.getK(), points);
  program.setPrompts(round.getPrompts());
  ProgramRows rows{countOf(points, single), /*chunk=*/0};
  rows.points = points;
  if (std::optional<int64_t> prompts = round.getPrompts()) {
    rows.chunk = *prompts;
    rows.sequences = sequences;
    if (sequences > 1)
      program.setSequences(sequences);
  }
  return writeProgram(round, program, rows);
}

/// Returns the program name of `round` for batches from `least` on.
static std::string nameOf(RoundOp round, int64_t least, int64_t sequences,
                          bool single) {
  std::string name = "decode_";
  if (single)
    name += "b" + std::to_string(least) + "_";
  name += "k" + std::to_string(*round.getK());
  if (round.getPrompts())
    name += "_prompts";
  if (sequences > 1)
    name += "_s" + std::to_string(sequences);
  return name;
}

/// Writes the programs of all rounds. A round with prompt rows gets one program
/// per supported number of prompts, if there are slots for them besides the
/// round's own.
LogicalResult SpecializeShapesPass::writeRounds(EnvelopeAttr envelope) {
  auto rounds = llvm::to_vector(getOperation().getOps<RoundOp>());
  OpBuilder builder(rounds.front());
  int64_t slots = envelope.getMaxBatch();
  auto writeParts = [&](RoundOp round, int64_t sequences, exec::Points all) {
    if (sequences > 1)
      all.most = std::min(all.most, slots - sequences);
    if (all.least > all.most)
      return success();
    std::string name = nameOf(round, all.least, sequences, single);
    for (exec::Points points : partsOf(all, round)) {
      // The name follows the pattern of programs that are split later.
      std::string part = points.least == all.least
                             ? name
                             : name + "_from" + std::to_string(points.least);
      if (failed(writeRound(builder, round, part, sequences, points)))
        return failure();
    }
    return success();
  };
  for (exec::Points all : pointsUpTo(slots, single))
    for (RoundOp round : rounds) {
      int64_t most =
          std::min<int64_t>(kMostSequences, round.getPrompts().value_or(1));
      for (int64_t sequences = 1; sequences <= most; sequences *= 2)
        if (failed(writeParts(round, sequences, all)))
          return failure();
    }
  return success();
}

/// Writes the program of `prefill` for n rows of `sequences` sequences.
LogicalResult SpecializeShapesPass::writePrefill(OpBuilder &builder,
                                                 PrefillOp prefill,
                                                 int64_t sequences,
                                                 exec::Points points) {
  std::string name = "prefill";
  if (sequences > 1)
    name += "_s" + std::to_string(sequences);
  if (single)
    name += "_c" + std::to_string(points.least);
  if (*prefill.getK() > 0)
    name += "_mtp";
  auto program = exec::ProgramOp::create(builder, prefill.getLoc(), name,
                                         exec::ProgramKind::Prefill,
                                         *prefill.getK(), points);
  if (sequences > 1)
    program.setSequences(sequences);
  return writeProgram(prefill, program, {sequences, countOf(points, single)});
}

/// Writes the program of a catch-up, for any number of rows that a chunk may
/// have. It has no head, so one program serves all numbers of sequences up to a
/// limit; unused sequences have no rows.
LogicalResult SpecializeShapesPass::writeCatchUp(OpBuilder &builder,
                                                 PrefillOp prefill) {
  auto envelope = getOperation()->getAttrOfType<EnvelopeAttr>(kEnvelopeAttr);
  int64_t reach = *prefill.getCatchUp();
  int64_t sequences = catchUpSequences(getOperation());
  int64_t most =
      std::min<int64_t>(reach * sequences, envelope.getPrefillChunk());
  for (exec::Points points : pointsUpTo(most, single)) {
    std::string name = "catch_up";
    if (single)
      name += "_c" + std::to_string(points.least);
    auto program = exec::ProgramOp::create(builder, prefill.getLoc(), name,
                                           exec::ProgramKind::Prefill,
                                           *prefill.getK(), points);
    program.setCatchUp(reach);
    if (sequences > 1)
      program.setSequences(sequences);
    if (failed(writeProgram(prefill, program,
                            {sequences, countOf(points, single)})))
      return failure();
  }
  return success();
}

/// Writes one program for each supported number of sequences in a chunk. The
/// head runs on one row per sequence. Up to four rows cost it as much as one,
/// since weights are read once. So the numbers are exact, not ranges with
/// padding rows.
LogicalResult SpecializeShapesPass::writePrefills(EnvelopeAttr envelope) {
  int64_t chunk = envelope.getPrefillChunk();
  int64_t most = std::min<int64_t>(
      {kMostSequences, int64_t(envelope.getMaxBatch()), chunk});
  auto prefills = llvm::to_vector(getOperation().getOps<PrefillOp>());
  OpBuilder builder(prefills.front());
  for (int64_t sequences = 1; sequences <= most; sequences *= 2)
    for (exec::Points points : pointsUpTo(chunk, single)) {
      if (points.most < sequences)
        continue;
      points.least = std::max(points.least, sequences);
      for (PrefillOp prefill : prefills)
        if (!prefill.getCatchUp() &&
            failed(writePrefill(builder, prefill, sequences, points)))
          return failure();
    }
  for (PrefillOp prefill : prefills)
    if (prefill.getCatchUp() && failed(writeCatchUp(builder, prefill)))
      return failure();
  return success();
}

/// Writes the sizes that the artifact states and that programs contain only
/// implicitly.
LogicalResult SpecializeShapesPass::writeModel() {
  ModuleOp module = getOperation();
  RoundOp round = *module.getOps<RoundOp>().begin();
  int64_t vocab = 0;
  for (auto output : round.getBody()->getOps<OutputOp>())
    if (output.getName() == "logits")
      vocab = widthOf(output.getValue());
  if (vocab <= 0)
    return round.emitOpError(
        "expected an mtp.output \"logits\" of rows as wide "
        "as the vocabulary");
  Builder builder(&getContext());
  module->setAttr(
      exec::kModelAttr,
      builder.getDictionaryAttr(
          {builder.getNamedAttr(exec::kModules,
                                builder.getI64IntegerAttr(placesAhead(module))),
           builder.getNamedAttr(exec::kVocab,
                                builder.getI64IntegerAttr(vocab))}));
  return success();
}

LogicalResult SpecializeShapesPass::writeFunctions() {
  for (auto function : llvm::to_vector(getOperation().getOps<func::FuncOp>())) {
    if (function.isPublic()) {
      if (failed(writeFunctionProgram(function)))
        return failure();
      ++numPrograms;
    }
    function.erase();
  }
  return success();
}

/// Checks that only kernels have names with the prefix of the runtime's own
/// kernels.
static LogicalResult checkPrefixes(ModuleOp module) {
  for (auto &[name, op] : findNames(module)) {
    if (name.starts_with(exec::kBuiltinPrefix) && !isa<exec::KernelOp>(op)) {
      return op->emitError("expected a name that does not begin with '")
             << exec::kBuiltinPrefix << "', as the runtime's kernels do, got '"
             << name << "'";
    }
  }
  return success();
}

void SpecializeShapesPass::runOnOperation() {
  ModuleOp module = getOperation();
  if (failed(checkPrefixes(module)))
    return signalPassFailure();
  if (!module.getOps<RoundOp>().empty() ||
      !module.getOps<PrefillOp>().empty()) {
    auto envelope = module->getAttrOfType<EnvelopeAttr>(kEnvelopeAttr);
    Names taken = findNames(module);
    if (failed(checkRounds(envelope)) || failed(writeModel()))
      return signalPassFailure();
    declareContract(module, placesAhead(module));
    allocateStates(module, envelope);
    if (failed(writeRounds(envelope)) || failed(writePrefills(envelope)) ||
        failed(checkNames(taken)))
      return signalPassFailure();
    for (auto round : llvm::to_vector(module.getOps<RoundOp>()))
      round.erase();
    for (auto prefill : llvm::to_vector(module.getOps<PrefillOp>()))
      prefill.erase();
  }
  if (failed(writeFunctions()))
    return signalPassFailure();
}
