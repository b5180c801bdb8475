//===- ExecRecurrenceOps.td - Layers with a recurrent state *- tablegen -*-===//
//
// Gates, and ops that carry a state from row to row. The rows of a slot follow
// each other in order and form a run. Padding rows (position -1) may stand
// before or after the active rows of a run.
//
// The state stands before the slot's last rows, and the inputs of these rows
// are kept with it. When the rows run, it is not yet known which of them stay.
// Every run therefore begins by folding the first `pending` kept rows into the
// state. It stores the state as it is before its own last `keeps` rows, and
// keeps these rows. A run that begins at position 0 begins from zero. A round
// keeps all of its rows, and a chunk of a prompt one. The operations on a row,
// and their order, do not depend on where runs begin and end, so the bits of a
// row do not either.
//
//===----------------------------------------------------------------------===//

#ifndef EXEC_RECURRENCE_OPS
#define EXEC_RECURRENCE_OPS

include "dialects/Exec/IR/ops/ExecCallOps.td"
include "dialects/Exec/IR/ops/ExecStateOps.td"

def Exec_SigmoidOp : Exec_CallOp<"sigmoid", [Exec_SameShape<["x", "y"]>]> {
  let summary = "Apply the logistic function to rows";
  let description = [{
    Example:
    ```mlir
    %y = exec.sigmoid %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
    - (C1) y has x's shape.
  }];
  let inputs = (ins Exec_Rows:$x);
  let results = (outs Exec_RowsResult:$y);
  let syntax = "$x";
}

def Exec_SigmoidGateOp : Exec_CallOp<"sigmoid_gate", [
    Exec_SameShape<["x", "y"]>, Exec_SameRows<["x", "gate"]>]> {
  let summary = "Gate groups of columns: x * sigmoid(gate)";
  let description = [{
    There is one gate per group: one for each column, for each head, or for the
    row.

    Example:
    ```mlir
    %y = exec.sigmoid_gate %x by %gate
        : (tensor<4x8xf32>, tensor<4x2xf32>) -> tensor<4x8xf32>
    ```
    - (C1) y has x's shape.
    - (C2) there are gates for every row, and their number divides the number of
      columns.
  }];
  let inputs = (ins Exec_Rows:$x, Exec_Rows:$gate);
  let results = (outs Exec_RowsResult:$y);
  let syntax = "$x `by` $gate";
  let hasVerifier = 1;
}

def Exec_L2NormOp : Exec_CallOp<"l2_norm", [Exec_SameShape<["x", "y"]>]> {
  let summary = "Divide groups of columns by their length";
  let description = [{
    `y = x / sqrt(sum of x^2 over the group + eps)`.

    Example:
    ```mlir
    %y = exec.l2_norm %x groups 2 eps 1.0e-6
        : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
    - (C1) y has x's shape.
    - (C2) groups divides the columns.
  }];
  let inputs = (ins Exec_Rows:$x, DefaultValuedAttr<I64Attr, "1">:$groups,
                    F32Attr:$eps);
  let results = (outs Exec_RowsResult:$y);
  let syntax = "$x (`groups` $groups^)? `eps` $eps";
  let hasVerifier = 1;
}

def Exec_DecayOp : Exec_CallOp<"decay", [Exec_SameShape<["x", "y"]>]> {
  let summary = "Compute the decay factor of a state";
  let description = [{
    `y = exp(-exp(rate) * softplus(x + bias))`. With `linear` it is
    `y = exp(rate * softplus(x + bias))`.

    Example:
    ```mlir
    %y = exec.decay %x rate %rate bias %bias
        : (tensor<4x8xf32>, memref<8xf32>, memref<8xf32>) -> tensor<4x8xf32>
    ```
    - (C1) y has x's shape.
  }];
  let inputs = (ins Exec_Rows:$x, Exec_Vector:$rate, Exec_Vector:$bias,
                    UnitAttr:$linear);
  let results = (outs Exec_RowsResult:$y);
  let syntax = "$x `rate` $rate `bias` $bias (`linear` $linear^)?";
  let methods = "bool readsAnyRow(size_t index);";
}

/// A call that has a state and keeps rows.
class Exec_RunOp<string mnemonic, list<Trait> traits>
    : Exec_CallOp<mnemonic, traits> {
  let hasVerifier = 1;
  let methods = [{
    bool readsAnyRow(size_t index);
    bool updatesOperand(size_t index);
  }];
}

