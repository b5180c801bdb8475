//===- ExecProductOps.td - Products by packed weights ------*- tablegen -*-===//

#ifndef EXEC_PRODUCT_OPS
#define EXEC_PRODUCT_OPS

include "dialects/Exec/IR/ExecAttrs.td"
include "dialects/Exec/IR/ops/ExecCallOps.td"
include "dialects/MTP/IR/MTPEnums.td"

/// The rows of a product: plain rows, or rows of `exec.prepare_rows`.
def Exec_MultipliedRows
    : Exec_Operand<[F32, BF16, I8], [2], "rows of f32, or prepared ones">;
def Exec_PreparedRowsResult
    : Exec_CountedTensor<[BF16, I8], [2], "static rows of bf16 or bytes">;

def Exec_PrepareRowsOp : Exec_CallOp<"prepare_rows", [
    Exec_SameRows<["x", "y"]>, Exec_NormWithEpsilon]> {
  let summary = "Prepare rows for products on tensor cores";
  let description = [{
    `y = norm(x)` in bf16, or in int8 with a scale per row and group, in the
    order of PreparedRows.h. `exec.linear` would prepare its rows in the same
    way, to the bit; here it is done once for all blocks of a GPU.

    Example:
    ```mlir
    %y = exec.prepare_rows %x as <bf16> norm %n eps 1.0e-6
        : (tensor<4x192xf32>, memref<1x192xf32>) -> tensor<4x192xbf16>
    %y = exec.prepare_rows %x as <int8, group = 64>
        : (tensor<4x192xf32>) -> tensor<4x216xi8>
    ```
    - (C1) y has x's number of rows.
    - (C2) eps is given if and only if norm is.
    - (C3) y has the elements and columns that PreparedRows.h gives for the
      format.
  }];
  let inputs = (ins Exec_Rows:$x, Optional<Exec_Vector>:$norm,
                    Exec_FormatAttr:$format, OptionalAttr<F32Attr>:$eps,
                    DefaultValuedAttr<I64Attr, "0">:$offset);
  let results = (outs Exec_PreparedRowsResult:$y);
  let syntax = [{
    $x `as` $format (`norm` $norm^)? (`eps` $eps^)? (`offset` $offset^)?
  }];
  let methods = [{
    bool readsAnyRow(size_t index);
    /// Returns the type of `x` prepared for weights of `format`.
    static ::mlir::RankedTensorType typeFor(::mlir::Value x,
                                            ::mlir::exec::FormatAttr format);
  }];
  let hasVerifier = 1;
}

def Exec_LinearOp : Exec_CallOp<"linear", [
    AttrSizedOperandSegments, Exec_SameRows<["x", "y"]>,
    Exec_OptionalLike<"residual", "y">, Exec_NormWithEpsilon,
    DeclareOpInterfaceMethods<Exec_PackedWeightOpInterface>]> {
  let summary = "Multiply rows by a packed weight";
  let description = [{
    `y = act(norm(x) W^T + bias) + residual`. The weight's inputs are x's
    columns and its outputs are y's columns; with `swiglu` or `geglu_tanh` it
    has twice the outputs, gate and up. A norm first divides rows by their root
    mean square and multiplies them by `norm + offset`. `role` is the role of
    `mtp.linear`, and changes no kernel. `prepared` is the number of inputs of
    rows from `exec.prepare_rows`.

    Example:
    ```mlir
    %y = exec.linear %x, %w as <int4, group = 64> norm %n eps 1.0e-6 residual %r
        : (tensor<4x192xf32>, memref<1x192xf32>, memref<6x3456xi8>,
           tensor<4x192xf32>) -> tensor<4x192xf32>
    %y = exec.linear %p, %w as <int4, group = 64> prepared 192
        : (tensor<4x216xi8>, memref<6x3456xi8>) -> tensor<4x192xf32>
    ```
    - (C1) y has x's number of rows.
    - (C2) residual has y's shape.
    - (C3) eps is given if and only if norm is.
    - (C4) x is f32, or prepared for the weight and without a norm.
  }];
  let inputs = (ins Exec_MultipliedRows:$x, Optional<Exec_Vector>:$norm,
                    Exec_Packed:$weight, Optional<Exec_Vector>:$bias,
                    Optional<Exec_Rows>:$residual, Exec_FormatAttr:$format,
                    OptionalAttr<F32Attr>:$eps,
                    DefaultValuedAttr<I64Attr, "0">:$offset,
                    DefaultValuedAttr<MTP_ActivationKindAttr,
                        "::mlir::mtp::ActivationKind::None">:$activation,
                    OptionalAttr<MTP_ProjectionRoleAttr>:$role,
                    OptionalAttr<I64Attr>:$prepared);
  let results = (outs Exec_RowsResult:$y);
  let syntax = [{
    $x `,` $weight `as` $format (`prepared` $prepared^)? (`norm` $norm^)?
    (`eps` $eps^)? (`offset` $offset^)? (`bias` $bias^)?
    (`residual` $residual^)? (`activation` `` $activation^)?
    (`role` `` $role^)?
  }];
  let methods = [{
    bool isGated() {
      return getActivation() != ::mlir::mtp::ActivationKind::None;
    }
    bool isHead() { return getRole() == ::mlir::mtp::ProjectionRole::Head; }
    bool isRouter() { return getRole() == ::mlir::mtp::ProjectionRole::Router; }
  }];
  let hasVerifier = 1;
}

