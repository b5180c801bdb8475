//===- LintStates.cpp - Warn of lost and unused states --------------------===//
//
// Only an unknown output is an error. The other findings show only in
// acceptance, in memory, or after a preemption. The pass compares rounds and
// prefills after expansion, so accesses that expansions wrote count, too.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "passes/Passes.h"
#include "passes/support/RoundStates.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

namespace mlir::mtp {
#define GEN_PASS_DEF_LINTSTATESPASS
#include "passes/Passes.h.inc"
} // namespace mlir::mtp

using namespace mlir;
using namespace mlir::mtp;

namespace {
struct LintStatesPass
    : public mlir::mtp::impl::LintStatesPassBase<LintStatesPass> {
  using Base::Base;

  void runOnOperation() override;

private:
  InFlightDiagnostic warn(Operation *op);
  void visit(Operation *program);
  void noteState(Operation *op, bool isRound);
  void checkOutput(OutputOp op);
  void noteCache(Operation *op, bool isRound, bool hasDrafts);
  void checkState(StateOp state);
  void checkDraftersAlone(CacheOp cache);
  void checkCache(CacheOp cache);
  void checkUses(Operation *symbol, llvm::StringRef what);

  /// The ops that read and write a state.
  struct Accesses {
    Operation *read = nullptr, *write = nullptr;
    Operation *prefillWrite = nullptr;
    /// A read of a value that an earlier round may have left, in a round that
    /// writes the state.
    Operation *carried = nullptr;
  };
  llvm::StringMap<Accesses> states;
  /// The writes of each state so far in the visited program, and the first read
  /// that is not certain to follow a write.
  llvm::StringMap<SmallVector<Operation *>> written;
  llvm::StringMap<Operation *> found;
  /// Locations of reported outputs. The round of each k has a copy of an
  /// output, but one report suffices.
  llvm::DenseSet<Location> reported;
  bool hasFailed = false;
  /// Layers of a cache that rounds with drafts read, with the reading op.
  llvm::MapVector<std::pair<StringRef, int64_t>, Operation *> readLayers;
  llvm::DenseSet<std::pair<StringRef, int64_t>> filledLayers;
  /// Layers of a cache that programs of k = 0 read, with the reading op.
  llvm::MapVector<std::pair<StringRef, int64_t>, Operation *> readWithoutDrafts;
  llvm::DenseSet<std::pair<StringRef, int64_t>> filledWithoutDrafts;
};
} // namespace

InFlightDiagnostic LintStatesPass::warn(Operation *op) {
  ++numWarnings;
  return op->emitWarning();
}

//===----------------------------------------------------------------------===//
// Accesses of programs
//===----------------------------------------------------------------------===//

/// Returns whether `read`, which comes after `write`, is certain to find the
/// value of `write`.
///
/// A branch that may not be taken is not certain to write, and neither is a
/// loop, which may have no iterations. A loop over an array is assumed to write
/// all elements that are read, since the indices are known only at run time.
/// However, no round writes a whole array with an element per position of a
/// context.
static bool isSureToWrite(Operation *write, Operation *read) {
  auto name = write->getAttrOfType<FlatSymbolRefAttr>("state");
  auto state =
      SymbolTable::lookupNearestSymbolFrom<StateOp>(write, name.getAttr());
  bool isScalar =
      isa<StoreOp>(write) && cast<StoreOp>(write).getIndices().empty();
  if (!isScalar && state &&
      llvm::any_of(state.getExtents().getAsRange<ExtentAttr>(),
                   [](ExtentAttr extent) {
                     return extent.getUnit() == ExtentUnit::MaxContext;
                   }))
    return false;
  for (Region *region = write->getParentRegion();
       !isa<RoundOp, PrefillOp>(region->getParentOp());
       region = region->getParentOp()->getParentRegion()) {
    Operation *parent = region->getParentOp();
    auto loop = dyn_cast<scf::ForOp>(parent);
    std::optional<APInt> turns =
        loop ? loop.getStaticTripCount() : std::nullopt;
    bool hasTurns = turns && !turns->isZero();
    bool mayBeLeftOut =
        isa<scf::IfOp>(parent) ||
        (isScalar && isa<scf::ForOp, scf::ParallelOp>(parent) && !hasTurns);
    if (mayBeLeftOut && !region->isAncestor(read->getParentRegion()))
      return false;
  }
  return true;
}

