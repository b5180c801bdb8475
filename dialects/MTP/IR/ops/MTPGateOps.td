//===- MTPGateOps.td - Gates of recurrent layers -----------*- tablegen -*-===//
//
// Gate ops that Qwen3-Next, Qwen3.5 and related models have besides the
// recurrence itself. A gated norm is `mtp.swiglu` of the gate and the norm.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_GATE_OPS_TD
#define MTP_GATE_OPS_TD

include "dialects/MTP/IR/ops/MTPModelOps.td"

def MTP_SigmoidOp : MTP_ModelOp<"sigmoid", [SameOperandsAndResultType]> {
  let summary = "Apply the logistic function";
  let description = [{
    `y = 1 / (1 + e^-x)`.

    ```mlir
    %y = mtp.sigmoid %x : tensor<?x32xf32>
    ```

    Constraints:
    - (C1) the width is static.
  }];
  let arguments = (ins MTP_Activation:$x);
  let results = (outs MTP_Activation:$result);
  let assemblyFormat = "$x attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def MTP_SigmoidGateOp
    : MTP_ModelOp<"sigmoid_gate", [AllTypesMatch<["x", "result"]>]> {
  let summary = "Gate groups of columns by a logistic function";
  let description = [{
    `y = x * sigmoid(gate)`, with one gate per group of columns. The number of
    gates is the number of groups: one for each column (Qwen3.5's attention),
    for each head, or for the whole row (its shared expert).

    ```mlir
    %y = mtp.sigmoid_gate %x by %gate : tensor<?x512xf32>, tensor<?x8xf32>
    ```

    Constraints:
    - (C1) the widths are static, and the number of gates divides the number of
      columns.
  }];
  let arguments = (ins MTP_Activation:$x, MTP_Activation:$gate);
  let results = (outs MTP_Activation:$result);
  let assemblyFormat =
      "$x `by` $gate attr-dict `:` type($result) `,` type($gate)";
  let hasVerifier = 1;
}

def MTP_L2NormOp : MTP_ModelOp<"l2_norm", [SameOperandsAndResultType]> {
  let summary = "Divide groups of columns by their length";
  let description = [{
    `y = x / sqrt(sum of x^2 over the group + eps)`, without a weight.

    ```mlir
    %k = mtp.l2_norm %x groups 16 eps 1.0e-6 : tensor<?x2048xf32>
    ```

    Constraints:
    - (C1) the width is static; eps is finite and positive.
    - (C2) groups is positive and divides the columns.
  }];
  let arguments = (ins MTP_Activation:$x,
                       DefaultValuedAttr<I64Attr, "1">:$groups, F64Attr:$eps);
  let results = (outs MTP_Activation:$result);
  let assemblyFormat = [{
    $x (`groups` $groups^)? `eps` $eps attr-dict `:` type($result)
  }];
  let hasVerifier = 1;
}

def MTP_DecayOp : MTP_ModelOp<"decay", [AllTypesMatch<["x", "result"]>]> {
  let summary = "Compute the decay factor of a recurrent state";
  let description = [{
    `y = exp(-exp(rate) * softplus(x + bias))`, the decay of Gated DeltaNet
    (arXiv:2412.06464). `rate` is a checkpoint's `A_log`, `bias` its `dt_bias`.
    With `linear` it is `y = exp(rate * softplus(x + bias))`: the rate is
    `-exp(A_log)`, as GGUF stores it.

    ```mlir
    %g = mtp.decay %a rate %A_log bias %dt_bias
         : tensor<?x32xf32>, tensor<32xbf16>, tensor<32xbf16>
    ```

    Constraints:
    - (C1) the width is static; rate and bias have a number for each column.
  }];
  let arguments = (ins MTP_Activation:$x, MTP_WeightVector:$rate,
                       MTP_WeightVector:$bias, UnitAttr:$linear);
  let results = (outs MTP_Activation:$result);
  let assemblyFormat = [{
    $x `rate` $rate `bias` $bias (`linear` $linear^)? attr-dict
    `:` type($result) `,` type($rate) `,` type($bias)
  }];
  let hasVerifier = 1;
}

#endif // MTP_GATE_OPS_TD