def Exec_LinearArgmaxOp : Exec_CallOp<"linear_argmax", [
    AttrSizedOperandSegments, Exec_SameRows<["x", "best", "columns"]>,
    Exec_SameShape<["best", "columns"]>,
    Exec_Together<["slots", "sampling", "logits"]>, Exec_NormWithEpsilon]> {
  let summary = "Multiply rows by a head and find the best of each panel";
  let description = [{
    The product of `exec.linear` with a weight of `n` outputs. Returns the
    largest value of each panel and its column. With `slots` and `sampling` it
    also writes the logits of the rows whose slot's sampling words ask for them.

    Example:
    ```mlir
    %best, %columns, %logits = exec.linear_argmax %x, %w n 64 as <f32>
        logits (%slots, %sampling)
        : (tensor<1x8xf32>, memref<2x8x32xf32>, tensor<1xi32>, memref<2x8xi32>)
          -> (tensor<1x2xf32>, tensor<1x2xi32>, tensor<1x64xf32>)
    ```
    - (C1) results have x's number of rows.
    - (C2) best and columns have one shape.
    - (C3) slots, sampling and logits are given together.
    - (C4) eps is given if and only if norm is.
    - (C5) x is f32, or prepared for the weight and without a norm.
  }];
  let inputs = (ins Exec_MultipliedRows:$x, Optional<Exec_Vector>:$norm,
                    Exec_Packed:$weight, Optional<Exec_Vector>:$bias,
                    Optional<Exec_Numbers>:$slots,
                    Optional<Exec_NumberRows>:$sampling, I64Attr:$n,
                    Exec_FormatAttr:$format,
                    OptionalAttr<F32Attr>:$eps,
                    DefaultValuedAttr<I64Attr, "0">:$offset,
                    OptionalAttr<I64Attr>:$prepared);
  let results = (outs Exec_RowsResult:$best, Exec_NumberRowsResult:$columns,
                      Optional<Exec_RowsResult>:$logits);
  let syntax = [{
    $x `,` $weight `n` $n `as` $format (`prepared` $prepared^)?
    (`norm` $norm^)? (`eps` $eps^)? (`offset` $offset^)? (`bias` $bias^)?
    (`logits` `(` $slots^ `,` $sampling `)`)?
  }];
  let hasVerifier = 1;
}

