//===- ExecSampleOps.td - From logits to tokens ------------*- tablegen -*-===//

#ifndef EXEC_SAMPLE_OPS
#define EXEC_SAMPLE_OPS

include "dialects/Exec/IR/ops/ExecCallOps.td"

def Exec_ArgmaxOp : Exec_CallOp<"argmax", [Exec_SameRows<["x", "picks"]>]> {
  let summary = "Find the column of each row's largest value";
  let description = [{
    Example:
    ```mlir
    %p = exec.argmax %logits : (tensor<4x64xf32>) -> tensor<4xi32>
    ```
    - (C1) there is one pick per row.
  }];
  let inputs = (ins Exec_Rows:$x);
  let results = (outs Exec_NumbersResult:$picks);
  let syntax = "$x";
}

def Exec_ArgmaxPartsOp : Exec_CallOp<"argmax_parts", [
    Exec_SameRows<["best", "picks"]>, Exec_SameShape<["best", "columns"]>,
    Exec_Whole<"best">]> {
  let summary = "Find the best column of each row among the best of its panels";
  let description = [{
    `best` and `columns` are results of `exec.linear_argmax`.

    Example:
    ```mlir
    %p = exec.argmax_parts %best, %columns
        : (tensor<4x3xf32>, tensor<4x3xi32>) -> tensor<4xi32>
    ```
    - (C1) there is one pick per row.
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
  let summary = "Pick a token per row by its slot's sampling words";
  let description = [{
    A builtin of the runtime, or with `compiled` a kernel of the target
    (`exec-compile-sampling`). A row whose slot is greedy takes the best logit.
    If a head gave the best of each panel (`best` and `columns`), the op takes
    the best of these, and the row's logits need not be written. With `tokens` a
    column stands for the token that this operand lists, and has the noise of
    that token.

    Rows are as long as the vocabulary, and one task per row would leave threads
    idle. With `scan` there is a task for every stretch of a row, and the result
    holds the partial result of each stretch. `found` is the result of such a
    call, which the op then picks from.

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
    - (C1) logits, slots and positions have the same number of rows.
    - (C2) best and columns are given together.
    - (C3) scan and found are not given together, and each only with best.
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

def Exec_MaskTokensOp : Exec_CallOp<"mask_tokens", [
    Exec_SameRows<["x", "tokens"]>, Exec_SameShape<["x", "y"]>,
    Exec_Whole<"x">]> {
  let summary = "Set the logit of one token per row to -infinity";
  let description = [{
    A token that has no column changes nothing.

    Example:
    ```mlir
    %rest = exec.mask_tokens %logits, %best
        : (tensor<4x64xf32>, tensor<4xi32>) -> tensor<4x64xf32>
    ```
    - (C1) there is one token per row.
    - (C2) y has x's shape.
    - (C3) x is no view.
  }];
  let inputs = (ins Exec_Rows:$x, Exec_Numbers:$tokens);
  let results = (outs Exec_RowsResult:$y);
  let syntax = "$x `,` $tokens";
}

def Exec_ProcessLogitsOp : Exec_CallOp<"process_logits", [
    AttrSizedOperandSegments,
    Exec_SameRows<["logits", "slots", "positions"]>,
    Exec_SameShape<["logits", "y"]>, Exec_Together<["best", "columns"]>,
    Exec_Together<["path", "length"]>, Exec_Whole<"logits">,
    Exec_Whole<"best">]> {
  let summary = "Apply the logit rules of each row's slot to its logits";
  let description = [{
    Works in place: the results have the buffers of `logits`, `best` and
    `columns`, and no later call reads these operands. A row whose slot has no
    rules stays as it is. A device may leave out the call if no slot of the
    batch has rules. `runtime/schema/LogitRules.h` describes the words of
    `rules` and the formulas.

    `path` has the nodes of each slot's window: their tokens, then their
    parents. A row at place p has node p - `length` of its slot, and the tokens
    of its ancestors, at most `depth`, count as output before the row. Places
    are positions if they are not given. Without `path` the tokens before a row
    are the tokens of `counts`. With `draft` the rows only pick drafts.

    With `tokens` a column stands for the token in its row of `tokens`, as in a
    drafter's own vocabulary. `counts` and `bias` are of tokens.

    `masks` has a bit per token for the first nodes of each slot's window. A row
    has the mask of its node, which is node 0 without `path`.

    If a head gave the best of each panel (`best` and `columns`), the first
    panel gets the best of the row, and all other panels -infinity.

    Example:
    ```mlir
    %y = exec.process_logits %logits slots %s positions %p
        by (%rules, %counts, %bias)
        : (tensor<1x64xf32>, tensor<1xi32>, tensor<1xi32>, memref<2x256xi32>,
           memref<2x32xi32>, memref<2x64xi32>) -> tensor<1x64xf32>
    ```
    - (C1) logits, slots and positions have the same number of rows.
    - (C2) y has the shape of logits.
    - (C3) best and columns are given together, and path and length.
    - (C4) logits and best are no views.
    - (C5) the other results have the types of best and columns, if these are
      given.
    - (C6) masks has three dimensions, a bit for each column in the smallest
      number of words, and a row for each of the first 16 nodes of path.
    - (C7) masks and tokens are not given together.
  }];
  let inputs = (ins Optional<Exec_Rows>:$best,
                    Optional<Exec_NumberRows>:$columns, Exec_Rows:$logits,
                    Exec_Numbers:$slots, Exec_Numbers:$positions,
                    Optional<Exec_Numbers>:$places,
                    Optional<Exec_NumberRows>:$path,
                    Optional<Exec_Numbers>:$length, Exec_NumberRows:$rules,
                    Exec_NumberRows:$counts, Exec_NumberRows:$bias,
                    Optional<Exec_StateWords>:$masks,
                    Optional<Exec_NumberRows>:$tokens,
                    DefaultValuedAttr<I64Attr, "0">:$depth, UnitAttr:$draft);
  let results = (outs Exec_RowsResult:$y,
                      Variadic<Exec_CountedTensor<[F32, I32], [2],
                                                  "static rows">>:$ranked);
  let syntax = [{
    (`draft` $draft^)? $logits (`best` `(` $best^ `,` $columns `)`)?
    `slots` $slots `positions` $positions (`places` $places^)?
    (`path` `(` $path^ `,` $length `)`)? (`depth` $depth^)?
    `by` `(` $rules `,` $counts `,` $bias `)` (`masks` $masks^)?
    (`tokens` $tokens^)?
  }];
  let methods = [{
    ::llvm::SmallVector<::mlir::exec::Count> getKernelParams();
    bool readsAnyRow(size_t index);
    /// Returns the result that has the buffer of an operand; null if none has.
    ::mlir::Value getResultFor(::mlir::Value operand);
  }];
  let hasVerifier = 1;
}

#endif // EXEC_SAMPLE_OPS