void LintStatesPass::noteState(Operation *op, bool isRound) {
  auto name = op->getAttrOfType<FlatSymbolRefAttr>("state");
  if (!name)
    return;
  Accesses &accesses = states[name.getValue()];
  if (isa<LoadOp, ReadStateOp, MaskColumnsOp>(op)) {
    accesses.read = op;
    if (llvm::none_of(written.lookup(name.getValue()), [&](Operation *write) {
          return isSureToWrite(write, op);
        }))
      found.try_emplace(name.getValue(), op);
    return;
  }
  accesses.write = op;
  if (!isRound)
    accesses.prefillWrite = op;
  written[name.getValue()].push_back(op);
}

void LintStatesPass::checkOutput(OutputOp op) {
  if (op.getOf() ||
      llvm::is_contained(OutputOp::getHostNames(), op.getName()) ||
      !reported.insert(op.getLoc()).second)
    return;
  hasFailed = true;
  op.emitOpError("expected a name that the host knows ('")
      << llvm::join(OutputOp::getHostNames(), "', '")
      << "'), or 'for slots' or 'for tokens', with which requests may ask for "
         "it, got '"
      << op.getName() << "'";
}

/// Notes a use of a cache layer. An attention appends the entries that it
/// reads. Appends and moves alone read nothing that a round would miss.
void LintStatesPass::noteCache(Operation *op, bool isRound, bool hasDrafts) {
  auto cache = op->getAttrOfType<FlatSymbolRefAttr>("cache");
  auto layer = op->getAttrOfType<IntegerAttr>("layer");
  if (!cache || !layer)
    return;
  std::pair<StringRef, int64_t> key{cache.getValue(), layer.getInt()};
  if (isRound && !isa<CacheAppendOp>(op)) {
    readLayers.insert({key, op});
    if (!hasDrafts)
      readWithoutDrafts.insert({key, op});
  }
  if (!isRound && !isa<CachedAttentionOp>(op)) {
    filledLayers.insert(key);
    if (!hasDrafts)
      filledWithoutDrafts.insert(key);
  }
}

void LintStatesPass::visit(Operation *program) {
  auto round = dyn_cast<RoundOp>(program);
  int64_t k = round ? round.getK().value_or(0)
                    : cast<PrefillOp>(program).getK().value_or(0);
  written.clear();
  found.clear();
  program->walk([&](Operation *op) {
    if (isa<LoadOp, StoreOp, ReadStateOp, WriteStateOp, MaskColumnsOp>(op))
      noteState(op, bool(round));
    else if (isa<AttentionOp, MlaAttentionOp, CachedAttentionOp, CacheAppendOp>(
                 op))
      noteCache(op, bool(round), k > 0);
    else if (auto output = dyn_cast<OutputOp>(op))
      checkOutput(output);
  });
  // A session runs rounds of one k: a round reads values that the one before
  // left.
  if (round)
    for (auto &[name, reader] : found)
      if (written.contains(name))
        states[name].carried = reader;
}

//===----------------------------------------------------------------------===//
// Diagnostics
//===----------------------------------------------------------------------===//

