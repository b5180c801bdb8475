//===- MTPVocabularyOps.td - Work over a row of logits -----*- tablegen -*-===//
//
// What a rule or a drafter wants of rows as wide as the vocabulary: numbers of
// a row, its distribution, its best columns, a pick. They are kernels; a body
// of mtp.per_slot reads single elements of what they make. Where it says so an
// operand is rows, or rows in groups, n for each slot, as rules see logits.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_VOCABULARY_OPS_TD
#define MTP_VOCABULARY_OPS_TD

include "dialects/MTP/IR/MTPModelOps.td"

/// Rows of f32, or as many for each slot.
def MTP_RowsOrGroups : TensorRankOf<[F32], [2, 3]>;

/// One number of each row.
class MTP_RowNumberOp<string mnemonic> : MTP_ModelOp<mnemonic> {
  let arguments = (ins MTP_RowsOrGroups:$x);
  let results = (outs MTP_Activation:$result);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
}

def MTP_LogSumExpOp : MTP_RowNumberOp<"log_sum_exp"> {
  let summary = "The logarithm of the sum of e^x over each row";
  let description = [{
    What a logit less it is, is the logarithm of a probability. A NaN counts as
    -infinity; a row without anything larger has -infinity, one with infinity
    has that.

    ```mlir
    %s = mtp.log_sum_exp %logits : tensor<?x4096xf32> -> tensor<?x1xf32>
    %s = mtp.log_sum_exp %groups : tensor<?x3x4096xf32> -> tensor<?x3xf32>
    ```

    Constraints:
    - (C1) the width is static, and there is one number for each row: a column,
      or of groups as many for each slot.
  }];
}