def Exec_HeadLinearOp : Exec_CallOp<"head_linear", [
    AttrSizedOperandSegments, Exec_SameRows<["x", "y"]>,
    Exec_Together<["table", "angles", "rotation"]>]> {
  let summary = "Multiply columns of every head by a weight of its own";
  let description = [{
    Multiplies the columns `cols` of each of x's heads by the head's matrix. The
    head's columns `keep_begin` to `keep_end` follow the product, unchanged, or
    with a rotation, rotated by the angles of the rows' positions.

    Example:
    ```mlir
    %y = exec.head_linear %x, %w heads 4 cols 0 to 32 keep 32 to 48 as <bf16>
        : (tensor<2x192xf32>, memref<8x16x32x2xbf16>) -> tensor<2x320xf32>
    %y = exec.head_linear %x, %w heads 4 cols 0 to 32 keep 32 to 48 as <bf16>
        rotated <dim = 16> by (%table, %positions)
        : (tensor<2x192xf32>, memref<8x16x32x2xbf16>, memref<64x16xf32>,
           tensor<2xi32>) -> tensor<2x320xf32>
    ```
    - (C1) y has x's number of rows.
    - (C2) table, angles and rotation are given together.
    - (C3) heads divides the columns of x and of y; both ranges lie in a head of
      x, and a head of y has room for the kept columns and a product.
  }];
  let inputs = (ins Exec_Rows:$x, Exec_Packed:$weight,
                    Optional<Exec_Rows>:$table, Optional<Exec_Numbers>:$angles,
                    I64Attr:$heads, I64Attr:$col_begin, I64Attr:$col_end,
                    DefaultValuedAttr<I64Attr, "0">:$keep_begin,
                    DefaultValuedAttr<I64Attr, "0">:$keep_end,
                    Exec_FormatAttr:$format,
                    OptionalAttr<Exec_RotationAttr>:$rotation);
  let results = (outs Exec_RowsResult:$y);
  let syntax = [{
    $x `,` $weight `heads` $heads `cols` $col_begin `to` $col_end
    (`keep` $keep_begin `to` $keep_end^)? `as` $format
    (`rotated` $rotation^ `by` `(` $table `,` $angles `)`)?
  }];
  let methods = [{
    int64_t getHeadWidth() {
      return ::mlir::exec::columnsOf(getX()) / int64_t(getHeads());
    }
    int64_t getKeptColumns() {
      return int64_t(getKeepEnd()) - int64_t(getKeepBegin());
    }
  }];
  let hasVerifier = 1;
}

/// Rows of bf16, the form that a product of the vendor's library takes.
def Exec_HalfRows : Exec_Operand<[BF16], [2], "rows of bf16">;
def Exec_HalfRowsResult
    : Exec_CountedTensor<[BF16], [2], "static rows of bf16">;
def Exec_WorkspaceResult : Exec_CountedTensor<[I8], [1], "static bytes">;

def Exec_GemmOp : Exec_CallOp<"gemm", [Exec_SameRows<["x", "y"]>]> {
  let summary = "Multiply rows by a matrix, in the vendor's library";
  let description = [{
    `y = x W^T` in bf16, with sums in f32. No target has code for it: a GPU's
    runtime calls a library, in which the order of sums depends on the number of
    rows. The library may use the workspace, whose contents are undefined
    afterwards.

    Example:
    ```mlir
    %y, %space = exec.gemm %x, %w
        : (tensor<128x192xbf16>, tensor<64x192xbf16>)
          -> (tensor<128x64xf32>, tensor<1024xi8>)
    ```
    - (C1) y has x's number of rows.
    - (C2) the weight has x's columns as inputs and y's columns as outputs.
  }];
  let inputs = (ins Exec_HalfRows:$x, Exec_HalfRows:$weight);
  let results = (outs Exec_RowsResult:$y, Exec_WorkspaceResult:$workspace);
  let syntax = "$x `,` $weight";
  // A library computes all rows.
  let methods = "bool followsRowsOf(size_t index) { return false; }";
  let hasVerifier = 1;
}

def Exec_UnpackOp : Exec_CallOp<"unpack"> {
  let summary = "Unpack the matrix of a packed bf16 weight";
  let description = [{
    The result lists the outputs one after the other, each with its inputs, in
    the form that a library takes. For a `gated` weight all gates come first,
    followed by all ups.

    Example:
    ```mlir
    %m = exec.unpack %w : (memref<2x6x32x32xbf16>) -> tensor<64x192xbf16>
    %g = exec.unpack %w gated : (memref<2x6x32x32xbf16>) -> tensor<64x192xbf16>
    ```
    - (C1) the weight is in fragments, and has the size of the result.
  }];
  let inputs = (ins Exec_Packed:$weight, UnitAttr:$gated);
  let results = (outs Exec_HalfRowsResult:$matrix);
  let syntax = "$weight (`gated` $gated^)?";
  let hasVerifier = 1;
}

#endif // EXEC_PRODUCT_OPS
