//===- CheckUpkeep.cpp - What rounds keep in vain, or lose ----------------===//
//
// Of this only an output that nobody knows is wrong by the rules, and none of
// the rest shows but in acceptance, in memory, or where a sequence is
// preempted. Rounds and prefills are compared when every access is written out:
// what the expansions wrote counts, too.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Passes.h"
#include "passes/support/RoundStates.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace mlir::mtp {
#define GEN_PASS_DEF_CHECKUPKEEPPASS
#include "passes/Passes.h.inc"
} // namespace mlir::mtp

using namespace mlir;
using namespace mlir::mtp;

namespace {
struct CheckUpkeepPass
    : public mlir::mtp::impl::CheckUpkeepPassBase<CheckUpkeepPass> {
  using Base::Base;

  void runOnOperation() override;

private:
  InFlightDiagnostic warn(Operation *op);
  void visit(Operation *program);
  void noteState(Operation *op, bool isRound);
  void checkOutput(OutputOp op);
  void noteCache(Operation *op, bool isRound);
  void checkState(StateOp state);
  void checkCache(CacheOp cache);
  void checkUses(Operation *symbol, llvm::StringRef what);

  /// Who reads and writes a state.
  struct Accesses {
    Operation *read = nullptr, *write = nullptr;
    Operation *prefillWrite = nullptr;
    /// Of a round, what reads what one before left.
    Operation *carried = nullptr;
  };
  llvm::StringMap<Accesses> states;
  /// Of the program that is visited: the states that it has written, and those
  /// that it read before that, by whom.
  llvm::StringSet<> written;
  llvm::StringMap<Operation *> found;
  /// Outputs that were reported; a round has one for each k.
  llvm::DenseSet<Location> reported;
  bool hasFailed = false;
  /// Layers of a cache that rounds with drafts read, and who does it.
  llvm::MapVector<std::pair<StringRef, int64_t>, Operation *> readLayers;
  llvm::DenseSet<std::pair<StringRef, int64_t>> filledLayers;
};
} // namespace

InFlightDiagnostic CheckUpkeepPass::warn(Operation *op) {
  ++numWarnings;
  return op->emitWarning();
}

//===----------------------------------------------------------------------===//
// What programs do
//===----------------------------------------------------------------------===//

void CheckUpkeepPass::noteState(Operation *op, bool isRound) {
  auto name = op->getAttrOfType<FlatSymbolRefAttr>("state");
  if (!name)
    return;
  Accesses &accesses = states[name.getValue()];
  if (isa<LoadOp, ReadStateOp, MaskColumnsOp>(op)) {
    accesses.read = op;
    if (!written.contains(name.getValue()))
      found.try_emplace(name.getValue(), op);
    return;
  }
  accesses.write = op;
  if (!isRound)
    accesses.prefillWrite = op;
  else if (Operation *reader = found.lookup(name.getValue()))
    // A session has rounds of one k.
    accesses.carried = reader;
  written.insert(name.getValue());
}

void CheckUpkeepPass::checkOutput(OutputOp op) {
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

/// An attention appends what it reads; appends and moves alone read nothing
/// that a round would miss.
void CheckUpkeepPass::noteCache(Operation *op, bool isRound) {
  auto cache = op->getAttrOfType<FlatSymbolRefAttr>("cache");
  auto layer = op->getAttrOfType<IntegerAttr>("layer");
  if (!cache || !layer)
    return;
  std::pair<StringRef, int64_t> key{cache.getValue(), layer.getInt()};
  if (isRound && !isa<CacheAppendOp>(op))
    readLayers.insert({key, op});
  if (!isRound && !isa<CachedAttentionOp>(op))
    filledLayers.insert(key);
}

void CheckUpkeepPass::visit(Operation *program) {
  auto round = dyn_cast<RoundOp>(program);
  written.clear();
  found.clear();
  program->walk([&](Operation *op) {
    if (isa<LoadOp, StoreOp, ReadStateOp, WriteStateOp, MaskColumnsOp>(op))
      noteState(op, bool(round));
    else if (isa<AttentionOp, MlaAttentionOp, CachedAttentionOp, CacheAppendOp>(
                 op))
      noteCache(op, bool(round));
    else if (auto output = dyn_cast<OutputOp>(op))
      checkOutput(output);
  });
}

//===----------------------------------------------------------------------===//
// What is said of it
//===----------------------------------------------------------------------===//

void CheckUpkeepPass::checkState(StateOp state) {
  StringRef name = state.getSymName();
  // What the expansions declared has the module's location.
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

void CheckUpkeepPass::checkCache(CacheOp cache) {
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

void CheckUpkeepPass::checkUses(Operation *symbol, llvm::StringRef what) {
  StringAttr name = SymbolTable::getSymbolName(symbol);
  if (SymbolTable::symbolKnownUseEmpty(name, getOperation()))
    warn(symbol) << "nothing " << what << " @" << name.getValue();
}

void CheckUpkeepPass::runOnOperation() {
  ModuleOp module = getOperation();
  states.clear();
  reported.clear();
  hasFailed = false;
  readLayers.clear();
  filledLayers.clear();
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
    else if (auto cache = dyn_cast<CacheOp>(op))
      checkCache(cache);
    else if (isa<VocabularyOp>(op))
      checkUses(&op, "names the vocabulary");
    else if (auto function = dyn_cast<func::FuncOp>(op);
             function && function.isPrivate())
      checkUses(&op, "calls the private function");
}
