//===- ExecRowOps.td - Calls that work row by row ----------*- tablegen -*-===//

#ifndef EXEC_ROW_OPS
#define EXEC_ROW_OPS

include "dialects/Exec/IR/ops/ExecCallOps.td"
include "mlir/Interfaces/InferTypeOpInterface.td"

def Exec_ColumnsOp : Exec_Op<"columns", [
    Pure, HasParent<"::mlir::exec::ProgramOp">,
    InferTypeOpAdaptor]> {
  let summary = "View columns of an activation";
  let description = [{
    A view, not a call: a kernel that takes it reads x from the first of these
    columns on, with x's stride.

    Example:
    ```mlir
    %k = exec.columns %qkv[128 to 192] : tensor<4x256xf32>
    ```
    - (C1) the columns are columns of x.
    - (C2) x is no view itself.
  }];
  let arguments = (ins Exec_RowsResult:$x, I64Attr:$begin, I64Attr:$end);
  let results = (outs Exec_RowsResult:$result);
  let assemblyFormat = "$x `[` $begin `to` $end `]` attr-dict `:` type($x)";
  let hasVerifier = 1;
}

def Exec_ReshapeOp : Exec_Op<"reshape", [
    Pure, HasParent<"::mlir::exec::ProgramOp">]> {
  let summary = "Reshape between per-row and per-slot numbers";
  let description = [{
    A view, not a call: converts numbers per slot to numbers per row, or back;
    the same for rows of logits.

    Example:
    ```mlir
    %rows = exec.reshape %grid : tensor<2x3xi32> -> tensor<6xi32>
    ```
    - (C1) the number of elements is the same.
    - (C2) element types are equal.
    - (C3) the operand is no view of columns.
  }];
  let arguments = (ins
      Exec_CountedTensor<[I32, I64, F32], [1, 2, 3], "static numbers">:$x);
  let results = (outs
      Exec_CountedTensor<[I32, I64, F32], [1, 2, 3], "static numbers">:$result);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
}

def Exec_EmbedOp : Exec_CallOp<"embed", [
    Exec_SameRows<["tokens", "y"]>,
    DeclareOpInterfaceMethods<Exec_PackedWeightOpInterface>]> {
  let summary = "Look up the rows of tokens in a table";
  let description = [{
    The table is stored row by row, or in panels of integers, which a projection
    may read, too. `panel_rows` is the number of rows of a table in panels.

    Example:
    ```mlir
    %y = exec.embed %tokens in %table as <bf16>
        : (memref<512x192xbf16>, tensor<4xi32>) -> tensor<4x192xf32>
    %z = exec.embed %tokens in %panels rows 49 as <int4, group = 32>
        : (memref<2x3840xi8>, tensor<4xi32>) -> tensor<4x192xf32>
    ```
    A `scale` multiplies every value.
    - (C1) there is one row per token.
  }];
  let inputs = (ins Exec_Packed:$table, Exec_Numbers:$tokens,
                    Exec_FormatAttr:$format, OptionalAttr<I64Attr>:$panel_rows,
                    OptionalAttr<F32Attr>:$scale);
  let results = (outs Exec_RowsResult:$y);
  let syntax = "$tokens `in` $table (`rows` $panel_rows^)? `as` $format "
               "(`scale` $scale^)?";
  let methods = "bool readsAnyRow(size_t index);";
}

def Exec_MaskFirstOp : Exec_CallOp<"mask_first", [
    Exec_SameRows<["x", "positions"]>, Exec_SameShape<["x", "y"]>,
    Exec_Whole<"x">]> {
  let summary = "Zero the rows at position 0";
  let description = [{
    Example:
    ```mlir
    %y = exec.mask_first %x at %positions
        : (tensor<4x8xf32>, tensor<4xi32>) -> tensor<4x8xf32>
    ```
    - (C1) there is one position per row.
    - (C2) y has x's shape.
    - (C3) x is no view.
  }];
  let inputs = (ins Exec_Rows:$x, Exec_Numbers:$positions);
  let results = (outs Exec_RowsResult:$y);
  let syntax = "$x `at` $positions";
}

