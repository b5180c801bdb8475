//===- MTPVerifyOps.cpp - Verifiers of the verify operations --------------===//

#include "dialects/MTP/IR/MTPOps.h"
#include "dialects/MTP/IR/Verification.h"

using namespace mlir;
using namespace mlir::mtp;

/// A tree has well formed parents and something to verify.
static LogicalResult verifyTreeOfDrafts(Operation *op, Value drafts,
                                        std::optional<ArrayRef<int64_t>> tree) {
  if (!tree)
    return success();
  if (!drafts)
    return op->emitOpError("expected drafts with a tree");
  return verifyParents(op, *tree);
}

/// The region yields exactly `types`.
static LogicalResult expectYield(Operation *op, Region &region,
                                 TypeRange types) {
  auto yield = dyn_cast<YieldOp>(region.front().getTerminator());
  if (yield && llvm::equal(yield.getValues().getTypes(), types))
    return success();
  return op->emitOpError("expected the region to yield (") << types << ")";
}

/// Tokens, one per row of `rows`.
static Type tokensFor(Value rows) {
  int64_t count = cast<RankedTensorType>(rows.getType()).getDimSize(0);
  return RankedTensorType::get({count},
                               IntegerType::get(rows.getContext(), 32));
}

//===----------------------------------------------------------------------===//
// verify
//===----------------------------------------------------------------------===//

LogicalResult VerifyOp::verify() {
  if (failed(staticWidth(*this, "the logits", getLogits())) ||
      failed(staticWidth(*this, "the hidden state", getHidden())) ||
      failed(expectRows(*this, "a hidden state", getHidden(), getLogits()))) {
    return failure();
  }
  return verifyTreeOfDrafts(*this, getDrafts(), getTree()); // verify_c3
}

LogicalResult VerifyOp::verifyRegions() {
  Type rows = RowsType::get(getContext());
  if (failed(expectArguments(*this, getBodyRegion(),
                             {tokensFor(getLogits()), rows}, // verify_c1
                             "the target"))) {
    return failure();
  }
  return expectYield(*this, getBodyRegion(), // verify_c2
                     {getLogits().getType(), getHidden().getType()});
}

//===----------------------------------------------------------------------===//
// accept
//===----------------------------------------------------------------------===//

LogicalResult AcceptOp::verify() {
  if (getPath() && getDrafts() && !getTree()) // accept_c3
    return emitOpError("expected a tree where there is a path");
  return verifyTreeOfDrafts(*this, getDrafts(), getTree());
}

LogicalResult AcceptOp::verifyRegions() {
  Type rows = RowsType::get(getContext());
  if (failed(expectArguments(*this, getBodyRegion(),
                             {getLogits().getType(), rows}, // accept_c1
                             "the region"))) {
    return failure();
  }
  return expectYield(*this, getBodyRegion(),
                     tokensFor(getLogits())); // accept_c2
}

LogicalResult AcceptTokensOp::verify() {
  FailureOr<int64_t> drafts = staticWidth(*this, "the drafts", getDrafts());
  if (failed(drafts) || failed(expectWidth(*this, "the picks", getPicks(),
                                           *drafts + 1))) { // accept_tokens_c1
    return failure();
  }
  for (Value value : {getPicks(), getCount(), getNext()}) // accept_tokens_c2
    if (failed(expectRows(*this, "operands and results", value, getDrafts())))
      return failure();
  return success();
}

LogicalResult AcceptTreeOp::verify() {
  if (failed(verifyParents(*this, getParents()))) // accept_tree_c1
    return failure();
  int64_t nodes = getParents().size();
  for (Value value : {getTokens(), getPicks(), getPath()}) { // accept_tree_c2
    if (failed(expectWidth(*this, "tokens, picks and path", value, nodes)) ||
        failed(expectRows(*this, "operands and results", value, getTokens()))) {
      return failure();
    }
  }
  for (Value value : {getCount(), getNext()})
    if (failed(expectRows(*this, "operands and results", value, getTokens())))
      return failure();
  return success();
}
