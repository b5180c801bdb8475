//===- ExecRecurrenceKernels.td - Kinds of recurrences -----*- tablegen -*-===//

#ifndef EXEC_RECURRENCE_KERNELS
#define EXEC_RECURRENCE_KERNELS

include "dialects/Exec/IR/ExecKernels.td"

def Exec_SigmoidKernel : Exec_Kernel<"Sigmoid", "sigmoid", 1, "Rows", (ins
    Exec_Size:$width, Exec_Stride:$x_stride, Exec_Stride:$y_stride)> {
  let summary = "the logistic function 1 / (1 + e^-x)";
  let description = "Buffers: x, y.";
}

def Exec_SigmoidGateKernel
    : Exec_Kernel<"SigmoidGate", "sigmoid_gate", 1, "Rows", (ins
        Exec_Size:$width, Exec_Size:$gates, Exec_Stride:$x_stride,
        Exec_Stride:$gate_stride, Exec_Stride:$y_stride)> {
  let summary = "x * sigmoid(gate), with a gate for each group of columns";
  let description = "Buffers: x, gates, y.";
  let hasRules = true;
}

def Exec_L2NormKernel : Exec_Kernel<"L2Norm", "l2_norm", 1, "Rows", (ins
    Exec_Size:$width, Exec_SizeOrOne:$groups, Exec_Real:$eps,
    Exec_Stride:$x_stride, Exec_Stride:$y_stride)> {
  let summary = "groups of `width` columns divided by their length";
  let description = "Buffers: x, y.";
}

def Exec_DecayKernel : Exec_Kernel<"Decay", "decay", 1, "Rows", (ins
    Exec_Size:$width, Exec_Stride:$x_stride, Exec_Stride:$y_stride,
    Exec_Flag:$linear)> {
  let summary = "exp(-exp(rate) * softplus(x + bias))";
  let description = [{
    Buffers: x, rates, biases, y. `linear`: exp(rate * softplus(x + bias)).
  }];
}

// Both kinds have a task for each row and for part of its columns, or for a
// head. The task of the first row of a run does the whole run.

def Exec_CausalConvKernel
    : Exec_Kernel<"CausalConv", "causal_conv", 1, "Other", (ins
        Exec_Size:$width, Exec_Size:$window, Exec_Size:$kept,
        Exec_RowLimit:$slots, Exec_Stride:$x_stride, Exec_Stride:$y_stride)> {
  let summary = "silu of a convolution over the rows of slots";
  let description = [{
    SiLU of a convolution over the rows of slots
  }];
  let hasRules = true;
  let methods = [{
    /// Columns of one task; they divide the width.
    int64_t getTaskColumns() const;
    /// Rows of a slot's state.
    int64_t getStateRows() const { return getWindow() - 1 + getKept(); }
  }];
}

def Exec_DeltaRuleKernel
    : Exec_Kernel<"DeltaRule", "delta_rule", 1, "Other", (ins
        Exec_Size:$heads, Exec_Size:$key_heads, Exec_Size:$dk, Exec_Size:$dv,
        Exec_Size:$kept, Exec_RowLimit:$slots, Exec_Real:$scale,
        Exec_SizeOrOne:$decays,
        Exec_Stride:$q_stride, Exec_Stride:$k_stride, Exec_Stride:$v_stride,
        Exec_Stride:$y_stride)> {
  let summary = "gated delta rule over the rows of slots";
  let description = [{
    Buffers: q, k, v, decays, betas, memory, kept rows, slots, positions,
    pending, keeps, y. A head has one decay, or dk of them.
  }];
  let hasRules = true;
  let methods = [{
    /// Numbers of one kept row: keys and updates of all heads, and decays.
    int64_t getKeptWidth() const {
      return getHeads() * (getDk() + getDv() + getDecays());
    }
    /// Columns of a head's state that a task holds at once; they divide dv.
    int64_t getTileColumns() const;
  }];
}

#endif // EXEC_RECURRENCE_KERNELS
