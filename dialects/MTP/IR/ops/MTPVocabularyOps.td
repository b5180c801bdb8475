//===- MTPVocabularyOps.td - Work over a row of logits -----*- tablegen -*-===//
//
// Ops on rows as wide as the vocabulary, for rules and drafters: a number per
// row, a distribution, the best columns, a pick. They are kernels; a body of
// mtp.per_slot reads single elements of their results. Some operands may be
// rows, or rows in groups, n for each slot, the form in which rules see logits.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_VOCABULARY_OPS_TD
#define MTP_VOCABULARY_OPS_TD

include "dialects/MTP/IR/ops/MTPModelOps.td"

/// Rows of f32, or groups of rows, one group per slot.
def MTP_RowsOrGroups : TensorRankOf<[F32], [2, 3]>;

/// An op with one number per row as its result.
class MTP_RowNumberOp<string mnemonic> : MTP_ModelOp<mnemonic> {
  let arguments = (ins MTP_RowsOrGroups:$x);
  let results = (outs MTP_Activation:$result);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
}

def MTP_LogSumExpOp : MTP_RowNumberOp<"log_sum_exp"> {
  let summary = "Compute the logarithm of the sum of e^x over each row";
  let description = [{
    A logit minus this result is the logarithm of a probability. A NaN counts as
    -infinity. A row without a value above -infinity has -infinity, and a row
    with +infinity has +infinity.

    ```mlir
    %s = mtp.log_sum_exp %logits : tensor<?x4096xf32> -> tensor<?x1xf32>
    %s = mtp.log_sum_exp %groups : tensor<?x3x4096xf32> -> tensor<?x3xf32>
    ```

    Constraints:
    - (C1) the width is static, and there is one number for each row: one
      column, or for groups one column per row of the group.
  }];
}

def MTP_LogSoftmaxOp
    : MTP_ModelOp<"log_softmax", [AllTypesMatch<["x", "result"]>]> {
  let summary = "Compute the log-softmax of each row";
  let description = [{
    Each element minus the row's `mtp.log_sum_exp`. A NaN gives -infinity, and
    so does every element of a row without a value above -infinity. In a row
    with +infinity these elements give 0, and the others -infinity.

    ```mlir
    %y = mtp.log_softmax %logits : tensor<?x4096xf32>
    %y = mtp.log_softmax %groups : tensor<?x3x4096xf32>
    ```

    Constraints:
    - (C1) the width is static.
  }];
  let arguments = (ins MTP_RowsOrGroups:$x);
  let results = (outs MTP_RowsOrGroups:$result);
  let assemblyFormat = "$x attr-dict `:` type($x)";
  let hasVerifier = 1;
}

def MTP_EntropyOp : MTP_RowNumberOp<"entropy"> {
  let summary = "Compute the entropy of the softmax of each row";
  let description = [{
    In nats: 0 if one column has all the probability, log(V) if all V columns
    are equal. A NaN counts as -infinity. A row without a value above -infinity,
    or with +infinity, has 0.

    ```mlir
    %h = mtp.entropy %logits : tensor<?x4096xf32> -> tensor<?x1xf32>
    ```

    Constraints:
    - (C1) see log_sum_exp (C1).
  }];
}

def MTP_GatherOp : MTP_ModelOp<"gather"> {
  let summary = "Gather columns of each row by their numbers";
  let description = [{
    A number beyond the range means the nearest column. If x is packed
    (`mtp.pack`), `places` gives the row of each number, or of each row of
    numbers; a padding row gives zeros.

    ```mlir
    %own = mtp.gather %logits[%tokens]
           : tensor<?x4096xf32>, tensor<?xi32> -> tensor<?x1xf32>
    %few = mtp.gather %logits[%best]
           : tensor<?x4096xf32>, tensor<?x8xi32> -> tensor<?x8xf32>
    %own = mtp.gather %groups[%drafts]
           : tensor<?x3x4096xf32>, tensor<?x3xi32> -> tensor<?x3xf32>
    %own = mtp.gather %packed[%drafts] at %places
           : tensor<?x4096xf32>, tensor<?x3xi32>, tensor<?xi32>
           -> tensor<?x3xf32>
    ```

    Constraints:
    - (C1) the width is static. Each row has the same number of columns to
      gather; for groups it is one.
    - (C2) the result has one element per number.
    - (C3) with places, x is rows, not groups.
  }];
  let arguments = (ins MTP_RowsOrGroups:$x,
                       TensorRankOf<[I32], [1, 2]>:$columns,
                       Optional<MTP_Tokens>:$places);
  let results = (outs MTP_Activation:$result);
  let assemblyFormat = [{
    $x `[` $columns `]` (`at` $places^)? attr-dict `:` type($x) `,`
    type($columns) (`,` type($places)^)? `->` type($result)
  }];
  let hasVerifier = 1;
}