def Exec_RmsNormOp : Exec_CallOp<"rms_norm", [Exec_SameShape<["x", "y"]>]> {
  let summary = "Divide rows, or groups of columns, by their root mean square";
  let description = [{
    `y = x / sqrt(mean(x^2) + eps) * (weight + offset)`, over each of `groups`
    equal ranges of columns.

    Example:
    ```mlir
    %y = exec.rms_norm %x by %w groups 2 eps 1.0e-6
        : (tensor<4x16xf32>, memref<1x8xf32>) -> tensor<4x16xf32>
    ```
    - (C1) y has x's shape.
    - (C2) groups divides the columns.
  }];
  let inputs = (ins Exec_Rows:$x, Exec_Vector:$weight,
                    DefaultValuedAttr<I64Attr, "1">:$groups, F32Attr:$eps,
                    DefaultValuedAttr<I64Attr, "0">:$offset);
  let results = (outs Exec_RowsResult:$y);
  let syntax = [{
    $x `by` $weight (`groups` $groups^)? `eps` $eps (`offset` $offset^)?
  }];
  let methods = "bool readsAnyRow(size_t index);";
  let hasVerifier = 1;
}

def Exec_RoundRowsOp : Exec_CallOp<"round_rows", [
    Exec_SameShape<["x", "y"]>, Exec_NormWithEpsilon]> {
  let summary = "Round rows to bf16, optionally after a norm";
  let description = [{
    `y = norm(x)` in bf16: the rounding that `exec.linear` does before it
    multiplies.

    Example:
    ```mlir
    %y = exec.round_rows %x norm %n eps 1.0e-6
        : (tensor<4x16xf32>, memref<1x16xf32>) -> tensor<4x16xbf16>
    ```
    - (C1) y has x's shape.
    - (C2) eps is given if and only if norm is.
  }];
  let inputs = (ins Exec_Rows:$x, Optional<Exec_Vector>:$norm,
                    OptionalAttr<F32Attr>:$eps,
                    DefaultValuedAttr<I64Attr, "0">:$offset);
  let results = (outs Exec_CountedTensor<[BF16], [2],
                                         "static rows of bf16">:$y);
  let syntax = [{
    $x (`norm` $norm^)? (`eps` $eps^)? (`offset` $offset^)?
  }];
  let methods = "bool readsAnyRow(size_t index);";
}

def Exec_AddBiasOp : Exec_CallOp<"add_bias", [Exec_SameShape<["x", "y"]>]> {
  let summary = "Add a vector to every row";
  let description = [{
    Example:
    ```mlir
    %y = exec.add_bias %x, %b
        : (tensor<4x16xf32>, memref<1x16xf32>) -> tensor<4x16xf32>
    ```
    - (C1) y has x's shape.
  }];
  let inputs = (ins Exec_Rows:$x, Exec_Vector:$bias);
  let results = (outs Exec_RowsResult:$y);
  let syntax = "$x `,` $bias";
  let methods = "bool readsAnyRow(size_t index);";
}

/// A call whose row of y depends on that row of a and of b.
class Exec_PairOp<string mnemonic>
    : Exec_CallOp<mnemonic, [Exec_SameShape<["a", "b", "y"]>]> {
  let inputs = (ins Exec_Rows:$a, Exec_Rows:$b);
  let results = (outs Exec_RowsResult:$y);
  let syntax = "$a `,` $b";
}

def Exec_AddOp : Exec_PairOp<"add"> {
  let summary = "Add rows";
  let description = [{
    Example:
    ```mlir
    %y = exec.add %a, %b : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
    - (C1) a, b and y have one shape.
  }];
}

def Exec_SwigluOp : Exec_PairOp<"swiglu"> {
  let summary = "Gate rows: silu(a) * b";
  let description = [{
    Example:
    ```mlir
    %y = exec.swiglu %a, %b
        : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
    - (C1) a, b and y have one shape.
  }];
}

