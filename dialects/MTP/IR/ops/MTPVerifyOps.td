//===- MTPVerifyOps.td - Verify operations -----------------*- tablegen -*-===//

#ifndef MTP_VERIFY_OPS_TD
#define MTP_VERIFY_OPS_TD

include "dialects/MTP/IR/MTPOpBase.td"

def MTP_VerifyOp : MTP_Op<"verify", [
    ParentOneOf<["::mlir::mtp::RoundOp", "::mlir::mtp::PrefillOp"]>,
    SingleBlock,
    AttrSizedOperandSegments,
    MemoryEffects<[MemRead<MTP_SlotResource>, MemRead<MTP_CacheResource>,
                   MemWrite<MTP_CacheResource>]>]> {
  let summary = "Run the target once over the anchor and the drafts";
  let description = [{
    The region is the target: from tokens to logits and the hidden state for the
    drafter. It may also yield taps, the hidden states of other layers. With
    `tree` the rows form a static tree, with `parents` the slot's tree
    (`mtp.tree_rows`). An optional last result is the rows, for ops that need
    the rows of the logits.

    ```mlir
    %logits, %hidden = mtp.verify %drafts {
    ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
      %l, %h = func.call @target(%t, %rows) : ...
      mtp.yield %l, %h : tensor<?x4096xf32>, tensor<?x192xf32>
    } : (tensor<?x?xi32>) -> (tensor<?x4096xf32>, tensor<?x192xf32>)
    ```

    Constraints:
    - (C1) the region takes (tokens, rows).
    - (C2) the region yields values of all result types except the rows.
    - (C3) tree: parents as in tree_rows (C1), and drafts are given.
    - (C4) among the results after the hidden state the rows are the last, and
      taps have one row per row of the logits.
  }];
  let arguments = (ins Optional<MTP_TokenGrid>:$drafts,
                       Optional<MTP_TokenGrid>:$parents,
                       OptionalAttr<DenseI64ArrayAttr>:$tree);
  let regions = (region SizedRegion<1>:$bodyRegion);
  let results = (outs MTP_Activation:$logits, MTP_Activation:$hidden,
                      Variadic<AnyTypeOf<[MTP_Activation, MTP_Rows]>>:$more);
  let assemblyFormat = [{
    ($drafts^)? (`tree` $tree^)? (`parents` $parents^)? attr-dict-with-keyword
    $bodyRegion
    `:` functional-type(operands, results)
  }];
  let extraClassDeclaration = [{
    /// Returns the rows if they are a result, else null.
    ::mlir::Value getRows();
    /// Returns all results except the rows: the values that the region yields.
    ::mlir::ResultRange getYielded();
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def MTP_AcceptOp : MTP_Op<"accept", [
    ParentOneOf<["::mlir::mtp::RoundOp", "::mlir::mtp::PrefillOp"]>,
    SingleBlock,
    AttrSizedOperandSegments,
    MemoryEffects<[MemRead<MTP_SlotResource>]>]> {
  let summary = "Keep the longest drafted prefix that the target agrees with";
  let description = [{
    The region turns the logits of the verified rows into picks. All per-row
    work on logits (penalties, a grammar, sampling) stands there. The same
    region picks the drafts from the drafter's logits. `exact` keeps a draft
    while it equals the pick of the row before it. The first mismatch ends the
    prefix, and the pick of the last kept row is the bonus token. `count` is the
    number of accepted drafts. `rows` are the rows of the logits; they may be
    left out if they are the rows of the round's mtp.verify.

    A pick may also depend on the tokens that lead to its row. A region of four
    arguments sees the slot of each row (`tensor<?xi32>`) and the tokens from
    the anchor to the row: a `tensor<?x?xi32>` of k + 1 for each row, -1 after
    the last token. It sees them for target rows and for drafter rows. An
    `mtp.per_slot` over these slots runs once for each row and stores nothing. A
    captured value is the same for all rows, or has the rows of each slot's
    window. In the second case a draft's pick sees the element of the row that
    will verify the draft.

    In a tree (static, or by `parents` as in mtp.verify) the deepest node stays
    for which every node on its path carries the pick of its parent; of several
    such nodes the lowest stays. A third result is then the path: k + 1 nodes,
    node 0 first, -1 after the end. `picks` are the picks along the path.

    With `custom` a second region, the rule, decides if there are drafts. The
    rule names its arguments, in any order:

    | name | per slot | type |
    |---|---|---|
    | `slots` | the slot | `tensor<?xi32>` |
    | `rows` | a row for each token that was verified | `!mtp.rows` |
    | `positions` | the positions of these rows | `tensor<?x?xi32>` |
    | `picks` | the first region's pick of each row | `tensor<?x?xi32>` |
    | `drafts` | the drafts | `tensor<?x?xi32>` |
    | `logits` | the target's logits of each row | `tensor<?x?xVxf32>` |
    | `draft_logits` | the logits of each draft | `tensor<?x?xVxf32>` |

    Draft logits are an operand. The rule yields the number of accepted drafts,
    the tokens to put out, and in a tree the path. The tokens are the accepted
    drafts and the bonus token; further elements are ignored. For a chain the
    rule may yield only the bonus token, one number per slot, if all tokens
    before it are drafts. A number beyond its range becomes the nearest valid
    one. Without drafts, in a prefill or at k = 0, the first region decides.

    ```mlir
    %count, %picks = mtp.accept %drafts, %logits exact {
    ^bb0(%l: tensor<?x4096xf32>, %rows: !mtp.rows):
      %s = mtp.sample %l, %rows : tensor<?x4096xf32> -> tensor<?xi32>
      mtp.yield %s : tensor<?xi32>
    } : (tensor<?x?xi32>, tensor<?x4096xf32>)
        -> (tensor<?xi32>, tensor<?x?xi32>)

    // Everything is accepted.
    %count, %picks = mtp.accept %drafts, %logits custom {
    ^bb0(%l: tensor<?x4096xf32>, %rows: !mtp.rows):
      ...
    } rule(slots, drafts, picks) {
    ^bb0(%s: tensor<?xi32>, %d: tensor<?x?xi32>, %p: tensor<?x?xi32>):
      %n, %tokens = mtp.per_slot %s(%d, %p) { ... }
      mtp.yield %n, %tokens : tensor<?xi32>, tensor<?x?xi32>
    } : (tensor<?x?xi32>, tensor<?x4096xf32>)
        -> (tensor<?xi32>, tensor<?x?xi32>)
    ```

    Constraints:
    - (C1) the region takes (logits, rows), or (logits, rows, slots, path), the
      logits of the operand's type.
    - (C2) the region yields one token per row.
    - (C3) tree: parents as in tree_rows (C1), and drafts are given. With drafts
      and without a tree there is no path.
    - (C4) there is a rule if and only if the op has `custom`; draft logits are
      given if the rule sees them.
    - (C5) the rule takes the arguments that it names, each once, and yields a
      count, tokens (for a chain perhaps one token), and in a tree the path.
  }];
  let arguments = (ins Optional<MTP_TokenGrid>:$drafts, MTP_Activation:$logits,
                       Optional<MTP_LogitsGrid>:$draft_logits,
                       Optional<MTP_Rows>:$rows,
                       Optional<MTP_TokenGrid>:$parents,
                       MTP_AcceptRuleAttr:$rule,
                       OptionalAttr<DenseI64ArrayAttr>:$tree,
                       OptionalAttr<MTP_RuleArgumentArrayAttr>:$rule_args);
  let regions = (region SizedRegion<1>:$bodyRegion, AnyRegion:$ruleRegion);
  let results = (outs MTP_Tokens:$count, MTP_TokenGrid:$picks,
                      Optional<MTP_TokenGrid>:$path);
  let assemblyFormat = [{
    custom<OptionalFirst>($drafts, $logits) (`with` $draft_logits^)?
    (`of` $rows^)?
    `` $rule (`tree` $tree^)? (`parents` $parents^)? attr-dict-with-keyword
    $bodyRegion
    (`rule` custom<RuleArguments>($rule_args) $ruleRegion^)?
    `:` functional-type(operands, results)
  }];
  let extraClassDeclaration = [{
    /// Returns the arguments that the rule names, in order.
    ::llvm::SmallVector<RuleArgument> getRuleArguments();
    /// Returns whether the region sees the slots of its rows and the preceding
    /// tokens.
    bool seesPaths() { return getBodyRegion().getNumArguments() == 4; }
    /// Returns whether the drafts are a tree.
    bool isTree() { return getTree() || getParents(); }
    bool ruleSees(RuleArgument argument) {
      return ::llvm::is_contained(getRuleArguments(), argument);
    }
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def MTP_AcceptTokensOp : MTP_Op<"accept_tokens", [Pure]> {
  let summary = "Compare drafts with picks by the exact accept rule";
  let description = [{
    `count` is the length of the longest prefix with drafts[i] = picks[i], and
    `next` is picks[count].

    ```mlir
    %count, %next = mtp.accept_tokens %drafts, %picks
                    : tensor<4x3xi32>, tensor<4x4xi32>
                    -> tensor<4xi32>, tensor<4xi32>
    ```

    Constraints:
    - (C1) picks have one column more than drafts.
    - (C2) operands and results have the same number of rows.
  }];
  let arguments = (ins MTP_TokenGrid:$drafts, MTP_TokenGrid:$picks);
  let results = (outs MTP_Tokens:$count, MTP_Tokens:$next);
  let assemblyFormat = [{
    $drafts `,` $picks attr-dict `:` type($drafts) `,` type($picks)
    `->` type($count) `,` type($next)
  }];
  let hasVerifier = 1;
}

def MTP_AcceptTreeOp : MTP_Op<"accept_tree", [Pure]> {
  let summary = "Walk a token tree along the target's picks";
  let description = [{
    Finds the deepest node for which every node on its path carries the pick of
    its parent; of several such nodes the lowest. `path` lists its nodes, node 0
    first, padded with -1. `count` is the number of accepted drafts (the length
    of the path less one), and `next` is the pick of the last node.

    ```mlir
    %path, %count, %next = mtp.accept_tree %tokens, %picks [-1, 0, 0, 1]
                           : tensor<2x4xi32>, tensor<2x4xi32>
                           -> tensor<2x4xi32>, tensor<2xi32>, tensor<2xi32>
    ```

    Constraints:
    - (C1) parents as in draft_tree (C1).
    - (C2) tokens, picks and path have one column per node and the same number
      of rows; count and next have the same number of rows.
  }];
  let arguments = (ins MTP_TokenGrid:$tokens, MTP_TokenGrid:$picks,
                       DenseI64ArrayAttr:$parents);
  let results = (outs MTP_TokenGrid:$path, MTP_Tokens:$count, MTP_Tokens:$next);
  let assemblyFormat = [{
    $tokens `,` $picks $parents attr-dict `:` type($tokens) `,` type($picks)
    `->` type($path) `,` type($count) `,` type($next)
  }];
  let hasVerifier = 1;
}

#endif // MTP_VERIFY_OPS_TD