def MTP_TopKOp : MTP_PickOp<"top_k", [AttrSizedOperandSegments]> {
  let summary = "Find the best columns of each row";
  let description = [{
    Returns the `k` columns with the largest values, the largest first, and the
    logarithms of their probabilities under the softmax of the row. Ties go to
    the lower column. NaN and -infinity are no candidates: if there are too few
    candidates, the column is -1 and the logarithm -infinity. With `tokens` the
    columns stand for tokens, and a missing column for the first token.

    With `noise` the order is the one in which `mtp.sample` would pick at these
    rows if each picked column were removed. A column ranks by its logit over
    the slot's temperature plus noise. The noise belongs to the row's position
    (or to `number`, as in `mtp.sample`) and the column's token. Columns that
    the slot's filters drop are no candidates. The first column is therefore the
    pick of `mtp.sample`, and the others are its likeliest siblings in a tree of
    drafts. The logarithms are those of the slot's distribution
    (`mtp.probabilities`) plus the noise. At temperature 0 the result is the
    same as without `noise`.

    Above temperature 0 a column whose probability is below 2^-40 of that of the
    best column is no candidate, because weights are integers in units of 2^-40.

    ```mlir
    %best, %logs = mtp.top_k %logits k 8
                   : tensor<?x4096xf32> -> tensor<?x8xi32>, tensor<?x8xf32>
    %best, %logs = mtp.top_k %groups k 2 : tensor<?x3x4096xf32>
                   -> tensor<?x3x2xi32>, tensor<?x3x2xf32>
    %best, %keys = mtp.top_k %logits k 4 noise %rows
                   : tensor<?x4096xf32> -> tensor<?x4xi32>, tensor<?x4xf32>
    ```

    Constraints:
    - (C1) 1 <= k <= 64, and a row has at least k columns.
    - (C2) the results have x's rows or groups, and k columns.
    - (C3) see argmax (C2).
    - (C4) number is given only with noise, one per row.
  }];
  let arguments = (ins MTP_RowsOrGroups:$x, I64Attr:$k,
                       OptionalAttr<FlatSymbolRefAttr>:$tokens,
                       Optional<MTP_Rows>:$noise, Optional<MTP_Tokens>:$number);
  let results = (outs TensorRankOf<[I32], [2, 3]>:$best,
                      MTP_RowsOrGroups:$logs);
  let assemblyFormat = [{
    $x `k` $k (`noise` $noise^ (`number` $number^)?)? (`tokens` $tokens^)?
    attr-dict `:` type($x) (`,` type($number)^)? `->` type($best) `,`
    type($logs)
  }];
  let hasVerifier = 1;
}

def MTP_ProbabilitiesOp
    : MTP_ModelOp<"probabilities", [AllTypesMatch<["x", "result"]>]> {
  let summary = "Compute the distribution that each row is sampled from";
  let description = [{
    `mtp.sample` draws from this distribution: the softmax at the slot's
    temperature over the columns that top-k, top-p and min-p keep, 0 for all
    other columns. At temperature 0 the argmax has 1. A row without a value
    above -infinity is all 0. The rows of a slot follow each other.

    ```mlir
    %p = mtp.probabilities %logits of %slots
         : tensor<?x3x4096xf32>, tensor<?xi32>
    ```

    Constraints:
    - (C1) the width is static.
    - (C2) each slot has the same number of rows.
  }];
  let arguments = (ins MTP_RowsOrGroups:$x, MTP_Tokens:$slots);
  let results = (outs MTP_RowsOrGroups:$result);
  let assemblyFormat = "$x `of` $slots attr-dict `:` type($x) `,` type($slots)";
  let hasVerifier = 1;
}