def Exec_GegluTanhOp : Exec_PairOp<"geglu_tanh"> {
  let summary = "Gate rows: gelu(a) * b, with the tanh approximation";
  let description = [{
    Example:
    ```mlir
    %y = exec.geglu_tanh %a, %b
        : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
    - (C1) a, b and y have one shape.
  }];
}

def Exec_SiluOp : Exec_CallOp<"silu", [Exec_SameShape<["x", "y"]>]> {
  let summary = "Apply the SiLU to rows";
  let description = [{
    Example:
    ```mlir
    %y = exec.silu %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
    - (C1) y has x's shape.
  }];
  let inputs = (ins Exec_Rows:$x);
  let results = (outs Exec_RowsResult:$y);
  let syntax = "$x";
}

def Exec_ConcatOp : Exec_CallOp<"concat", [Exec_SameRows<["a", "b", "y"]>]> {
  let summary = "Concatenate rows of a and b by columns";
  let description = [{
    Example:
    ```mlir
    %y = exec.concat %a, %b
        : (tensor<4x8xf32>, tensor<4x4xf32>) -> tensor<4x12xf32>
    ```
    - (C1) a, b and y have the same number of rows.
    - (C2) y has the columns of both.
  }];
  let inputs = (ins Exec_Rows:$a, Exec_Rows:$b);
  let results = (outs Exec_RowsResult:$y);
  let syntax = "$a `,` $b";
  let hasVerifier = 1;
}

