//===- ExecExpertOps.td - Mixtures of experts --------------*- tablegen -*-===//

#ifndef EXEC_EXPERT_OPS
#define EXEC_EXPERT_OPS

include "dialects/Exec/IR/ops/ExecCallOps.td"
include "dialects/MTP/IR/MTPEnums.td"

def Exec_MoeRouteOp : Exec_CallOp<"moe_route", [
    Exec_SameRows<["logits", "experts"]>,
    Exec_SameShape<["experts", "weights"]>]> {
  let summary = "Pick the experts of every row and their weights";
  let description = [{
    Computes `mtp.moe_route`; top_k is the number of columns of the results.

    Example:
    ```mlir
    %e, %w = exec.moe_route %logits sigmoid groups 4 keep 2 normalized scale 2.5
        : (tensor<4x8xf32>) -> (tensor<4x2xi32>, tensor<4x2xf32>)
    ```
    - (C1) results have the logits' number of rows.
    - (C2) experts and weights have one shape.
  }];
  let inputs = (ins Exec_Rows:$logits, Optional<Exec_Vector>:$bias,
                    MTP_ScoringAttr:$scoring,
                    DefaultValuedAttr<I64Attr, "1">:$groups,
                    DefaultValuedAttr<I64Attr, "1">:$keep, UnitAttr:$normalized,
                    DefaultValuedAttr<F32Attr, "1.0f">:$scale);
  let results = (outs Exec_NumberRowsResult:$experts, Exec_RowsResult:$weights);
  let syntax = [{
    $logits (`bias` $bias^)? `` $scoring (`groups` $groups^)? (`keep` $keep^)?
    (`normalized` $normalized^)? (`scale` $scale^)?
  }];
  let methods = "bool readsAnyRow(size_t index);";
}

def Exec_MoePlanOp : Exec_CallOp<"moe_plan",
    [Exec_SameRows<["positions", "experts"]>]> {
  let summary = "Order rows by their experts";
  let description = [{
    `starts` gives for every expert where its rows begin in `order`, and last
    the end of the last expert's rows. Rows of position -1 are left out.

    Example:
    ```mlir
    %starts, %order = exec.moe_plan %experts at %positions
        : (tensor<4xi32>, tensor<4x2xi32>) -> (tensor<9xi32>, tensor<8xi32>)
    ```
    - (C1) there is one position per row.
  }];
  let inputs = (ins Exec_Numbers:$positions, Exec_NumberRows:$experts);
  let results = (outs Exec_NumbersResult:$starts, Exec_NumbersResult:$order);
  let syntax = "$experts `at` $positions";
  let methods = "::llvm::SmallVector<::mlir::exec::Count> getKernelParams();";
}

/// A product of rows by the matrices of their experts.
class Exec_ExpertProductOp<string mnemonic, list<Trait> traits = []>
    : Exec_CallOp<mnemonic, traits # [
        DeclareOpInterfaceMethods<Exec_PackedWeightOpInterface>]> {
  dag product = (ins Exec_Rows:$x, Exec_Packed:$weight, Exec_Numbers:$starts,
                     Exec_Numbers:$order, Exec_FormatAttr:$format);
  string productSyntax = [{
    $x `,` $weight `as` $format
    `rows` `(` $starts `,` $order `)`
  }];
  let results = (outs Exec_RowsResult:$y);
}

def Exec_MoeGateUpOp : Exec_ExpertProductOp<"moe_gate_up", [
    Exec_SameRows<["order", "y"]>]> {
  let summary = "Multiply rows by their experts' gates and ups";
  let description = [{
    `silu(x G^T) * (x U^T)`: y has a row for each row of x and each of its
    experts.

    Example:
    ```mlir
    %a = exec.moe_gate_up %x, %w as <bf16> rows (%starts, %order)
        : (tensor<4x16xf32>, memref<16x8x32x2xbf16>, tensor<9xi32>,
           tensor<8xi32>) -> tensor<8x32xf32>
    ```
    - (C1) there is one row per element of the order.
    - (C2) the order has the same number of elements for each row of x.
  }];
  let inputs = product;
  let syntax = productSyntax;
  let methods = "::llvm::SmallVector<::mlir::exec::Count> getKernelParams();";
  let hasVerifier = 1;
}

def Exec_MoeDownOp : Exec_ExpertProductOp<"moe_down", [
    Exec_SameRows<["x", "order", "y"]>, Exec_Whole<"x">]> {
  let summary = "Multiply the experts' results by their down projections";
  let description = [{
    The rows are those of `exec.moe_gate_up`; each original row has `top_k` of
    them.

    Example:
    ```mlir
    %p = exec.moe_down %a, %w as <bf16> rows (%starts, %order) top_k 2
        : (tensor<8x32xf32>, memref<8x16x32x2xbf16>, tensor<9xi32>,
           tensor<8xi32>) -> tensor<8x16xf32>
    ```
    - (C1) x, order and y have the same number of rows.
    - (C2) x is no view.
    - (C3) top_k divides the rows.
  }];
  let inputs = !con(product, (ins I64Attr:$top_k));
  let syntax = productSyntax # " `top_k` $top_k";
  let methods = [{
    ::llvm::SmallVector<::mlir::exec::Count> getKernelParams();
    // If no row is active, there is no plan either.
    bool followsRowsOf(size_t index) { return getOperand(index) == getX(); }
  }];
  let hasVerifier = 1;
}

def Exec_MoeCombineOp : Exec_CallOp<"moe_combine", [
    AttrSizedOperandSegments, Exec_SameRows<["positions", "weights", "y"]>,
    Exec_OptionalLike<"residual", "y">, Exec_OptionalLike<"shared", "y">,
    Exec_Whole<"weights">, Exec_Whole<"parts">, Exec_Whole<"residual">,
    Exec_Whole<"shared">]> {
  let summary = "Add up the results of a row's experts";
  let description = [{
    Adds `residual`, `shared` and the weighted sum of the results, in this
    order.

    Example:
    ```mlir
    %y = exec.moe_combine %parts by %w at %positions residual %x
        : (tensor<4xi32>, tensor<4x2xf32>, tensor<8x16xf32>, tensor<4x16xf32>)
          -> tensor<4x16xf32>
    ```
    - (C1) y has a row per position and per row of weights.
    - (C2) residual and shared have y's shape.
    - (C3) no operand is a view.
  }];
  let inputs = (ins Exec_Numbers:$positions, Exec_Rows:$weights,
                    Exec_Rows:$parts, Optional<Exec_Rows>:$residual,
                    Optional<Exec_Rows>:$shared);
  let results = (outs Exec_RowsResult:$y);
  let syntax = [{
    $parts `by` $weights `at` $positions (`residual` $residual^)?
    (`shared` $shared^)?
  }];
}

#endif // EXEC_EXPERT_OPS
