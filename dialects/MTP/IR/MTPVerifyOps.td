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
    The region is the target: from tokens to logits and the hidden state that
    the drafter is given. Behind them it may yield taps, the hidden states of
    other layers. With `tree` the rows are a static tree's, with `parents` that
    of the slot (`mtp.tree_rows`). A last result is the rows, for ops that are
    told which rows the logits belong to.

    ```mlir
    %logits, %hidden = mtp.verify %drafts {
    ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
      %l, %h = func.call @target(%t, %rows) : ...
      mtp.yield %l, %h : tensor<?x4096xf32>, tensor<?x192xf32>
    } : (tensor<?x?xi32>) -> (tensor<?x4096xf32>, tensor<?x192xf32>)
    ```

    Constraints:
    - (C1) the region takes (tokens, rows).
    - (C2) the region yields values of the result types, but for the rows.
    - (C3) tree: parents as in tree_rows (C1), and drafts are given.
    - (C4) of the results behind the hidden state the rows are the last, and
      taps have the rows of the logits.
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
    /// The rows, where they are a result; null where they are not.
    ::mlir::Value getRows();
    /// All results but the rows: what the region yields.
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
    The region turns the verified rows' logits into picks: whatever is done to
    logits per row (penalties, a grammar, sampling) stands there. Drafts are
    picked by the same region from the drafter's logits. `exact` keeps a draft
    while it equals the pick of the row before it; the first mismatch ends it,
    and that row's pick is the bonus token. `count` is the number of accepted
    drafts. `rows` are the rows of the logits; they may be left out where they
    are those of the round's mtp.verify.

    What a pick depends on beside logits may be the tokens that lead to its row:
    a region of four arguments sees the slot of each row (`tensor<?xi32>`) and
    the tokens from the anchor to the row (`tensor<?x?xi32>`, k + 1 for each
    row, -1 behind the last), for the target's rows and the drafter's alike. An
    `mtp.per_slot` over these slots runs once for each row, and stores nothing.
    What the region captures is the same for all rows, or has the rows of each
    slot's window, of which a draft's pick sees the one that will verify it.

    In a tree, static or by `parents` as in mtp.verify, the deepest node stays
    on whose path every node carries the pick of the one before; of several the
    lowest. A third result is the path then: its nodes, node 0 first, k + 1 with
    the -1 behind them; `picks` are those of the path.

    `custom` leaves the decision to a second region, the rule, where there are
    drafts. It names what it wants to see, in any order:

    | name | per slot | type |
    |---|---|---|
    | `slots` | the slot | `tensor<?xi32>` |
    | `rows` | a row for each token that was verified | `!mtp.rows` |
    | `positions` | their positions | `tensor<?x?xi32>` |
    | `picks` | what the first region picks from each | `tensor<?x?xi32>` |
    | `drafts` | the drafts | `tensor<?x?xi32>` |
    | `logits` | the target's logits of each row | `tensor<?x?xVxf32>` |
    | `draft_logits` | what each draft was picked from | `tensor<?x?xVxf32>` |

    Draft logits are an operand. The rule yields how many drafts it accepts, the
    tokens that it puts out (one more: accepted ones and the bonus token; what
    is behind them does not matter), and in a tree the path. Of a chain it may
    yield the bonus token alone, a number per slot, where all that is in front
    of it are drafts. Numbers beyond their range become the nearest. Without
    drafts, in a prefill or at k = 0, the first region decides.

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
    - (C3) tree: parents as in tree_rows (C1), and drafts are given. Where they
      are and there is no tree, there is no path.
    - (C4) with `custom`, and only then, there is a rule; draft logits are given
      where it sees them.
    - (C5) the rule takes what it names, each once, and yields a count, tokens,
      of a chain perhaps one alone, and in a tree the path.
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
    /// What the rule names, in the order of its arguments.
    ::llvm::SmallVector<RuleArgument> getRuleArguments();
    /// Whether the region is told its rows' slots and the tokens before them.
    bool seesPaths() { return getBodyRegion().getNumArguments() == 4; }
    /// Whether the drafts are a tree.
    bool isTree() { return getTree() || getParents(); }
    bool ruleSees(RuleArgument argument) {
      return ::llvm::is_contained(getRuleArguments(), argument);
    }
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def MTP_AcceptTokensOp : MTP_Op<"accept_tokens", [Pure]> {
  let summary = "Compare drafts with picks: the accept rule as a function";
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
    - (C2) operands and results have the same rows.
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
    To the deepest node on whose path every node's token is the pick of the one
    before; of several the lowest. `path` lists its nodes, node 0 first, padded
    with -1; `count` is the number of accepted drafts (the path's length less
    one), `next` the pick of the last node.

    ```mlir
    %path, %count, %next = mtp.accept_tree %tokens, %picks [-1, 0, 0, 1]
                           : tensor<2x4xi32>, tensor<2x4xi32>
                           -> tensor<2x4xi32>, tensor<2xi32>, tensor<2xi32>
    ```

    Constraints:
    - (C1) parents as in draft_tree (C1).
    - (C2) tokens, picks and path have one column per node and the same rows;
      count and next have those rows.
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
