//===- MTPExpertOps.td - Mixture of experts ----------------*- tablegen -*-===//

#ifndef MTP_EXPERT_OPS_TD
#define MTP_EXPERT_OPS_TD

include "dialects/MTP/IR/MTPOpBase.td"

def MTP_MoeRouteOp : MTP_Op<"moe_route", [Pure]> {
  let summary = "Pick the experts of every row and their weights";
  let description = [{
    Scores are the sigmoid or the softmax of the logits. The experts with the
    largest score + bias are chosen. The weights are the scores of the chosen
    experts (divided by their sum with `normalized`) times `scale`. With `groups
    g keep n` only n groups take part: those with the largest sum of their two
    best biased scores. Ties go to the lowest index.

    ```mlir
    %i, %p = mtp.moe_route %logits bias %b sigmoid top_k 2 groups 4 keep 2
             normalized scale 2.5
             : tensor<?x8xf32>, tensor<8xf32>
             -> tensor<?x2xi32>, tensor<?x2xf32>
    ```

    Constraints:
    - (C1) 1 <= top_k <= experts (the logits' width) <= 4096.
    - (C2) groups divides experts; 1 <= keep <= groups; top_k fits in the kept
      groups; if there is more than one group, each has at least two experts.
    - (C3) the bias has one value per expert.
    - (C4) results have the logits' number of rows and top_k columns.
    - (C5) scale is finite and positive.
  }];
  let arguments = (ins MTP_Activation:$logits, Optional<MTP_WeightVector>:$bias,
                       MTP_ScoringAttr:$scoring, I64Attr:$top_k,
                       DefaultValuedAttr<I64Attr, "1">:$groups,
                       DefaultValuedAttr<I64Attr, "1">:$keep,
                       UnitAttr:$normalized,
                       DefaultValuedAttr<F64Attr, "1.0">:$scale);
  let results = (outs MTP_TokenGrid:$experts, MTP_Activation:$weights);
  let assemblyFormat = [{
    $logits (`bias` $bias^)? `` $scoring `top_k` $top_k
    (`groups` $groups^)? (`keep` $keep^)? (`normalized` $normalized^)?
    (`scale` $scale^)? attr-dict
    `:` type($logits) (`,` type($bias)^)?
    `->` type($experts) `,` type($weights)
  }];
  let hasVerifier = 1;
}

def MTP_MoeExpertsOp : MTP_Op<"moe_experts", [Pure, AttrSizedOperandSegments]> {
  let summary = "Send rows through their experts and add up the results";
  let description = [{
    The result of every row is the sum over its experts, in the order of the
    choice, of `weight * (silu(x G^T) * (x U^T)) D^T`. `shared` (the result of
    the shared experts) and `residual` are added if given: residual first, then
    shared, then the sum. Padding rows are skipped.

    ```mlir
    %y = mtp.moe_experts %x, %i, %p, %rows experts(%g, %u, %d)
         shared %s residual %r
         : (tensor<?x192xf32>, tensor<?x2xi32>, tensor<?x2xf32>, !mtp.rows,
            tensor<8x64x192xbf16>, tensor<8x64x192xbf16>,
            tensor<8x192x64xbf16>, tensor<?x192xf32>, tensor<?x192xf32>)
         -> tensor<?x192xf32>
    ```

    Constraints:
    - (C1) indices and weights have x's number of rows and the same width.
    - (C2) gate and up are [E, I, H], down is [E, H, I], H is x's width.
    - (C3) top_k <= E.
    - (C4) shared, residual and the result have x's type.
    - (C5) the three stacks have one element type.
  }];
  let arguments = (ins MTP_Activation:$x, MTP_TokenGrid:$indices,
                       MTP_Activation:$weights, MTP_Rows:$rows,
                       MTP_WeightStack:$gate, MTP_WeightStack:$up,
                       MTP_WeightStack:$down,
                       Optional<MTP_Activation>:$shared,
                       Optional<MTP_Activation>:$residual);
  let results = (outs MTP_Activation:$result);
  let assemblyFormat = [{
    $x `,` $indices `,` $weights `,` $rows
    `experts` `(` $gate `,` $up `,` $down `)`
    (`shared` $shared^)? (`residual` $residual^)? attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

#endif // MTP_EXPERT_OPS_TD
