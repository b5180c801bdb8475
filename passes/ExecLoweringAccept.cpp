//===- ExecLoweringAccept.cpp - Kernels of acceptance ---------------------===//

#include "passes/ExecLowering.h"

using namespace mlir;
using namespace mlir::mtp;

static LogicalResult lowerAcceptTokens(AcceptTokensOp op,
                                       LoweringContext &context) {
  Value drafts = context.whole(op.getDrafts());
  auto results =
      invoke(context, op.getLoc(), "accept",
             {drafts, context.whole(op.getPicks())},
             {exec::rowsOf(drafts), exec::columnsOf(drafts)},
             op->getResultTypes());
  context.map(op.getCount(), results[0]);
  context.map(op.getNext(), results[1]);
  return success();
}

static LogicalResult lowerAcceptTree(AcceptTreeOp op,
                                     LoweringContext &context) {
  SmallVector<int32_t> parents(op.getParents());
  auto type = RankedTensorType::get({int64_t(parents.size())},
                                    context.builder.getI32Type());
  Value tree = context.constant(
      DenseElementsAttr::get(type, llvm::ArrayRef<int32_t>(parents)),
      op.getLoc());
  Value tokens = context.whole(op.getTokens());
  auto results = invoke(context, op.getLoc(), "accept_tree",
                        {tree, tokens, context.whole(op.getPicks())},
                        {exec::rowsOf(tokens), int64_t(parents.size())},
                        op->getResultTypes());
  context.map(op.getPath(), results[0]);
  context.map(op.getCount(), results[1]);
  context.map(op.getNext(), results[2]);
  return success();
}

void mlir::mtp::addAcceptLowerings(Lowerings &lowerings) {
  lowerings.add(lowerAcceptTokens);
  lowerings.add(lowerAcceptTree);
}
