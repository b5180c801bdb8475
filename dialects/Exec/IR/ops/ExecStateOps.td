//===- ExecStateOps.td - Rows of states --------------------*- tablegen -*-===//
//
// There is one task per slot: `slots` names the slots of a round or of a
// chunk's sequences, none of them twice.
//
//===----------------------------------------------------------------------===//

#ifndef EXEC_STATE_OPS
#define EXEC_STATE_OPS

include "dialects/Exec/IR/ops/ExecCacheOps.td"
include "dialects/Exec/IR/ops/ExecCallOps.td"

/// A state of f32 rows: its slots, rows per slot if there are several, and
/// columns.
def Exec_StateRows : Exec_StaticBuffer<[F32], [2, 3], "a state's rows of f32">;

def Exec_ReadStateOp : Exec_CallOp<"read_state"> {
  let summary = "Copy the first rows of each slot's state";
  let description = [{
    Example:
    ```mlir
    %h = exec.read_state %hidden of %slots
        : (memref<4x5x192xf32>, memref<2xi32>) -> tensor<6x192xf32>
    ```
    - (C1) the result has the same number of rows for each slot, at most the
      rows of the state, and the state's columns.
  }];
  let inputs = (ins Exec_Numbers:$slots, Exec_StateRows:$state);
  let results = (outs Exec_RowsResult:$y);
  let syntax = "$state `of` $slots";
  let methods = "::llvm::SmallVector<::mlir::exec::Count> getKernelParams();";
  let hasVerifier = 1;
}

def Exec_WriteStateOp : Exec_CallOp<"write_state", [Exec_Whole<"x">]> {
  let summary = "Copy rows to the first rows of each slot's state";
  let description = [{
    Copies all of x, the same number of rows for each slot. With `index` it
    copies the rows of x that the index lists for each slot; a negative number
    leaves the state's row as it is.

    Example:
    ```mlir
    exec.write_state %h to %hidden of %slots
        : (tensor<6x192xf32>, memref<2xi32>, memref<4x5x192xf32>) -> ()
    exec.write_state %h[%last] to %carry of %slots
        : (tensor<6x192xf32>, tensor<2xi32>, memref<2xi32>, memref<4x192xf32>)
        -> ()
    ```
    - (C1) each slot gets the same number of rows, at most the rows of the
      state, with its columns.
    - (C2) x is no view.
  }];
  let inputs = (ins Exec_Rows:$x,
                    Optional<Exec_Operand<[I32], [1, 2], "i32">>:$index,
                    Exec_Numbers:$slots, Exec_StateRows:$state);
  let syntax = "$x (`[` $index^ `]`)? `to` $state `of` $slots";
  let methods = [{
    ::llvm::SmallVector<::mlir::exec::Count> getKernelParams();
    bool updatesOperand(size_t index);
  }];
  let hasVerifier = 1;
}

def Exec_ConcatRowsOp : Exec_CallOp<"concat_rows", [
    Exec_Whole<"heads">, Exec_Whole<"tails">]> {
  let summary = "Join rows of two activations slot by slot";
  let description = [{
    For every slot the result has its rows of the first operand, followed by its
    rows of the second.

    Example:
    ```mlir
    %y = exec.concat_rows %carry rows 1, %h rows 3
        : (tensor<2x192xf32>, tensor<6x192xf32>) -> tensor<8x192xf32>
    ```
    - (C1) each operand has a fixed number of rows per slot, for the same number
      of slots; the result has all rows, with the same columns.
    - (C2) the operands are no views.
  }];
  let inputs = (ins Exec_Rows:$heads, I64Attr:$head_rows, Exec_Rows:$tails,
                    I64Attr:$tail_rows);
  let results = (outs Exec_RowsResult:$y);
  let syntax = "$heads `rows` $head_rows `,` $tails `rows` $tail_rows";
  let methods = "::llvm::SmallVector<::mlir::exec::Count> getKernelParams();";
  let hasVerifier = 1;
}

def Exec_MoveEntriesOp : Exec_CallOp<"move_entries", [
    Exec_SameShape<["from", "to"]>, Exec_SameRows<["slots", "from"]>]> {
  let summary = "Move a layer's entries of slots to other positions";
  let description = [{
    Moves entries in the order of the listed positions. If either position is
    negative, nothing is moved.

    Example:
    ```mlir
    exec.move_entries %from to %to in %layer slots %s pages %table
        : (memref<2xi32>, tensor<2x4xi32>, tensor<2x4xi32>, memref<4x9xi32>,
           memref<?x16x32xbf16>) -> ()
    ```
    - (C1) there are positions for each slot, an equal number of sources and
      targets.
  }];
  let inputs = (ins Exec_Numbers:$slots, Exec_NumberRows:$from,
                    Exec_NumberRows:$to, Exec_NumberRows:$page_table,
                    Exec_Pages:$pages,
                    DefaultValuedAttr<I64Attr, "1">:$cache_heads);
  let syntax = [{
    $from `to` $to `in` $pages (`divided` `by` $cache_heads^)? `slots` $slots
    `pages` $page_table
  }];
  let methods = "::llvm::SmallVector<::mlir::exec::Count> getKernelParams();";
}

#endif // EXEC_STATE_OPS
