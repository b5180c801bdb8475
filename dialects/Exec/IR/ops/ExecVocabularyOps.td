//===- ExecVocabularyOps.td - Work over rows of logits -----*- tablegen -*-===//

#ifndef EXEC_VOCABULARY_OPS
#define EXEC_VOCABULARY_OPS

include "dialects/Exec/IR/ops/ExecCallOps.td"

/// One f32 per row.
def Exec_Reals : Exec_Operand<[F32], [1], "a number of f32 per row">;

class Exec_RowNumberOp<string mnemonic>
    : Exec_CallOp<mnemonic, [Exec_SameRows<["x", "y"]>]> {
  let inputs = (ins Exec_Rows:$x);
  let results = (outs Exec_RowsResult:$y);
  let syntax = "$x";
  let hasVerifier = 1;
}

def Exec_LogSumExpOp : Exec_RowNumberOp<"log_sum_exp"> {
  let summary = "Compute the logarithm of the sum of e^x over each row";
  let description = [{
    Example:
    ```mlir
    %s = exec.log_sum_exp %logits : (tensor<4x64xf32>) -> tensor<4x1xf32>
    ```
    - (C1) there is one result per row.
    - (C2) the result has one column.
  }];
}

def Exec_LogSoftmaxOp
    : Exec_CallOp<"log_softmax", [Exec_SameShape<["x", "y"]>]> {
  let summary = "Compute the log-softmax of each row";
  let description = [{
    Example:
    ```mlir
    %y = exec.log_softmax %logits : (tensor<4x64xf32>) -> tensor<4x64xf32>
    ```
    - (C1) y has x's shape.
  }];
  let inputs = (ins Exec_Rows:$x);
  let results = (outs Exec_RowsResult:$y);
  let syntax = "$x";
}

def Exec_SampleKeysOp : Exec_CallOp<"sample_keys", [
    AttrSizedOperandSegments, Exec_SameShape<["x", "p", "keys"]>,
    Exec_SameRows<["x", "slots", "positions", "sums"]>, Exec_Whole<"x">,
    Exec_Whole<"p">]> {
  let summary = "Compute the sampling key of each column";
  let description = [{
    The pick of `mtp.sample` is the column with the largest key. A key is the
    column's noise minus the distance of its logit, over the temperature, from
    the best one. If `p`, the result of `exec.probabilities`, is 0, the key is
    -infinity. A key minus `sums` is the logarithm of p plus the noise. If a
    row's slot is greedy, the keys are the logits and the sum is that of
    `exec.log_sum_exp`. With `tokens` a column stands for the token that this
    operand lists. `numbers` distinguish several noises of one position; -1 is
    the position's own noise.

    Example:
    ```mlir
    %k, %s = exec.sample_keys %x of %p slots %slots positions %at numbers %n
        by %sampling
        : (tensor<2x64xf32>, tensor<2x64xf32>, tensor<2xi32>, tensor<2xi32>,
           tensor<2xi32>, memref<2x8xi32>)
        -> (tensor<2x64xf32>, tensor<2x1xf32>)
    ```
    - (C1) p and keys have x's shape.
    - (C2) there is one slot, one position and one sum per row.
    - (C3) x and p are no views.
    - (C4) a sum is one column, and numbers, if given, are one per row.
  }];
  let inputs = (ins Exec_Rows:$x, Exec_Rows:$p,
                    Optional<Exec_NumberRows>:$tokens, Exec_Numbers:$slots,
                    Exec_Numbers:$positions, Optional<Exec_Numbers>:$numbers,
                    Exec_NumberRows:$sampling);
  let results = (outs Exec_RowsResult:$keys, Exec_RowsResult:$sums);
  let syntax = [{
    $x `of` $p (`tokens` $tokens^)? `slots` $slots `positions` $positions
    (`numbers` $numbers^)? `by` $sampling
  }];
  let methods = "bool readsAnyRow(size_t index);";
  let hasVerifier = 1;
}

def Exec_EntropyOp : Exec_RowNumberOp<"entropy"> {
  let summary = "Compute the entropy of each row's softmax";
  let description = [{
    Example:
    ```mlir
    %h = exec.entropy %logits : (tensor<4x64xf32>) -> tensor<4x1xf32>
    ```
    - (C1) there is one result per row.
    - (C2) the result has one column.
  }];
}

def Exec_GatherColumnsOp : Exec_CallOp<"gather_columns", [
    Exec_SameShape<["columns", "y"]>]> {
  let summary = "Gather elements of each row by their columns";
  let description = [{
    With places the rows of x are packed: places give the row of x for each row
    of columns, and a negative place gives zeros.

    Example:
    ```mlir
    %y = exec.gather_columns %x, %c
        : (tensor<4x64xf32>, tensor<4x2xi32>) -> tensor<4x2xf32>
    %y = exec.gather_columns %x[%places], %c
        : (tensor<6x64xf32>, tensor<4xi32>, tensor<4x2xi32>) -> tensor<4x2xf32>
    ```
    - (C1) each row, or place, has the same number of columns.
    - (C2) there is one element per column to gather.
  }];
  let inputs = (ins Exec_Rows:$x, Optional<Exec_Numbers>:$places,
                    Exec_NumberRows:$columns);
  let results = (outs Exec_RowsResult:$y);
  let syntax = "$x (`[` $places^ `]`)? `,` $columns";
  let methods = [{
    ::llvm::SmallVector<::mlir::exec::Count> getKernelParams();
    bool readsAnyRow(size_t index);
    bool followsRowsOf(size_t index);
  }];
  let hasVerifier = 1;
}

