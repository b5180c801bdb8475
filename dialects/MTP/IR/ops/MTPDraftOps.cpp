//===- MTPDraftOps.cpp - Verifiers of the draft operations ----------------===//

#include "dialects/MTP/IR/MTPOps.h"
#include "dialects/MTP/IR/Verification.h"
#include "runtime/schema/Limits.h"

using namespace mlir;
using namespace mlir::mtp;

/// The largest number of modules of one drafter.
static constexpr size_t kMostModules = 16;

/// Checks a step of a drafter: (tokens, hidden, rows) -> (logits, hidden), or
/// without hidden states (tokens, rows) -> logits (draft_chain_c2,
/// draft_chain_c3).
static LogicalResult verifyStep(Operation *op, Region &region) {
  auto arguments = region.getArgumentTypes();
  auto isTensor = [](Type type, int64_t rank, auto isElement) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.getRank() == rank &&
           isElement(tensor.getElementType());
  };
  auto isF32 = [](Type type) { return type.isF32(); };
  auto isI32 = [](Type type) { return type.isSignlessInteger(32); };
  bool hasHidden = arguments.size() == 3;
  if ((!hasHidden && arguments.size() != 2) ||
      !isTensor(arguments.front(), 1, isI32) ||
      (hasHidden && !isTensor(arguments[1], 2, isF32)) ||
      !isa<RowsType>(arguments[arguments.size() - 1])) {
    return op->emitOpError("expected a step to take tokens, hidden and rows, "
                           "or tokens and rows, got (")
           << TypeRange(arguments) << ")";
  }
  auto yield = dyn_cast<YieldOp>(region.front().getTerminator());
  if (!yield || yield.getValues().size() != arguments.size() - 1 ||
      !isTensor(yield.getValues()[0].getType(), 2, isF32) ||
      (hasHidden && yield.getValues()[1].getType() != arguments[1])) {
    InFlightDiagnostic diag =
        op->emitOpError("expected a step to yield logits");
    if (hasHidden)
      diag << " and hidden of " << arguments[1];
    if (!yield)
      return diag;
    diag << ", got (" << yield.getOperandTypes() << ")";
    if (hasHidden && yield.getValues().size() == 2)
      diag.attachNote() << "a region `input` in front of the step makes the "
                           "step's hidden states of wider ones";
    return diag;
  }
  return success(
      succeeded(staticWidth(op, "the logits", yield.getValues()[0])) &&
      (!hasHidden ||
       succeeded(staticWidth(op, "hidden", yield.getValues()[1]))));
}

//===----------------------------------------------------------------------===//
// Vocabularies
//===----------------------------------------------------------------------===//

LogicalResult VocabularyOp::verify() {
  auto type = dyn_cast<RankedTensorType>(getTokens().getType());
  if (!type || type.getRank() != 1 || type.getNumElements() == 0)
    return emitOpError("expected a row of tokens, got ")
           << getTokens().getType();
  int32_t last = -1;
  for (int32_t token : getTokens().getValues<int32_t>()) {
    if (token <= last) // vocabulary_c1
      return emitOpError("expected tokens from 0 on, ascending, got ")
             << token << (last < 0 ? "" : " after ")
             << (last < 0 ? "" : std::to_string(last));
    last = token;
  }
  if (last >= int32_t(::mtp::kMostTokens)) // vocabulary_c1
    return emitOpError("expected tokens below ")
           << ::mtp::kMostTokens << ", got " << last;
  return success();
}

/// Returns the width of the logits that a step yields.
static int64_t vocabularyOf(Region &step) {
  return widthOf(step.front().getTerminator()->getOperand(0));
}

/// Checks draft_chain_c6 and draft_chain_c7.
static LogicalResult verifyColumns(Operation *op, Region &step,
                                   SymbolTableCollection &symbols,
                                   FlatSymbolRefAttr name, Value draftLogits) {
  int64_t columns = vocabularyOf(step);
  if (draftLogits && widthOf(draftLogits) != columns)
    return op->emitOpError("expected draft logits of ")
           << columns << " columns, got " << draftLogits.getType();
  return verifyVocabularyUse(op, symbols, name, columns);
}

LogicalResult DraftChainOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyColumns(*this, getSteps().front(), symbols, getVocabularyAttr(),
                       getDraftLogits());
}

LogicalResult DraftTreeOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyColumns(*this, getSteps().front(), symbols,
                       getVocabularyAttr(), // draft_tree_c4
                       getDraftLogits());
}

LogicalResult DraftHeadsOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (getHeads().empty())
    return success(); // reported by draft_heads_c1
  return verifyColumns(*this, getHeads().front(), symbols,
                       getVocabularyAttr(), // draft_heads_c5
                       getDraftLogits());
}

