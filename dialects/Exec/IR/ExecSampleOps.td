//===- ExecSampleOps.td - From logits to tokens ------------*- tablegen -*-===//

#ifndef EXEC_SAMPLE_OPS
#define EXEC_SAMPLE_OPS

include "dialects/Exec/IR/ExecCallOps.td"

def Exec_ArgmaxOp : Exec_CallOp<"argmax", [Exec_SameRows<["x", "picks"]>]> {
  let summary = "Find the column of each row's largest value";
  let description = [{
    Example:
    ```mlir
    %p = exec.argmax %logits : (tensor<4x64xf32>) -> tensor<4xi32>
    ```
    - (C1) there is a pick per row.
  }];
  let inputs = (ins Exec_Rows:$x);
  let results = (outs Exec_NumbersResult:$picks);
  let syntax = "$x";
}

def Exec_ArgmaxPartsOp : Exec_CallOp<"argmax_parts", [
    Exec_SameRows<["best", "picks"]>, Exec_SameShape<["best", "columns"]>,
    Exec_Whole<"best">]> {
  let summary = "Find the column of each row's largest value among the best";
  let description = [{
    `best` and `columns` are those of `exec.linear_argmax`.

    Example:
    ```mlir
    %p = exec.argmax_parts %best, %columns
        : (tensor<4x3xf32>, tensor<4x3xi32>) -> tensor<4xi32>
    ```
    - (C1) there is a pick per row.
    - (C2) best and columns have one shape.
    - (C3) best is no view.
  }];
  let inputs = (ins Exec_Rows:$best, Exec_NumberRows:$columns);
  let results = (outs Exec_NumbersResult:$picks);
  let syntax = "$best `,` $columns";
}

def Exec_SampleOp : Exec_CallOp<"sample", [
    AttrSizedOperandSegments, Exec_SameRows<["logits", "slots", "positions"]>,
    Exec_Together<["best", "columns"]>, Exec_Whole<"logits">,
    Exec_Whole<"best">]> {
  let summary = "Pick a token per row as its slot's sampling words say";
  let description = [{
    A builtin of the runtime, or with `compiled` a kernel of the target, as
    `exec-compile-sampling` leaves it. A row whose slot is greedy takes the best
    logit: where a head gave the best of each panel, `best` and `columns`, from
    these, and its logits need not be there. With `tokens` a column stands for
    the token that this lists, whose noise it has.

    Rows are long where the vocabulary is, and a task per row leaves threads
    idle. With `scan` there is a task for every stretch of a row, and the result
    is what each found; `found` is that of such a call, from which another
    picks.

    Example:
    ```mlir
    %p = exec.sample %logits slots %s positions %p by %sampling
        : (tensor<1x64xf32>, tensor<1xi32>, tensor<1xi32>, memref<2x8xi32>)
        -> tensor<1xi32>
    %p = exec.sample %logits best (%b, %c) tokens %map slots %s positions %p
        by %sampling
        : (tensor<1x2xf32>, tensor<1x2xi32>, tensor<1x64xf32>, memref<64x1xi32>,
           tensor<1xi32>, tensor<1xi32>, memref<2x8xi32>) -> tensor<1xi32>
    ```
    - (C1) logits, slots and positions have the same rows.
    - (C2) best and columns are given together.
    - (C3) scan is not given with found, and both only with best.
    - (C4) logits and best are no views.
  }];
  let inputs = (ins Optional<Exec_Rows>:$best,
                    Optional<Exec_NumberRows>:$columns,
                    Exec_Rows:$logits, Optional<Exec_NumberRows>:$tokens,
                    Exec_Numbers:$slots, Exec_Numbers:$positions,
                    Exec_NumberRows:$sampling, Optional<Exec_NumberRows>:$found,
                    UnitAttr:$scan, UnitAttr:$compiled);
  let results = (outs Exec_CountedTensor<[I32], [1, 2], "static i32">:$result);
  let syntax = [{
    (`compiled` $compiled^)? (`scan` $scan^)? $logits
    (`best` `(` $best^ `,` $columns `)`)? (`tokens` $tokens^)?
    `slots` $slots `positions` $positions `by` $sampling (`found` $found^)?
  }];
  let methods = [{
    ::llvm::SmallVector<::mlir::exec::Count> getKernelParams();
    bool readsAnyRow(size_t index);
  }];
  let hasVerifier = 1;
}

def Exec_ExcludeOp : Exec_CallOp<"exclude", [
    Exec_SameRows<["x", "tokens"]>, Exec_SameShape<["x", "y"]>,
    Exec_Whole<"x">]> {
  let summary = "Take one column of each row out of the choice";
  let description = [{
    It becomes -infinity; a token that is no column changes nothing.

    Example:
    ```mlir
    %rest = exec.exclude %logits, %best
        : (tensor<4x64xf32>, tensor<4xi32>) -> tensor<4x64xf32>
    ```
    - (C1) there is a token per row.
    - (C2) y has x's shape.
    - (C3) x is no view.
  }];
  let inputs = (ins Exec_Rows:$x, Exec_Numbers:$tokens);
  let results = (outs Exec_RowsResult:$y);
  let syntax = "$x `,` $tokens";
}

#endif // EXEC_SAMPLE_OPS
