//===- ExecLoweringModel.cpp - Kernels of row-wise ops --------------------===//

#include "passes/ExecLowering.h"

using namespace mlir;
using namespace mlir::mtp;

LogicalResult ExecLowering::lowerEmbed(EmbedOp op) {
  auto table = cast<RankedTensorType>(op.getTable().getType());
  Value weight =
      packedRaw(op.getTable(), table.getElementType(), op.getLoc());
  mapResult(op.getResult(), KernelCall(*this, "embed", op.getLoc())
                                .arg(weight)
                                .arg(view(op.getTokens()).root)
                                .param(rowCount(op.getResult()))
                                .config("width", table.getDimSize(1))
                                .config("vocab", table.getDimSize(0))
                                .dtype(table.getElementType())
                                .emit(op.getType())
                                .front());
  return success();
}

LogicalResult ExecLowering::lowerMaskFirst(MaskFirstOp op) {
  mapResult(op.getResult(), KernelCall(*this, "mask_first", op.getLoc())
                                .arg(whole(op.getX()))
                                .arg(rowsOf(op.getRows()).positions)
                                .param(rowCount(op.getResult()))
                                .config("width", columnCount(op.getResult()))
                                .emit(op.getType())
                                .front());
  return success();
}

LogicalResult ExecLowering::lowerNorm(RmsNormOp op) {
  ActivationView x = view(op.getX());
  int64_t groups = op.getGroups();
  mapResult(op.getResult(),
            KernelCall(*this, "rms_norm", op.getLoc())
                .arg(x)
                .arg(packedRaw(op.getWeight(), builder.getF32Type(),
                               op.getLoc()))
                .param(rowCount(op.getResult()))
                .config("width", x.width / groups)
                .config("groups", groups)
                .config("eps", op.getEps().convertToDouble())
                .config("offset", int64_t(op.getOffset()))
                .config("x_stride", x.stride)
                .config("y_stride", x.width)
                .emit(op.getType())
                .front());
  return success();
}

LogicalResult ExecLowering::lowerConcat(ConcatOp op) {
  Value joined = whole(op.getInputs().front());
  for (Value input : op.getInputs().drop_front()) {
    Value next = whole(input);
    int64_t left = columnCount(joined);
    int64_t right = columnCount(next);
    auto type = cast<RankedTensorType>(op.getType());
    joined = KernelCall(*this, "concat", op.getLoc())
                 .arg(joined)
                 .arg(next)
                 .param(rowCount(op.getResult()))
                 .config("a_width", left)
                 .config("b_width", right)
                 .emit(type.clone({rowCount(op.getResult()), left + right}))
                 .front();
  }
  mapResult(op.getResult(), joined);
  return success();
}

LogicalResult ExecLowering::lowerProjection(const Projection &projection) {
  Location loc = projection.op->getLoc();
  Value result = projection.op->getResult(0);
  ActivationView x = view(projection.x);
  auto first = cast<RankedTensorType>(projection.weights.front().getType());
  Packing packing{projection.swiglu ? "swiglu" : "linear",
                  first.getElementType(), x.width, 0, 1, {}};
  for (Value weight : projection.weights) {
    packing.n += cast<RankedTensorType>(weight.getType()).getDimSize(0);
    packing.sources.push_back(source(weight.getDefiningOp<mtp::WeightOp>()));
  }
  KernelCall call(*this, "linear", loc);
  call.arg(x);
  if (projection.norm) {
    call.arg(packedRaw(projection.norm, builder.getF32Type(), loc));
  }
  call.arg(packed(packing, loc));
  if (!projection.biases.empty()) {
    call.arg(packedRaw(projection.biases, builder.getF32Type(), loc));
  }
  int64_t residualStride = 0;
  if (projection.residual) {
    ActivationView residual = view(projection.residual);
    call.arg(residual);
    residualStride = residual.stride;
  }
  call.param(rowCount(result))
      .config("k", packing.k)
      .config("n", packing.n)
      .dtype(packing.dtype)
      .flag("norm", bool(projection.norm))
      .config("eps", projection.eps)
      .config("offset", projection.offset)
      .flag("bias", !projection.biases.empty())
      .flag("residual", bool(projection.residual))
      .config("activation", llvm::StringRef(projection.swiglu ? "swiglu" : "none"))
      .config("x_stride", x.stride)
      .config("y_stride", columnCount(result))
      .config("residual_stride", residualStride);
  mapResult(result, call.emit(result.getType()).front());
  return success();
}

LogicalResult ExecLowering::lowerLinear(LinearOp op) {
  ValueRange biases;
  if (op.getBias()) {
    biases = op->getOperands().drop_front(2);
  }
  return lowerProjection({op, op.getX(), Value(), 0.0, 0,
                          op->getOperands().slice(1, 1), biases, Value(),
                          /*swiglu=*/false});
}

LogicalResult ExecLowering::lowerFusedLinear(FusedLinearOp op) {
  return lowerProjection(
      {op, op.getX(), op.getNorm(),
       op.getEps() ? op.getEps()->convertToDouble() : 0.0,
       int64_t(op.getOffset()), op.getWeights(), op.getBiases(),
       op.getResidual(), op.getActivation() == ActivationKind::Swiglu});
}

LogicalResult ExecLowering::lowerPair(Operation *op, llvm::StringRef kind) {
  ActivationView a = view(op->getOperand(0));
  ActivationView b = view(op->getOperand(1));
  Value result = op->getResult(0);
  mapResult(result, KernelCall(*this, kind, op->getLoc())
                        .arg(a)
                        .arg(b)
                        .param(rowCount(result))
                        .config("width", columnCount(result))
                        .config("a_stride", a.stride)
                        .config("b_stride", b.stride)
                        .config("y_stride", columnCount(result))
                        .emit(result.getType())
                        .front());
  return success();
}

LogicalResult ExecLowering::lowerArgmax(ArgmaxOp op) {
  ActivationView x = view(op.getX());
  mapResult(op.getResult(), KernelCall(*this, "argmax", op.getLoc())
                                .arg(x)
                                .param(rowCount(op.getResult()))
                                .config("width", x.width)
                                .config("x_stride", x.stride)
                                .emit(op.getType())
                                .front());
  return success();
}

LogicalResult ExecLowering::lowerTakeRows(TakeRowsOp op) {
  mapResult(op.getResult(), KernelCall(*this, "take_rows", op.getLoc())
                                .arg(whole(op.getX()))
                                .arg(view(op.getIndex()).root)
                                .param(rowCount(op.getResult()))
                                .param(rowCount(op.getX()))
                                .config("width", columnCount(op.getResult()))
                                .emit(op.getType())
                                .front());
  return success();
}

LogicalResult ExecLowering::lowerSample(SampleOp op) {
  auto sampling = symbols.lookup<exec::StateOp>("sampling");
  if (!sampling) {
    return op.emitOpError("expected a round in the module: sampling parameters "
                          "belong to its slots; use mtp.argmax in a function");
  }
  const RowContext &rows = rowsOf(op.getRows());
  mapResult(op.getResult(),
            KernelCall(*this, "mtp.sample", op.getLoc())
                .arg(whole(op.getLogits()))
                .arg(rows.slots)
                .arg(rows.positions)
                .arg(refSymbol(sampling, sampling.getType(), 0, op.getLoc()))
                .param(rowCount(op.getResult()))
                .param(columnCount(op.getLogits()))
                .param(1)
                .emit(op.getType())
                .front());
  return success();
}