def Exec_CopyOp : Exec_CallOp<"copy", [Exec_SameShape<["x", "y"]>]> {
  let summary = "Copy columns, so that rows follow each other";
  let description = [{
    Example:
    ```mlir
    %y = exec.copy %columns : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
    - (C1) y has x's shape.
  }];
  let inputs = (ins Exec_Rows:$x);
  let results = (outs Exec_RowsResult:$y);
  let syntax = "$x";
}

def Exec_GatherRowsOp : Exec_CallOp<"gather_rows",
    [Exec_SameRows<["index", "result"]>, Exec_Whole<"x">]> {
  let summary = "Copy the rows that an index lists";
  let description = [{
    Example:
    ```mlir
    %y = exec.gather_rows %x, %i
        : (tensor<4x8xf32>, tensor<2xi32>) -> tensor<2x8xf32>
    ```
    - (C1) there is one row per number of the index.
    - (C2) x is no view.
  }];
  let inputs = (ins Exec_Operand<[F32, I32], [1, 2], "rows of f32 or i32">:$x,
                    Exec_Numbers:$index);
  let results = (outs Exec_CountedTensor<[F32, I32], [1, 2],
                                        "static rows of f32 or i32">:$result);
  let syntax = "$x `,` $index";
  let methods = [{
    ::llvm::SmallVector<::mlir::exec::Count> getKernelParams();
    bool followsRowsOf(size_t index) {
      return getOperand(index) == getIndex();
    }
  }];
}

def Exec_PackOp : Exec_CallOp<"pack", [
    Exec_SameRows<["positions", "places"]>]> {
  let summary = "Move active rows in front of padding rows";
  let description = [{
    A row at a position that is not negative is active. The positions and other
    numbers of active rows come first, in order. Padding rows follow, with -1
    for each number and empty masks. A kernel that also computes padding rows
    therefore writes no entry of a cache for them. `places` gives for every
    original row its new index, and -1 for a padding row; `live` is the number
    of active rows. Masks are numbers of i64, after the numbers of i32. If the
    results have fewer rows than the operands, the first active rows are packed,
    and all others become padding rows.

    Example:
    ```mlir
    %p, %t, %places, %live = exec.pack %positions, (%tokens)
        : (tensor<6xi32>, tensor<6xi32>)
        -> (tensor<6xi32>, tensor<6xi32>, tensor<6xi32>, tensor<1xi32>)
    ```
    - (C1) positions, numbers and places have the same number of rows, and so do
      all packed results.
    - (C2) every operand has a packed result of its type, i32 before i64.
    - (C3) live is one number.
  }];
  let inputs = (ins Exec_Numbers:$positions,
                    Variadic<Exec_Operand<[I32, I64], [1],
                                          "a number per row">>:$numbers);
  let results = (outs Exec_NumbersResult:$packed,
                      Variadic<Exec_CountedTensor<[I32, I64], [1],
                          "a static number per row">>:$packed_numbers,
                      Exec_NumbersResult:$places, Exec_NumbersResult:$live);
  let syntax = "$positions `,` `(` $numbers `)`";
  let methods = [{
    ::llvm::SmallVector<::mlir::exec::Count> getKernelParams();
    bool followsRowsOf(size_t index) { return false; }
  }];
  let hasVerifier = 1;
}

def Exec_PackPromptsOp : Exec_CallOp<"pack_prompts", [
    SameVariadicOperandSize]> {
  let summary = "Move active rows in front of active prompt rows";
  let description = [{
    Works as `exec.pack`, with two lists of rows: a position and other numbers
    for each row. Rows of the first list come first; their number is limited by
    the room that all rows of the second list leave. There are places for the
    rows of each list.

    Example:
    ```mlir
    %p, %t, %places, %theirs, %live = exec.pack_prompts
        (%positions, %tokens) and (%more, %text)
        : (tensor<6xi32>, tensor<6xi32>, tensor<4xi32>, tensor<4xi32>)
        -> (tensor<10xi32>, tensor<10xi32>, tensor<6xi32>, tensor<4xi32>,
            tensor<1xi32>)
    ```
    - (C1) there are rows; packed results have rows for the second list and at
      least one more, and each list has its own places.
    - (C2) every operand has a packed result of its type, in both lists, i32
      before i64, with the positions first.
    - (C3) live is one number.
  }];
  let inputs = (ins Variadic<Exec_Operand<[I32, I64], [1],
                                          "a number per row">>:$rows,
                    Variadic<Exec_Operand<[I32, I64], [1],
                                          "a number per row">>:$prompts);
  let results = (outs Variadic<Exec_CountedTensor<[I32, I64], [1],
                          "a static number per row">>:$packed,
                      Exec_NumbersResult:$places,
                      Exec_NumbersResult:$prompt_places,
                      Exec_NumbersResult:$live);
  let syntax = "`(` $rows `)` `and` `(` $prompts `)`";
  let methods = [{
    ::llvm::SmallVector<::mlir::exec::Count> getKernelParams();
    bool followsRowsOf(size_t index) { return false; }
  }];
  let hasVerifier = 1;
}

def Exec_UnpackRowsOp : Exec_CallOp<"unpack_rows",
    [Exec_SameRows<["places", "result"]>, Exec_Whole<"x">]> {
  let summary = "Move packed rows back to their original rows";
  let description = [{
    Gathers the rows that `places` lists. A negative place gives a row of zeros,
    or the number -1.

    Example:
    ```mlir
    %y = exec.unpack_rows %x, %places
        : (tensor<6x8xf32>, tensor<6xi32>) -> tensor<6x8xf32>
    ```
    - (C1) there is one row per place.
    - (C2) x is no view.
    - (C3) rows have x's columns.
  }];
  let inputs = (ins Exec_Operand<[F32, I32], [1, 2], "rows of f32 or i32">:$x,
                    Exec_Numbers:$places);
  let results = (outs Exec_CountedTensor<[F32, I32], [1, 2],
                                        "static rows of f32 or i32">:$result);
  let syntax = "$x `,` $places";
  let methods = [{
    ::llvm::SmallVector<::mlir::exec::Count> getKernelParams();
    bool followsRowsOf(size_t index) {
      return getOperand(index) == getPlaces();
    }
  }];
  let hasVerifier = 1;
}

#endif // EXEC_ROW_OPS