def MTP_SampleResidualOp
    : MTP_ModelOp<"sample_residual", [AttrSizedOperandSegments]> {
  let summary = "Sample a token from the positive part of p - q";
  let description = [{
    Draws from max(p - q, 0), normalised, or from p without q (residual
    sampling). The pick is the lowest column whose cumulative sum exceeds the
    share `uniform` of the total. If no column of p exceeds q, the op draws from
    p. If p is all 0, the pick is -1. Terms count in units of 2^-38, rounded
    down, so that sums are exact.

    Rows have one pick each. Groups have one pick per slot, from row `at` of the
    slot; an `at` beyond the range means the nearest row of p, and no q. If p is
    packed (`mtp.pack`), `places` gives the rows of each slot; a padding row has
    the pick -1.

    ```mlir
    %t = mtp.sample_residual %p by %u
         : (tensor<?x4096xf32>, tensor<?xf32>) -> tensor<?xi32>
    // The bonus token: from p alone if all drafts are accepted.
    %t = mtp.sample_residual %p less %q at %count by %u
         : (tensor<?x3x4096xf32>, tensor<?x2x4096xf32>, tensor<?xi32>,
            tensor<?xf32>) -> tensor<?xi32>
    // The bonus token of packed rows.
    %t = mtp.sample_residual %packed[%places] less %q at %count by %u
         : (tensor<?x4096xf32>, tensor<?x3xi32>, tensor<?x2x4096xf32>,
            tensor<?xi32>, tensor<?xf32>) -> tensor<?xi32>
    ```

    Constraints:
    - (C1) the width is static and equal for p and q.
    - (C2) p and q are groups with `at` and rows without; p is rows with
      `places`, which is given only with `at`.
    - (C3) all operands except packed rows have a row, or a group, for each
      pick.
  }];
  let arguments = (ins MTP_RowsOrGroups:$p, Optional<MTP_TokenGrid>:$places,
                       Optional<MTP_RowsOrGroups>:$q,
                       Optional<MTP_Tokens>:$at, 1DTensorOf<[F32]>:$uniform);
  let results = (outs MTP_Tokens:$result);
  let assemblyFormat = [{
    $p (`[` $places^ `]`)? (`less` $q^)? (`at` $at^)? `by` $uniform attr-dict
    `:` functional-type(operands, $result)
  }];
  let hasVerifier = 1;
}

def MTP_MaskColumnsOp : MTP_Op<"mask_columns", [
    AllTypesMatch<["x", "result"]>,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>,
    MemoryEffects<[MemRead<MTP_SlotResource>]>]> {
  let summary = "Set the columns that a state forbids to -infinity";
  let description = [{
    One bit of the state stands for a column, in words of 32 bits with the
    lowest bit first. If the bit is 0, the result has -infinity; if it is 1, the
    result has the value of x. `slots` gives the slot whose state a row reads.
    If a slot has several rows of words, `at` gives the row. Numbers beyond the
    range mean the nearest.

    ```mlir
    mtp.state @allowed[max_k + 1, 128] : i32 init -1 input
    ...
    %y = mtp.mask_columns %logits by @allowed of %slots[%row]
         : tensor<?x4096xf32>, tensor<?xi32>, tensor<?xi32>
    ```

    Constraints:
    - (C1) the width is static.
    - (C2) the state exists, is per slot and of i32, and its rows have a bit for
      each column, in the smallest number of words.
    - (C3) `at` is given if and only if a slot has several rows.
    - (C4) there is one slot, and one number if `at` is given, per row.
  }];
  let arguments = (ins MTP_Activation:$x, FlatSymbolRefAttr:$state,
                       MTP_Tokens:$slots, Optional<MTP_Tokens>:$at);
  let results = (outs MTP_Activation:$result);
  let assemblyFormat = [{
    $x `by` $state `of` $slots (`[` $at^ `]`)? attr-dict
    `:` type($x) `,` type($slots) (`,` type($at)^)?
  }];
  let hasVerifier = 1;
}

#endif // MTP_VOCABULARY_OPS_TD
