//===- MTPDraftOps.cpp - Verifiers of the draft operations ----------------===//

#include "dialects/MTP/IR/MTPOps.h"
#include "dialects/MTP/IR/Verification.h"
#include "runtime/schema/Limits.h"

using namespace mlir;
using namespace mlir::mtp;

/// A drafter's step: (tokens, hidden, rows) -> (logits, hidden), or without
/// hidden states (tokens, rows) -> logits; draft_chain_c2 and draft_chain_c3.
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

/// Width of the logits that a step yields.
static int64_t vocabularyOf(Region &step) {
  return widthOf(step.front().getTerminator()->getOperand(0));
}

/// draft_chain_c6 and draft_chain_c7
static LogicalResult verifyColumns(Operation *op,
                                   SymbolTableCollection &symbols,
                                   FlatSymbolRefAttr name, Value draftLogits) {
  int64_t columns = vocabularyOf(op->getRegion(0));
  if (draftLogits && widthOf(draftLogits) != columns)
    return op->emitOpError("expected draft logits of ")
           << columns << " columns, got " << draftLogits.getType();
  return verifyVocabularyUse(op, symbols, name, columns);
}

LogicalResult DraftChainOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyColumns(*this, symbols, getVocabularyAttr(), getDraftLogits());
}

LogicalResult DraftTreeOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyColumns(*this, symbols, getVocabularyAttr(), // draft_tree_c4
                       getDraftLogits());
}

LogicalResult DraftChainOp::verifyRegions() {
  if (getSteps().empty() || getSteps().size() > 16) // draft_chain_c1
    return emitOpError("expected 1 to 16 steps, got ") << getSteps().size();
  if (!takesHidden() && getSteps().size() != 1) { // draft_chain_c5
    return emitOpError("expected one step without hidden states, got ")
           << getSteps().size();
  }
  for (Region &step : getSteps()) {
    if (failed(verifyStep(*this, step)))
      return failure();
    Region &first = getSteps().front();
    if (step.getArgumentTypes() != first.getArgumentTypes() ||
        vocabularyOf(step) != vocabularyOf(first)) { // draft_chain_c4
      return emitOpError("expected all steps to agree in hidden width and "
                         "vocabulary");
    }
  }
  return success();
}

LogicalResult DraftTreeOp::verifyRegions() {
  if (failed(verifyParents(*this, getParents())) || // draft_tree_c1
      failed(verifyStep(*this, getBodyRegion()))) { // draft_tree_c2
    return failure();
  }
  int64_t nodes = getParents().size();
  return expectWidth(*this, "the drafts", getDrafts(),
                     nodes - 1); // draft_tree_c3
}

LogicalResult TreeRowsOp::verify() {
  if (getRows().getDefiningOp<TreeRowsOp>()) // tree_rows_c2
    return emitOpError("expected rows that are not a tree's already");
  return verifyParents(*this, getParents()); // tree_rows_c1
}

LogicalResult MakeTreeRowsOp::verify() {
  if (failed(verifyParents(*this, getParents()))) // make_tree_rows_c1
    return failure();
  int64_t count = getParents().size();
  auto isNode = [&](int64_t node) { return node >= 0 && node < count; };
  if (getNodes() && (getNodes()->empty() || // make_tree_rows_c2
                     !llvm::all_of(*getNodes(), isNode))) {
    return emitOpError("expected nodes of a tree of ") << count;
  }
  return success();
}