def Exec_TopKOp : Exec_CallOp<"top_k", [
    Exec_SameRows<["x", "columns"]>, Exec_SameShape<["columns", "logs"]>]> {
  let summary = "Find the best columns of each row";
  let description = [{
    A logarithm is the element minus the row's `exec.log_sum_exp`, or minus the
    given sum.

    Example:
    ```mlir
    %c, %l = exec.top_k %logits
        : (tensor<4x64xf32>) -> (tensor<4x8xi32>, tensor<4x8xf32>)
    ```
    - (C1) each row has the same number of best columns.
    - (C2) there is one logarithm per best column.
    - (C3) sums are one column, no view, with one element per row.
  }];
  let inputs = (ins Exec_Rows:$x, Optional<Exec_Rows>:$sums);
  let results = (outs Exec_NumberRowsResult:$columns, Exec_RowsResult:$logs);
  let syntax = "$x (`less` $sums^)?";
  let hasVerifier = 1;
}

def Exec_ProbabilitiesOp : Exec_CallOp<"probabilities", [
    Exec_SameShape<["x", "y"]>, Exec_Whole<"x">]> {
  let summary = "Compute the distribution that each row is sampled from";
  let description = [{
    Example:
    ```mlir
    %p = exec.probabilities %logits of %slots by %sampling
        : (tensor<6x64xf32>, tensor<2xi32>, memref<2x8xi32>)
        -> tensor<6x64xf32>
    ```
    - (C1) y has x's shape.
    - (C2) x is no view.
    - (C3) each slot has the same number of rows.
  }];
  let inputs = (ins Exec_Rows:$x, Exec_Numbers:$slots,
                    Exec_NumberRows:$sampling);
  let results = (outs Exec_RowsResult:$y);
  let syntax = "$x `of` $slots `by` $sampling";
  let methods = [{
    ::llvm::SmallVector<::mlir::exec::Count> getKernelParams();
    bool readsAnyRow(size_t index);
  }];
  let hasVerifier = 1;
}

def Exec_SampleResidualOp : Exec_CallOp<"sample_residual", [
    AttrSizedOperandSegments, Exec_SameRows<["uniforms", "picks"]>,
    Exec_Whole<"p">, Exec_Whole<"q">]> {
  let summary = "Sample a column from the positive part of p - q";
  let description = [{
    Rows have one pick each. With `at` each pick has a group of rows, and `at`
    selects one of them. With places the rows of p are packed, and places give
    the rows of each group; a negative place gives the pick -1.

    Example:
    ```mlir
    %t = exec.sample_residual %p less %q at %count by %u
        : (tensor<6x64xf32>, tensor<4x64xf32>, tensor<2xi32>, tensor<2xf32>)
        -> tensor<2xi32>
    ```
    - (C1) there is one uniform number per pick.
    - (C2) p and q are no views.
    - (C3) p and q have the same columns. They have the same number of rows for
      each pick, or packed rows the same number of places: one without `at`,
      which has one number per pick.
    - (C4) places are given only with `at`.
  }];
  let inputs = (ins Exec_Rows:$p, Optional<Exec_Numbers>:$places,
                    Optional<Exec_Rows>:$q, Optional<Exec_Numbers>:$at,
                    Exec_Reals:$uniforms);
  let results = (outs Exec_NumbersResult:$picks);
  let syntax = [{
    $p (`[` $places^ `]`)? (`less` $q^)? (`at` $at^)? `by` $uniforms
  }];
  let methods = [{
    ::llvm::SmallVector<::mlir::exec::Count> getKernelParams();
    bool followsRowsOf(size_t index);
  }];
  let hasVerifier = 1;
}

def Exec_MaskColumnsOp : Exec_CallOp<"mask_columns", [
    Exec_SameRows<["x", "slots"]>, Exec_SameShape<["x", "y"]>]> {
  let summary = "Set the columns whose bits are 0 in a state to -infinity";
  let description = [{
    Example:
    ```mlir
    %y = exec.mask_columns %logits by %allowed of %slots at %row
        : (tensor<6x64xf32>, tensor<6xi32>, tensor<6xi32>, memref<4x3x2xi32>)
        -> tensor<6x64xf32>
    ```
    - (C1) there is one slot per row.
    - (C2) y has x's shape.
    - (C3) a row of the state has a bit for each column, in the smallest number
      of words. `at` is given, one per row, if and only if a slot has several
      rows.
  }];
  let inputs = (ins Exec_Rows:$x, Exec_Numbers:$slots,
                    Optional<Exec_Numbers>:$at, Exec_StateWords:$state);
  let results = (outs Exec_RowsResult:$y);
  let syntax = "$x `by` $state `of` $slots (`at` $at^)?";
  let hasVerifier = 1;
}

#endif // EXEC_VOCABULARY_OPS