void LintStatesPass::checkState(StateOp state) {
  StringRef name = state.getSymName();
  // States that expansions declared have the module's location.
  if (isHostState(name) || state.getLoc() == getOperation().getLoc())
    return;
  Accesses accesses = states.lookup(name);
  bool isGiven = state.getRebuild() == Rebuild::Tokens;
  if (!accesses.read && state.getInput()) {
    warn(state) << "nothing reads the input @" << name
                << ", so that it makes no difference what a request brings";
    return;
  }
  if (state.getInput())
    return;
  if (!accesses.read) {
    warn(state) << "nothing reads the state @" << name
                << (isGiven          ? ", which the host writes"
                    : accesses.write ? ", which is written"
                                     : ", and nothing writes it")
                << "; every slot has its memory for nothing";
    return;
  }
  if (isGiven || accesses.prefillWrite || state.getRebuild() == Rebuild::Save)
    return;
  if (!accesses.write) {
    InFlightDiagnostic diag = warn(state)
                              << "nothing writes the state @" << name
                              << ", so that it keeps its initial value";
    diag.attachNote(accesses.read->getLoc()) << "read here";
    return;
  }
  if (!accesses.carried)
    return;
  InFlightDiagnostic diag =
      warn(state)
      << "the state @" << name
      << " is lost when a sequence is preempted: rounds carry it on, and no "
         "prefill writes it; declare it 'rebuild save', so that the host keeps "
         "it, or 'rebuild tokens' if it holds the known tokens, or write it in "
         "an mtp.prefill, from the prompt's tokens or with its initial value";
  diag.attachNote(accesses.carried->getLoc())
      << "what an earlier round left is read here";
  diag.attachNote(accesses.write->getLoc()) << "written here";
}

/// Checks layers read at k = 0. A drafter in core ops also runs in rounds
/// without drafts, unless the module declares that it drafts.
void LintStatesPass::checkDraftersAlone(CacheOp cache) {
  for (auto &[key, op] : readWithoutDrafts) {
    if (key.first != cache.getSymName() || filledWithoutDrafts.contains(key) ||
        !filledLayers.contains(key))
      continue;
    InFlightDiagnostic diag =
        warn(cache)
        << "the round of k = 0 reads layer " << key.second << " of @"
        << key.first
        << ", which prefills write only where there are drafts; let "
           "what drafts stand in an mtp.draft, which is gone at k = "
           "0";
    diag.attachNote(op->getLoc()) << "read here";
    return;
  }
}

void LintStatesPass::checkCache(CacheOp cache) {
  SmallVector<int64_t> missing;
  Operation *reader = nullptr;
  for (auto &[key, op] : readLayers)
    if (key.first == cache.getSymName() && !filledLayers.contains(key)) {
      missing.push_back(key.second);
      reader = reader ? reader : op;
    }
  if (missing.empty())
    return;
  llvm::sort(missing);
  InFlightDiagnostic diag = warn(cache);
  diag << "no prefill writes layer";
  if (missing.size() > 1)
    diag << "s";
  llvm::interleaveComma(missing, diag << " ");
  diag << " of @" << cache.getSymName()
       << ", so that rounds read nothing of the prompt there, and drafts are "
          "accepted less often; run what writes them in an mtp.prefill, too, "
          "over the rows of mtp.prompt_rows";
  diag.attachNote(reader->getLoc()) << "read here";
}

void LintStatesPass::checkUses(Operation *symbol, llvm::StringRef what) {
  StringAttr name = SymbolTable::getSymbolName(symbol);
  if (SymbolTable::symbolKnownUseEmpty(name, getOperation()))
    warn(symbol) << "nothing " << what << " @" << name.getValue();
}

void LintStatesPass::runOnOperation() {
  ModuleOp module = getOperation();
  states.clear();
  reported.clear();
  hasFailed = false;
  readLayers.clear();
  filledLayers.clear();
  readWithoutDrafts.clear();
  filledWithoutDrafts.clear();
  bool hasPrograms = false;
  for (Operation &op : *module.getBody())
    if (isa<RoundOp, PrefillOp>(op)) {
      visit(&op);
      hasPrograms = true;
    }
  markAllAnalysesPreserved();
  if (hasFailed)
    return signalPassFailure();
  if (!hasPrograms)
    return;
  for (Operation &op : *module.getBody())
    if (auto state = dyn_cast<StateOp>(op))
      checkState(state);
    else if (auto cache = dyn_cast<CacheOp>(op)) {
      checkDraftersAlone(cache);
      checkCache(cache);
    } else if (isa<VocabularyOp>(op))
      checkUses(&op, "names the vocabulary");
    else if (auto function = dyn_cast<func::FuncOp>(op);
             function && function.isPrivate())
      checkUses(&op, "calls the private function");
}