def MTP_LogSoftmaxOp
    : MTP_ModelOp<"log_softmax", [AllTypesMatch<["x", "result"]>]> {
  let summary = "The logarithms of the softmax of each row";
  let description = [{
    Each element less the row's `mtp.log_sum_exp`. A NaN has -infinity, as all
    of a row without anything larger; the elements of a row that are infinity
    have 0, and its others -infinity.

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
  let summary = "The entropy of the softmax of each row";
  let description = [{
    In units of e: 0 where one column has all, and log(V) where all are alike.
    A NaN counts as -infinity; a row without anything larger, or with infinity,
    has 0.

    ```mlir
    %h = mtp.entropy %logits : tensor<?x4096xf32> -> tensor<?x1xf32>
    ```

    Constraints:
    - (C1) as of log_sum_exp (C1).
  }];
}

def MTP_GatherOp : MTP_ModelOp<"gather"> {
  let summary = "Some columns of each row, by their numbers";
  let description = [{
    A number out of range is that of the nearest column. Where x is packed
    (`mtp.pack`), places say which row is that of each number, or of as many
    numbers; of a dead row there are zeros.

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
    - (C1) the width is static, and each row has as many numbers; of groups it
      is one.
    - (C2) the result has an element for each number.
    - (C3) what has places is rows.
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
  let summary = "The best columns of each row";
  let description = [{
    The `k` columns with the largest values, the largest first, and the
    logarithms of their probabilities under the softmax of the row. Ties go to
    the lower column. A NaN, or -infinity, is no candidate: where there are too
    few, the column is -1 and the logarithm -infinity. With `tokens` columns
    stand for tokens, the missing ones for the first.

    With `noise` the order is that in which `mtp.sample` would pick at these
    rows, each column with those before it taken out: by the logit over the
    slot's temperature plus the noise of the row's position (or of `number`,
    as of `mtp.sample`) and the column's token. What the slot's filters drop is
    no candidate. So the first column is the one that `mtp.sample` picks, and
    others are the likeliest siblings of it in a tree of drafts. The logarithms
    are those of the slot's distribution (`mtp.probabilities`) plus the noise.
    At temperature 0 all is as without `noise`.

    ```mlir
    %best, %logs = mtp.top_k %logits k 8
                   : tensor<?x4096xf32> -> tensor<?x8xi32>, tensor<?x8xf32>
    %best, %logs = mtp.top_k %groups k 2 : tensor<?x3x4096xf32>
                   -> tensor<?x3x2xi32>, tensor<?x3x2xf32>
    %best, %keys = mtp.top_k %logits k 4 noise %rows
                   : tensor<?x4096xf32> -> tensor<?x4xi32>, tensor<?x4xf32>
    ```

    Constraints:
    - (C1) 1 <= k <= 64, and a row has as many columns.
    - (C2) the results have x's rows or groups, and k columns.
    - (C3) as of argmax (C2).
    - (C4) number is given with noise alone, and of rows one for each.
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
  let summary = "The distribution that a slot's parameters make of each row";
  let description = [{
    What `mtp.sample` draws from: the softmax at the temperature of what top-k,
    top-p and min-p leave, 0 for all else. At temperature 0 the argmax has 1. A
    row without anything larger than -infinity is all 0. The rows of a slot
    follow each other.

    ```mlir
    %p = mtp.probabilities %logits of %slots
         : tensor<?x3x4096xf32>, tensor<?xi32>
    ```

    Constraints:
    - (C1) the width is static.
    - (C2) each slot has as many rows.
  }];
  let arguments = (ins MTP_RowsOrGroups:$x, MTP_Tokens:$slots);
  let results = (outs MTP_RowsOrGroups:$result);
  let assemblyFormat = "$x `of` $slots attr-dict `:` type($x) `,` type($slots)";
  let hasVerifier = 1;
}

def MTP_PickResidualOp
    : MTP_ModelOp<"pick_residual", [AttrSizedOperandSegments]> {
  let summary = "A token of what one distribution has more than another";
  let description = [{
    Drawn from max(p - q, 0), scaled, or from p where there is no q: the lowest
    column at which the sum of all up to it exceeds the share `uniform` of the
    sum of all. Where no column of p has more than q it is drawn from p, and
    where p is all 0 it is -1. Terms count in units of 2^-38, rounded down, so
    that sums are exact.

    Rows are one pick each. Of groups each slot has one, from row `at` of its
    own; rows out of range are the nearest of p, and no q. Where p is packed
    (`mtp.pack`), places say for the rows of each slot where they are; of a dead
    row the pick is -1.

    ```mlir
    %t = mtp.pick_residual %p by %u
         : (tensor<?x4096xf32>, tensor<?xf32>) -> tensor<?xi32>
    // The token behind the drafts that stay, from p where all do.
    %t = mtp.pick_residual %p less %q at %count by %u
         : (tensor<?x3x4096xf32>, tensor<?x2x4096xf32>, tensor<?xi32>,
            tensor<?xf32>) -> tensor<?xi32>
    // The same of packed rows.
    %t = mtp.pick_residual %packed[%places] less %q at %count by %u
         : (tensor<?x4096xf32>, tensor<?x3xi32>, tensor<?x2x4096xf32>,
            tensor<?xi32>, tensor<?xf32>) -> tensor<?xi32>
    ```

    Constraints:
    - (C1) the width is static, and q has p's.
    - (C2) p and q are groups with `at`, and else rows; p is rows with places,
      which are given with `at` alone.
    - (C3) all but packed rows have a row for each pick, or a group.
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
  let summary = "Set the columns of each row to -infinity that a state forbids";
  let description = [{
    A bit of the state, in words of 32 with the lowest bit first, stands for a
    column: where it is 0 the result has -infinity, and what x has where it is
    1. `slots` says whose part of the state a row reads; where a slot has
    several rows of words, `at` says which. Numbers out of range are the
    nearest.

    ```mlir
    mtp.state @allowed[max_k + 1, 128] : i32 init -1 input
    ...
    %y = mtp.mask_columns %logits by @allowed of %slots[%row]
         : tensor<?x4096xf32>, tensor<?xi32>, tensor<?xi32>
    ```

    Constraints:
    - (C1) the width is static.
    - (C2) the state exists, is per slot, of i32, and its rows have a bit for
      each column, in as few words as there can be.
    - (C3) `at` is given where a slot has several rows, and only there.
    - (C4) there is a slot, and a number, for each row.
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