/// Checks draft_chain_c8.
static LogicalResult verifyInput(DraftChainOp op) {
  Region &input = op.getInputRegion();
  if (input.empty())
    return success();
  auto rows = [](TypeRange types) {
    auto type = types.size() == 1 ? dyn_cast<RankedTensorType>(types.front())
                                  : RankedTensorType();
    return type && type.getRank() == 2 && type.getElementType().isF32() &&
           !type.isDynamicDim(1);
  };
  auto yield = dyn_cast<YieldOp>(input.front().getTerminator());
  if (!op.takesHidden() || !rows(input.getArgumentTypes()) || !yield ||
      !llvm::equal(yield.getValues().getTypes(),
                   ArrayRef(op.getSteps().front().getArgumentTypes()[1])))
    return op.emitOpError("expected the input to take hidden states and to "
                          "yield those that the first step takes");
  return success();
}

int64_t DraftChainOp::getInputWidth() {
  if (!getInputRegion().empty())
    return widthOf(getInputRegion().getArgument(0));
  return widthOf(getSteps().front().getArgument(1));
}

/// Checks draft_chain_c9; the verifier of the round checks the accept rule.
LogicalResult DraftChainOp::verify() {
  if (!getPMin())
    return success();
  double least = getPMin()->convertToDouble();
  if (least > 0 && least <= 1)
    return success();
  return emitOpError("expected p_min above 0 and at most 1, got ") << least;
}

/// Checks draft_chain_c1 to draft_chain_c5.
template <typename OpT>
static LogicalResult verifySteps(OpT op) {
  auto steps = op.getSteps();
  if (steps.empty() || steps.size() > kMostModules) // draft_chain_c1
    return op.emitOpError("expected 1 to ")
           << kMostModules << " steps, got " << steps.size();
  if (!op.takesHidden() && steps.size() != 1) { // draft_chain_c5
    return op.emitOpError("expected one step without hidden states, got ")
           << steps.size();
  }
  Region &first = steps.front();
  for (Region &step : steps) {
    if (failed(verifyStep(op, step)))
      return failure();
    if (step.getArgumentTypes() != first.getArgumentTypes() ||
        vocabularyOf(step) != vocabularyOf(first)) { // draft_chain_c4
      return op.emitOpError("expected all steps to agree in hidden width and "
                            "vocabulary");
    }
  }
  return success();
}

LogicalResult DraftChainOp::verifyRegions() {
  return failed(verifySteps(*this)) ? failure() : verifyInput(*this);
}

/// Checks draft_tree_c3 and draft_heads_c4.
static LogicalResult verifyNodeDrafts(Operation *op, Value drafts,
                                      int64_t nodes) {
  if (widthOf(drafts) < 0) // the number of drafts of the round
    return success();
  auto round = dyn_cast<RoundOp>(op->getParentOp());
  if (round && round.getK() && widthOf(drafts) == round.getWindow() - 1)
    return success();
  return expectWidth(op, "the drafts", drafts, nodes - 1);
}

LogicalResult DraftTreeOp::verifyRegions() {
  if (failed(verifyParents(*this, getParents())) || // draft_tree_c1
      failed(verifySteps(*this))) {                 // draft_tree_c2
    return failure();
  }
  return verifyNodeDrafts(*this, getDrafts(), getParents().size());
}

//===----------------------------------------------------------------------===//
// Heads
//===----------------------------------------------------------------------===//

/// Checks a head: (hidden, rows) -> logits (draft_heads_c2).
static LogicalResult verifyHead(DraftHeadsOp op, Region &head) {
  auto isRows = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.getRank() == 2 && tensor.getElementType().isF32() &&
           !tensor.isDynamicDim(1);
  };
  auto arguments = head.getArgumentTypes();
  if (arguments.size() != 2 || !isRows(arguments[0]) ||
      !isa<RowsType>(arguments[1]))
    return op.emitOpError("expected a head to take hidden and rows, got (")
           << TypeRange(arguments) << ")";
  auto yield = dyn_cast<YieldOp>(head.front().getTerminator());
  if (!yield || yield.getValues().size() != 1 ||
      !isRows(yield.getValues()[0].getType()))
    return op.emitOpError("expected a head to yield logits");
  Region &first = op.getHeads().front();
  if (arguments[0] == first.getArgument(0).getType() &&
      vocabularyOf(head) == vocabularyOf(first))
    return success();
  return op.emitOpError("expected all heads to agree in hidden width and "
                        "vocabulary");
}

/// Returns the depth of a tree.
static int64_t depthOf(ArrayRef<int64_t> parents) {
  SmallVector<int64_t> depths{0};
  for (int64_t parent : parents.drop_front())
    depths.push_back(depths[parent] + 1);
  return *llvm::max_element(depths);
}

