//===- ExecProductKernels.td - Kinds of products -----------*- tablegen -*-===//

#ifndef EXEC_PRODUCT_KERNELS
#define EXEC_PRODUCT_KERNELS

include "dialects/Exec/IR/ExecKernels.td"

def Exec_LinearKernel : Exec_Kernel<"Linear", "linear", 1, "Other", (ins
    Exec_Size:$k, Exec_Size:$n, Exec_WeightFormat:$format,
    Exec_Flag:$fragments, Exec_PanelWidth:$panel, Exec_Flag:$prepared,
    Exec_Flag:$norm, Exec_RealOrNone:$eps, Exec_NormOffset:$offset,
    Exec_Flag:$bias, Exec_Flag:$residual, Exec_Activation:$activation,
    Exec_Stride:$x_stride, Exec_Stride:$y_stride,
    Exec_Stride:$residual_stride)> {
  let summary = "rows times a packed weight";
  let description = [{
    `y = act(norm(x) W^T + bias) + residual`. Buffers: x, [norm], W, [bias],
    [residual], y. With `swiglu` or `geglu_tanh` the weight's `n` outputs are
    gates and ups, and y has n / 2 columns. y may be the residual, not x. For
    bf16 weights rows are rounded to bf16, or the weights are widened if the
    target has no bf16 product. For integer weights rows become integers with a
    scale each. With `prepared`, x is the result of `prepare_rows`, for a weight
    in fragments.
  }];
  let hasRules = true;
  let methods = [{
    bool isGated() const {
      return getActivation() != ::mlir::mtp::ActivationKind::None;
    }
    /// Returns the columns of y.
    int64_t getOutputs() const { return isGated() ? getN() / 2 : getN(); }
  }];
}

def Exec_LinearArgmaxKernel
    : Exec_Kernel<"LinearArgmax", "linear_argmax", 1, "Other", (ins
    Exec_Size:$k, Exec_Size:$n, Exec_WeightFormat:$format,
    Exec_Flag:$fragments, Exec_PanelWidth:$panel, Exec_Flag:$prepared,
    Exec_Flag:$norm, Exec_RealOrNone:$eps, Exec_NormOffset:$offset,
    Exec_Flag:$bias, Exec_Flag:$logits, Exec_Stride:$x_stride,
    Exec_RowLimit:$slots)> {
  let summary = "rows times a head, and the best column of each panel";
  let description = [{
    Buffers: x, [norm], W, [bias], [slots, sampling], values, columns, [logits].
    Gives the best value of every panel of outputs and its column: -infinity and
    2^31 - 1 if all are NaN. With `logits` it also writes the outputs of the
    rows whose slot has 0 in word 6 of `sampling`, and of no other rows.
    `prepared` is as in `linear`.
  }];
  let hasRules = true;
}

def Exec_PrepareRowsKernel
    : Exec_Kernel<"PrepareRows", "prepare_rows", 1, "Rows", (ins
        Exec_Size:$k, Exec_WeightFormat:$format, Exec_Flag:$norm,
        Exec_RealOrNone:$eps, Exec_NormOffset:$offset,
        Exec_Stride:$x_stride)> {
  let summary = "rows prepared for tensor cores, optionally after a norm";
  let description = [{
    Buffers: x, [norm], y. Rows of bf16, or of int8 with a scale for each group,
    in the order of PreparedRows.h. Only GPU targets have code for it.
  }];
  let hasRules = true;
}

def Exec_HeadLinearKernel
    : Exec_Kernel<"HeadLinear", "head_linear", 1, "Other", (ins
    Exec_Size:$heads, Exec_Size:$k, Exec_Size:$n, Exec_WeightFormat:$format,
    Exec_Flag:$fragments, Exec_PanelWidth:$panel, Exec_Stride:$x_stride,
    Exec_Stride:$x_head_stride, Exec_Begin:$x_offset, Exec_Stride:$y_stride,
    Exec_Stride:$y_head_stride, Exec_Begin:$y_offset,
    Exec_SizeOrNone:$keep_width, Exec_Begin:$keep_offset,
    Exec_RotationOrNone:$rotation,
    Exec_RowLimit:$positions)> {
  let summary = "columns of each head times a weight of the head";
  let description = [{
    Buffers: x, W (of all heads), [table, positions], y. Columns `keep_offset`
    to `keep_offset + keep_width` of each head of x are copied after the head's
    outputs. With a rotation, whose offset counts from the first kept column,
    they are rotated.
  }];
  let hasRules = true;
  let methods = [{
    /// Return the distance of heads, and of rows, in elements.
    int64_t getXHead() const {
      return ::mlir::exec::strideOr(getXHeadStride(), getK());
    }
    int64_t getYHead() const {
      return ::mlir::exec::strideOr(getYHeadStride(), getN());
    }
    int64_t getXRow() const {
      return ::mlir::exec::strideOr(getXStride(), getHeads() * getXHead());
    }
    int64_t getYRow() const {
      return ::mlir::exec::strideOr(getYStride(), getHeads() * getYHead());
    }
  }];
}

def Exec_GemmKernel : Exec_Kernel<"Gemm", "gemm", 1, "Other", (ins
    Exec_Size:$k, Exec_Size:$n, Exec_Size:$workspace)> {
  let summary = "rows of bf16 times a matrix, in a vendor's library";
  let description = [{
    Buffers: x, matrix, y, workspace. No target has code for it: a library of
    the GPU's vendor computes it, on rows from `round_rows` and a matrix from
    `unpack`.
  }];
}

def Exec_UnpackKernel : Exec_Kernel<"Unpack", "unpack", 1, "Other", (ins
    Exec_Size:$k, Exec_Size:$n, Exec_WeightFormat:$format,
    Exec_Flag:$fragments, Exec_PanelWidth:$panel, Exec_Flag:$gated)> {
  let summary = "the unpacked matrix of a weight in fragments";
  let description = "Buffers: W, matrix. Only GPU targets have code for it.";
  let hasRules = true;
}

#endif // EXEC_PRODUCT_KERNELS
