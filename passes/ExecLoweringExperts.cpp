//===- ExecLoweringExperts.cpp - Kernels of experts and acceptance --------===//

#include "passes/ExecLowering.h"

using namespace mlir;
using namespace mlir::mtp;

LogicalResult ExecLowering::lowerRoute(MoeRouteOp op) {
  ActivationView logits = view(op.getLogits());
  KernelCall call(*this, "moe_route", op.getLoc());
  call.arg(logits);
  if (op.getBias()) {
    call.arg(packedRaw(op.getBias(), builder.getF32Type(), op.getLoc()));
  }
  auto results =
      call.param(rowCount(op.getLogits()))
          .config("experts", logits.width)
          .config("top_k", int64_t(op.getTopK()))
          .config("scoring", stringifyScoring(op.getScoring()))
          .flag("bias", bool(op.getBias()))
          .config("n_group", int64_t(op.getGroups()))
          .config("topk_group", int64_t(op.getKeep()))
          .flag("norm_topk", op.getNormalized())
          .config("scale", op.getScale().convertToDouble())
          .config("x_stride", logits.stride)
          .emit(op->getResultTypes());
  mapResult(op.getExperts(), results[0]);
  mapResult(op.getWeights(), results[1]);
  return success();
}

LogicalResult ExecLowering::lowerExperts(MoeExpertsOp op) {
  Location loc = op.getLoc();
  ActivationView x = view(op.getX());
  auto gateType = cast<RankedTensorType>(op.getGate().getType());
  int64_t experts = gateType.getDimSize(0);
  int64_t inter = gateType.getDimSize(1);
  int64_t width = gateType.getDimSize(2);
  Type dtype = gateType.getElementType();
  int64_t rows = rowCount(op.getX());
  Value indices = view(op.getIndices()).root;
  int64_t topK = columnCount(indices);
  Value positions = rowsOf(op.getRows()).positions;
  auto ints = [&](int64_t count) {
    return RankedTensorType::get({count}, builder.getI32Type());
  };
  auto floats = [&](int64_t columns) {
    return RankedTensorType::get({rows * topK, columns}, builder.getF32Type());
  };
  auto stacked = [&](Value weight) {
    return source(weight.getDefiningOp<mtp::WeightOp>());
  };

  auto plan = KernelCall(*this, "moe_plan", loc)
                  .arg(positions)
                  .arg(indices)
                  .param(rows)
                  .config("experts", experts)
                  .config("top_k", topK)
                  .emit({ints(experts + 1), ints(rows * topK)});
  Packing gateUp{"swiglu", dtype, width, 2 * inter, experts,
                 {stacked(op.getGate()), stacked(op.getUp())}};
  Value activated = KernelCall(*this, "moe_gate_up", loc)
                        .arg(x)
                        .arg(packed(gateUp, loc))
                        .arg(plan[0])
                        .arg(plan[1])
                        .param(rows)
                        .config("experts", experts)
                        .config("k", width)
                        .config("inter", inter)
                        .dtype(dtype)
                        .config("top_k", topK)
                        .config("x_stride", x.stride)
                        .emit(floats(inter))
                        .front();
  Packing down{"linear", dtype, inter, width, experts, {stacked(op.getDown())}};
  Value parts = KernelCall(*this, "moe_down", loc)
                    .arg(activated)
                    .arg(packed(down, loc))
                    .arg(plan[0])
                    .arg(plan[1])
                    .param(rows)
                    .config("experts", experts)
                    .config("k", inter)
                    .config("n", width)
                    .dtype(dtype)
                    .config("top_k", topK)
                    .emit(floats(width))
                    .front();
  KernelCall combine(*this, "moe_combine", loc);
  combine.arg(positions).arg(whole(op.getWeights())).arg(parts);
  if (op.getResidual()) {
    combine.arg(whole(op.getResidual()));
  }
  if (op.getShared()) {
    combine.arg(whole(op.getShared()));
  }
  mapResult(op.getResult(), combine.param(rows)
                                .config("width", width)
                                .config("top_k", topK)
                                .flag("residual", bool(op.getResidual()))
                                .flag("shared", bool(op.getShared()))
                                .emit(op.getType())
                                .front());
  return success();
}

LogicalResult ExecLowering::lowerAcceptTokens(AcceptTokensOp op) {
  auto results = KernelCall(*this, "accept", op.getLoc())
                     .arg(whole(op.getDrafts()))
                     .arg(whole(op.getPicks()))
                     .param(rowCount(op.getDrafts()))
                     .param(columnCount(op.getDrafts()))
                     .emit(op->getResultTypes());
  mapResult(op.getCount(), results[0]);
  mapResult(op.getNext(), results[1]);
  return success();
}

LogicalResult ExecLowering::lowerAcceptTree(AcceptTreeOp op) {
  SmallVector<int32_t> parents(op.getParents());
  auto type = RankedTensorType::get({int64_t(parents.size())},
                                    builder.getI32Type());
  auto results = KernelCall(*this, "accept_tree", op.getLoc())
                     .arg(constant(DenseElementsAttr::get(
                                       type, llvm::ArrayRef<int32_t>(parents)),
                                   op.getLoc()))
                     .arg(whole(op.getTokens()))
                     .arg(whole(op.getPicks()))
                     .param(rowCount(op.getTokens()))
                     .param(int64_t(parents.size()))
                     .emit(op->getResultTypes());
  mapResult(op.getPath(), results[0]);
  mapResult(op.getCount(), results[1]);
  mapResult(op.getNext(), results[2]);
  return success();
}
