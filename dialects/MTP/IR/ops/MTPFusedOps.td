//===- MTPFusedOps.td - Ops that the fuse phase makes ------*- tablegen -*-===//
//
// No importer writes these ops. They are projections of the model family
// together with the other work of their kernels.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_FUSED_OPS_TD
#define MTP_FUSED_OPS_TD

include "dialects/MTP/IR/MTPOpBase.td"

def MTP_FusedLinearOp : MTP_Op<"fused_linear",
    [Pure, AttrSizedOperandSegments]> {
  let summary = "Project rows by several weights at once";
  let description = [{
    `y = act(norm(x) [W0; W1; ...]^T + [b0; b1; ...]) + residual`. The weights
    are concatenated along N. `swiglu` and `geglu_tanh` take two weights, gate
    and up, and compute what the op of this name does. `role` is as in
    `mtp.linear`. If several projections are fused, it is the router's role, or
    else the head's.

    ```mlir
    %qkv = mtp.fused_linear %x norm %n eps 1.0e-6 weights(%wq, %wk, %wv)
           : (tensor<?x192xf32>, tensor<192xbf16>, tensor<256x192xbf16>,
              tensor<128x192xbf16>, tensor<128x192xbf16>) -> tensor<?x512xf32>
    %a = mtp.fused_linear %x weights(%g, %u) activation swiglu
         : (...) -> tensor<?x512xf32>
    %y = mtp.fused_linear %a weights(%d) residual %x
         : (...) -> tensor<?x192xf32>
    ```

    Constraints:
    - (C1) at least one weight; all are [*, x's width] of one element type.
    - (C2) the norm weight has x's width; eps is given together with the norm,
      finite and positive; offset is 0 or 1, and 0 without a norm.
    - (C3) none: the result's width is the sum of the weights' N; else two
      weights of one shape, the result's width is their N, no bias and no
      residual.
    - (C4) there is no bias, or one per weight with that weight's N.
    - (C5) the residual has the result's type; the result has x's number of
      rows.
  }];
  let arguments = (ins MTP_Activation:$x, Optional<MTP_WeightVector>:$norm,
                       Variadic<MTP_WeightMatrix>:$weights,
                       Variadic<MTP_WeightVector>:$biases,
                       Optional<MTP_Activation>:$residual,
                       OptionalAttr<F64Attr>:$eps,
                       DefaultValuedAttr<I64Attr, "0">:$offset,
                       DefaultValuedAttr<MTP_ActivationKindAttr,
                           "::mlir::mtp::ActivationKind::None">:$activation,
                       OptionalAttr<MTP_ProjectionRoleAttr>:$role);
  let results = (outs MTP_Activation:$result);
  let assemblyFormat = [{
    $x (`norm` $norm^ `eps` $eps)? (`offset` $offset^)?
    `weights` `(` $weights `)` (`biases` `(` $biases^ `)`)?
    (`residual` $residual^)? (`activation` `` $activation^)?
    (`role` `` $role^)? attr-dict `:` functional-type(operands, results)
  }];
  let builders = [
    // Builds the op without a norm and a residual.
    OpBuilder<(ins "::mlir::Type":$type, "::mlir::Value":$x,
                   "::mlir::ValueRange":$weights, "::mlir::ValueRange":$biases,
                   "::mlir::mtp::ProjectionRoleAttr":$role,
                   CArg<"::mlir::mtp::ActivationKind",
                        "::mlir::mtp::ActivationKind::None">:$activation)>,
    // Builds the equivalent of `linear`.
    OpBuilder<(ins "::mlir::mtp::LinearOp":$linear)>
  ];
  let hasVerifier = 1;
}

def MTP_HeadLinearOp : MTP_Op<"head_linear", [Pure]> {
  let summary = "Project every head by a block of rows of its own";
  let description = [{
    Multiplies head h of x by rows `[begin + h * stride, end + h * stride)` of
    the weight: columns `cols` of the head times the transposed block, or with
    `transposed` times the block itself. `keep` appends further columns of the
    head of x, unchanged, to the head of the result.

    MLA's absorbed query (latent followed by the rotated part) and its value:

    ```mlir
    %p = mtp.head_linear %q, %kvb heads 4 cols 0 to 32 block 0 to 32 stride 64
         transposed keep 32 to 48
         : tensor<?x192xf32>, tensor<256x64xbf16> -> tensor<?x320xf32>
    %y = mtp.head_linear %o, %kvb heads 4 cols 0 to 64 block 32 to 64 stride 64
         : tensor<?x256xf32>, tensor<256x64xbf16> -> tensor<?x128xf32>
    ```

    Constraints:
    - (C1) heads is positive and divides x's width.
    - (C2) cols and keep are ranges within a head of x.
    - (C3) 0 <= begin < end <= stride and heads * stride = the weight's rows.
    - (C4) cols has the number of columns that the block has inputs: the
      weight's columns, or with transposed the block's rows.
    - (C5) the result has x's number of rows and heads * (outputs + keep)
      columns. The outputs are the block's rows, or with transposed the weight's
      columns.
  }];
  let arguments = (ins MTP_Activation:$x, MTP_WeightMatrix:$weight,
                       I64Attr:$heads, I64Attr:$col_begin, I64Attr:$col_end,
                       I64Attr:$block_begin, I64Attr:$block_end,
                       I64Attr:$block_stride, UnitAttr:$transposed,
                       OptionalAttr<I64Attr>:$keep_begin,
                       OptionalAttr<I64Attr>:$keep_end);
  let results = (outs MTP_Activation:$result);
  let assemblyFormat = [{
    $x `,` $weight `heads` $heads `cols` $col_begin `to` $col_end
    `block` $block_begin `to` $block_end `stride` $block_stride
    (`transposed` $transposed^)? (`keep` $keep_begin^ `to` $keep_end)? attr-dict
    `:` type($x) `,` type($weight) `->` type($result)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Returns the number of product columns in one head of the result.
    int64_t getHeadOutputs();
    /// Returns the number of kept columns after the product.
    int64_t getKeptColumns();
  }];
}

#endif // MTP_FUSED_OPS_TD