def Exec_CausalConvOp : Exec_RunOp<"causal_conv", [Exec_SameRows<[
    "x", "slots", "positions", "pending", "keeps", "y"]>,
    Exec_SameShape<["x", "y"]>]> {
  let summary = "Convolve each column over a slot's rows, and apply the SiLU";
  let description = [{
    `y[t] = silu(sum over i of w[i] * x[t - window + 1 + i])`, column by column;
    `weight` has the columns of the oldest row first. `state` has the window - 1
    rows before the kept rows, followed by the kept rows.

    Example:
    ```mlir
    %y = exec.causal_conv %x by %w window 4 in %state
        slots %slots at %positions pending %p keeps %k
        : (tensor<6x64xf32>, memref<256xf32>, memref<4x8x64xf32>,
           memref<6xi32>, memref<6xi32>, tensor<6xi32>, tensor<6xi32>)
        -> tensor<6x64xf32>
    ```
    - (C1) all have the same number of rows, and y has x's shape.
    - (C2) the window is at least 2 rows, and the weight has a number for each
      of its rows and columns.
    - (C3) the state has rows of x's columns: window - 1, and at least one kept.
  }];
  let inputs = (ins Exec_Rows:$x, Exec_Vector:$weight, I64Attr:$window,
                    Exec_StateRows:$state, Exec_Numbers:$slots,
                    Exec_Numbers:$positions, Exec_Numbers:$pending,
                    Exec_Numbers:$keeps);
  let results = (outs Exec_RowsResult:$y);
  let syntax = [{
    $x `by` $weight `window` $window `in` $state `slots` $slots
    `at` $positions `pending` $pending `keeps` $keeps
  }];
}

def Exec_DeltaRuleOp : Exec_RunOp<"delta_rule", [Exec_SameRows<[
    "q", "k", "v", "decay", "beta", "slots", "positions", "pending", "keeps",
    "y"]>, Exec_SameShape<["v", "y"]>, Exec_Whole<"decay">,
    Exec_Whole<"beta">]> {
  let summary = "Run rows through the gated delta rule";
  let description = [{
    Gated DeltaNet (arXiv:2412.06464), run row by row as in transformers'
    Qwen3-Next. Each head has a state S of `k`'s columns by `v`'s: `u = beta *
    (v - decay * S^T k)`, `S = decay * S + k u^T`, `y = scale * S^T q`.
    Consecutive heads of v share one head of q and k. `memory` has S, head after
    head. A kept row is the keys and the updates u of all heads, and their
    decays. With one decay per key of a head (Kimi Delta Attention,
    arXiv:2510.26692), each row of S has its own decay, and `decay * S^T k` is
    `(decay * S)^T k`.

    Example:
    ```mlir
    %y = exec.delta_rule %q, %k, %v decay %g beta %b scale 0.5 key_heads 1
        in %memory keeping %kept
        slots %slots at %positions pending %p keeps %n
        : (tensor<6x4xf32>, tensor<6x4xf32>, tensor<6x16xf32>,
           tensor<6x2xf32>, tensor<6x2xf32>, memref<4x8x8xf32>,
           memref<4x5x26xf32>, memref<6xi32>, memref<6xi32>, tensor<6xi32>,
           tensor<6xi32>) -> tensor<6x16xf32>
    ```
    - (C1) all have the same number of rows, and y has v's shape; decay and beta
      are no views.
    - (C2) there is a beta for each head. There is a decay for each head, or for
      each column of each head's key. heads divides the columns of v and is a
      multiple of key_heads, which divides the columns of q and k.
    - (C3) memory has a row for each column of each head's key, as wide as a
      head's columns of v; kept has the numbers of a kept row.
  }];
  let inputs = (ins Exec_Rows:$q, Exec_Rows:$k, Exec_Rows:$v,
                    Exec_Rows:$decay, Exec_Rows:$beta, F32Attr:$scale,
                    I64Attr:$key_heads, Exec_StateRows:$memory,
                    Exec_StateRows:$kept, Exec_Numbers:$slots,
                    Exec_Numbers:$positions, Exec_Numbers:$pending,
                    Exec_Numbers:$keeps);
  let results = (outs Exec_RowsResult:$y);
  let syntax = [{
    $q `,` $k `,` $v `decay` $decay `beta` $beta `scale` $scale
    `key_heads` $key_heads `in` $memory `keeping` $kept `slots` $slots
    `at` $positions `pending` $pending `keeps` $keeps
  }];
}

#endif // EXEC_RECURRENCE_OPS
