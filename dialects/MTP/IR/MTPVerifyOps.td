//===- MTPVerifyOps.td - Verify operations -----------------*- tablegen -*-===//

#ifndef MTP_VERIFY_OPS_TD
#define MTP_VERIFY_OPS_TD

include "dialects/MTP/IR/MTPOpBase.td"

def MTP_VerifyOp : MTP_Op<"verify", [
    ParentOneOf<["::mlir::mtp::RoundOp", "::mlir::mtp::PrefillOp"]>, SingleBlock,
    MemoryEffects<[MemRead<MTP_SlotResource>, MemRead<MTP_CacheResource>,
                   MemWrite<MTP_CacheResource>]>]> {
  let summary = "Run the target once over the anchor and the drafts";
  let description = [{
    The region is the target: from tokens to logits and the hidden state that
    the drafter is given. With `tree` the rows are a static tree's. A third result
    is the rows, for ops that are told which rows the logits belong to.

    ```mlir
    %logits, %hidden = mtp.verify %drafts {
    ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
      %l, %h = func.call @target(%t, %rows) : ...
      mtp.yield %l, %h : tensor<?x4096xf32>, tensor<?x192xf32>
    } : (tensor<?x?xi32>) -> (tensor<?x4096xf32>, tensor<?x192xf32>)
    ```

    Constraints:
    - (C1) the region takes (tokens, rows).
    - (C2) the region yields values of the result types.
    - (C3) tree: parents as in draft_tree (C1), and drafts are given.
  }];
  let arguments = (ins Optional<MTP_TokenGrid>:$drafts,
                       OptionalAttr<DenseI64ArrayAttr>:$tree);
  let regions = (region SizedRegion<1>:$bodyRegion);
  let results = (outs MTP_Activation:$logits, MTP_Activation:$hidden,
                      Optional<MTP_Rows>:$rows);
  let assemblyFormat = [{
    ($drafts^)? (`tree` $tree^)? attr-dict-with-keyword $bodyRegion
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def MTP_AcceptOp : MTP_Op<"accept", [
    ParentOneOf<["::mlir::mtp::RoundOp", "::mlir::mtp::PrefillOp"]>, SingleBlock,
    AttrSizedOperandSegments,
    MemoryEffects<[MemRead<MTP_SlotResource>]>]> {
  let summary = "Keep the longest drafted prefix that the target agrees with";
  let description = [{
    The region turns the verified rows' logits into picks: whatever is done to
    logits per row (penalties, a grammar, sampling) stands there. Drafts are
    picked by the same region from the drafter's logits. `exact` keeps
    a draft while it equals the pick of the row before it; the first mismatch
    ends it, and that row's pick is the bonus token. `count` is the number of
    accepted drafts. `rows` are the rows of the logits; they may be left out where
    the logits are those of the round's mtp.verify.

    In a tree the walk goes on to the lowest child that carries the pick of the
    node before. A third result is the path then: the nodes walked, node 0 first,
    padded with -1; `picks` are those of the path.

    ```mlir
    %count, %picks = mtp.accept %drafts, %logits exact {
    ^bb0(%l: tensor<?x4096xf32>, %rows: !mtp.rows):
      %s = mtp.sample %l, %rows : tensor<?x4096xf32> -> tensor<?xi32>
      mtp.yield %s : tensor<?xi32>
    } : (tensor<?x?xi32>, tensor<?x4096xf32>)
        -> (tensor<?xi32>, tensor<?x?xi32>)
    ```

    Constraints:
    - (C1) the region takes (logits, rows), the logits of the operand's type.
    - (C2) the region yields one token per row.
    - (C3) tree: parents as in draft_tree (C1), and drafts are given. Where they
      are and there is no tree, there is no path.
  }];
  let arguments = (ins Optional<MTP_TokenGrid>:$drafts, MTP_Activation:$logits,
                       Optional<MTP_Rows>:$rows,
                       MTP_AcceptRuleAttr:$rule,
                       OptionalAttr<DenseI64ArrayAttr>:$tree);
  let regions = (region SizedRegion<1>:$bodyRegion);
  let results = (outs MTP_Tokens:$count, MTP_TokenGrid:$picks,
                      Optional<MTP_TokenGrid>:$path);
  let assemblyFormat = [{
    custom<OptionalFirst>($drafts, $logits) (`of` $rows^)? `` $rule (`tree` $tree^)?
    attr-dict-with-keyword $bodyRegion `:` functional-type(operands, results)
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
    From node 0, on to the lowest child whose token is the pick of the node
    stood on, until there is none. `path` lists the nodes walked, node 0 first,
    padded with -1; `count` is the number of accepted drafts (the path's length
    less one), `next` the pick of the last node.

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