LogicalResult DraftHeadsOp::verifyRegions() {
  int64_t heads = getHeads().size();
  if (heads < 1 || heads > 16) // draft_heads_c1
    return emitOpError("expected 1 to 16 heads, got ") << heads;
  for (Region &head : getHeads())
    if (failed(verifyHead(*this, head)))
      return failure();
  if (!getTree())
    return success();
  if (failed(verifyParents(*this, *getTree()))) // draft_heads_c3
    return failure();
  if (int64_t depth = depthOf(*getTree()); depth > heads) // draft_heads_c3
    return emitOpError("expected a head for each depth of the tree, ")
           << depth << ", got " << heads;
  return verifyNodeDrafts(*this, getDrafts(), getTree()->size());
}

LogicalResult TreeRowsOp::verify() {
  if (getRows().getDefiningOp<TreeRowsOp>()) // tree_rows_c2
    return emitOpError("expected rows that are not a tree's already");
  if (!getTree() && !getParents())
    return emitOpError("expected the parents of the nodes");
  return verifyTree(*this, getTree(), getParents()); // tree_rows_c1
}

LogicalResult MakeTreeRowsOp::verify() {
  return expectRows(*this, "masks", getMasks(), getSlots());
}

//===----------------------------------------------------------------------===//
// draft and refresh
//===----------------------------------------------------------------------===//

/// Builds the terminator of a region that yields nothing.
void YieldOp::build(OpBuilder &builder, OperationState &state) {
  build(builder, state, ValueRange());
}

LogicalResult DraftRegionOp::verifyRegions() {
  Operation *yield = getBody()->getTerminator();
  if (yield->getOperandTypes() == getResultTypes()) // draft_c1
    return success();
  return emitOpError("expected the region to yield (")
         << getResultTypes() << "), got (" << yield->getOperandTypes() << ")";
}

LogicalResult DraftRegionOp::verify() {
  for (Value result : getResults()) {
    auto type = cast<RankedTensorType>(result.getType());
    bool isGrid = type.getRank() >= 2 && type.isDynamicDim(1);
    for (Operation *user : result.getUsers())
      if (!isGrid && !isa<VerifyOp, AcceptOp>(user)) { // draft_c2
        InFlightDiagnostic diag =
            emitOpError("expected numbers for each draft of a slot, or no use "
                        "but by mtp.verify and mtp.accept, as there are none "
                        "at k = 0, got ")
            << type;
        diag.attachNote(user->getLoc()) << "used here";
        return diag;
      }
  }
  return success();
}

LogicalResult RecentHiddenOp::verify() {
  if (!cast<PrefillOp>((*this)->getParentOp()).getCatchUp()) // recent_hidden_c1
    return emitOpError("expected in a prefill that is a catch_up");
  return success(
      succeeded(staticWidth(*this, "the hidden state", getResult())));
}

LogicalResult RefreshOp::verify() {
  if (!getHidden())
    return success();
  if (failed(staticWidth(*this, "the hidden state", getHidden())))
    return failure();
  auto module = (*this)->getParentOfType<ModuleOp>();
  auto state = module ? module.lookupSymbol<StateOp>("hidden") : StateOp();
  SmallVector<int64_t> extents =
      state ? state.getExtentSizes() : SmallVector<int64_t>();
  if (!extents.empty() && extents.back() != widthOf(getHidden())) // refresh_c1
    return emitOpError("expected the width of the state @hidden, ")
           << extents.back() << ", got " << widthOf(getHidden());
  return success();
}

/// Checks refresh_module_c1 and module_rows_c1.
static LogicalResult verifyModule(Operation *op, int64_t module) {
  if (module >= 2 && module <= int64_t(kMostModules))
    return success();
  return op->emitOpError("expected a module of 2 to ")
         << kMostModules << ", got " << module;
}

LogicalResult RefreshModuleOp::verify() {
  int64_t module = getModule();
  if (failed(verifyModule(*this, module)))
    return failure();
  bool isPrompt = bool((*this)->getParentOfType<PrefillOp>());
  bool isRound = bool((*this)->getParentOfType<RoundOp>());
  bool isCalled = bool((*this)->getParentOfType<FunctionOpInterface>());
  if (!isPrompt && !isRound && !isCalled) // refresh_module_c4
    return emitOpError("expected to stand in an mtp.round, an mtp.prefill or a "
                       "function, got ")
           << (*this)->getParentOp()->getName();
  int64_t groups = isPrompt ? 0 : module - 1, given = getNodes().size();
  // Before inlining the caller of a function is unknown, so it may have no
  // nodes.
  if (given != groups && !(isCalled && given == 0)) // refresh_module_c2
    return emitOpError("expected tokens and rows of the nodes of ")
           << groups << " depths, got " << given;
  if (getHidden().getType() != getBefore().getType()) // refresh_module_c3
    return emitOpError("expected hidden states of ")
           << getBefore().getType() << ", got " << getHidden().getType();
  return success();
}

LogicalResult ModuleRowsOp::verify() {
  return verifyModule(*this, getModule());
}
