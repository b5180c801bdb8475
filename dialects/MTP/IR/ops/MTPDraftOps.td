//===- MTPDraftOps.td - Draft operations -------------------*- tablegen -*-===//
//
// Operations that propose drafts. The body is one step of the drafter. The
// operation says how often the step runs, over which rows, and which results
// feed which step.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_DRAFT_OPS_TD
#define MTP_DRAFT_OPS_TD

include "dialects/MTP/IR/MTPOpBase.td"

def MTP_RoundOp : MTP_Op<"round", [
    Symbol, IsolatedFromAbove, SingleBlock, NoTerminator, NoRegionArguments,
    HasParent<"::mlir::ModuleOp">]> {
  let summary = "Run one round of speculation: draft, verify, accept, commit";
  let description = [{
    The program. It reads and writes the slots' state (lengths, the window of
    the last verified tokens, hidden states) implicitly: `mtp.commit` writes the
    state, and the draft and verify operations read it.

    ```mlir
    mtp.round @generate {
      %drafts = mtp.draft_chain { ... } : tensor<?x?xi32>
      %logits, %hidden = mtp.verify %drafts { ... } : ...
      %count, %picks = mtp.accept %drafts, %logits exact { ... } : ...
      mtp.commit %count, %picks, %hidden : ...
    }
    ```

    Any of these operations may be written in core ops instead. In an
    instantiated round (`mtp-instantiate-rounds`) `k` is the number of drafts
    that the round may accept. `nodes` is the number of rows of a slot that it
    verifies, if not k + 1.

    A round with `prompts` is a mixed batch: it also runs that number of prompt
    rows. Its `mtp.verify` runs both kinds of rows. A prefill `beside` the round
    holds the remaining work on the prompt rows, until `mtp-merge-prefill` moves
    that work into the round.

    Constraints:
    - (C1) one round per module, or one for each k, and one more of each with
      `prompts`; the module has an envelope.
    - (C2) at most one draft operation, one verify, one accept and one commit,
      in this order, at the round's top level.
    - (C3) if both are present, verify and accept take the same drafts, and
      commit takes accept's results. Ops between them may change drafts, logits
      and hidden states.
    - (C4) the drafter's hidden state has the width of the verified one. The
      drafter's logits have the target's vocabulary, or the vocabulary of the
      draft operation, whose tokens are tokens of the target.
    - (C5) a tree is verified and accepted with the parents that it is drafted
      with, or both with an operand of each slot's parents.
    - (C6) with a draft operation max_k >= 1, and a drafter has at most max_k
      modules; without drafts max_k is 0. A tree has at most max_nodes nodes;
      without a tree max_nodes is max_k + 1. k is from 0 to max_k.
    - (C7) nodes is given only with k, and lies between k + 1 and the number of
      nodes that the envelope has for k.
    - (C8) no op stores to `want_k` from the draft operation up to mtp.verify,
      nor in the region of mtp.accept, which also picks drafts.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, OptionalAttr<I64Attr>:$k,
                       OptionalAttr<I64Attr>:$nodes,
                       OptionalAttr<I64Attr>:$prompts);
  let regions = (region SizedRegion<1>:$bodyRegion);
  let assemblyFormat = [{
    $sym_name (`k` $k^)? (`nodes` $nodes^)? (`prompts` $prompts^)?
    attr-dict-with-keyword $bodyRegion
  }];
  let extraClassDeclaration = [{
    /// Returns the number of rows of a slot that an instantiated round
    /// verifies.
    int64_t getWindow();
  }];
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name,
                                 "::mlir::IntegerAttr":$k),
    [{ build($_builder, $_state, name, k, ::mlir::IntegerAttr(),
              ::mlir::IntegerAttr()); }]>];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def MTP_PrefillOp : MTP_Op<"prefill", [
    Symbol, IsolatedFromAbove, SingleBlock, NoTerminator, NoRegionArguments,
    HasParent<"::mlir::ModuleOp">]> {
  let summary = "Process a chunk of a prompt";
  let description = [{
    Runs the target over the rows of the chunk, picks the first token if a
    prompt ends in it, and writes the states and caches that rounds read.

    The ops of a round may stand in the prefill, in the order verify, accept,
    draft, commit, and without drafts. Verify runs over the chunk's rows, and
    accept picks for the last row of each sequence. The draft operation fills
    the modules' caches, and commit starts the slots whose prompts end. If a
    module has no `mtp.prefill`, the round's ops make one.

    `k` is 0 if drafting is off, and `max_k` if it is on. A prefill `beside` a
    round with `prompts` has one sequence and does not run by itself: the
    round's `mtp.verify` computes the results of the prefill's own.

    A `catch_up` prefill runs over rows of one sequence that rounds verified
    without a drafter, and only fills the drafter's caches. `catch_up` is the
    largest distance of such a row from the anchor, in positions.

    ```mlir
    mtp.prefill @prompt {
      %logits, %hidden = mtp.verify { ... } : ...
      %count, %picks = mtp.accept %logits exact { ... } : ...
      mtp.commit %count, %picks, %hidden : ...
    }
    ```

    Constraints:
    - (C1) at most one prefill per module, or one for each k, one more beside
      each round with `prompts`, and one `catch_up`; the module has an envelope.
    - (C2) a `catch_up` reaches back 1 to 2^31 - 1 positions.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, OptionalAttr<I64Attr>:$k,
                       OptionalAttr<FlatSymbolRefAttr>:$beside,
                       OptionalAttr<I64Attr>:$catch_up);
  let regions = (region SizedRegion<1>:$bodyRegion);
  let assemblyFormat = [{
    $sym_name (`k` $k^)? (`beside` $beside^)? (`catch_up` $catch_up^)?
    attr-dict-with-keyword $bodyRegion
  }];
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name,
                                 "::mlir::IntegerAttr":$k),
    [{ build($_builder, $_state, name, k, ::mlir::FlatSymbolRefAttr(),
              ::mlir::IntegerAttr()); }]>];
  let hasVerifier = 1;
}

def MTP_VocabularyOp : MTP_Op<"vocabulary", [
    Symbol, HasParent<"::mlir::ModuleOp">]> {
  let summary = "Declare a part of the target's vocabulary";
  let description = [{
    Column i of logits over the vocabulary stands for the token `tokens[i]` of
    the target. Use it for a drafter whose head has fewer rows. (For EAGLE-3's
    `d2t`, the token of column i is i + d2t[i].)

    ```mlir
    mtp.vocabulary @frequent dense<[3, 5, 8, 21]> : tensor<4xi32>
    ```

    Constraints:
    - (C1) tokens are one row of i32, at least one, none negative, all below
      2^24, and ascending: of equal columns the lowest token is picked, as in
      the target.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, I32ElementsAttr:$tokens);
  let assemblyFormat = "$sym_name $tokens attr-dict";
  let extraClassDeclaration = [{
    int64_t getSize() { return getTokens().getNumElements(); }
    /// The largest token.
    int32_t getLast() {
      return *std::prev(getTokens().getValues<int32_t>().end());
    }
  }];
  let hasVerifier = 1;
}

class MTP_DraftOp<string mnemonic> : MTP_Op<mnemonic, [
    ParentOneOf<["::mlir::mtp::RoundOp", "::mlir::mtp::PrefillOp"]>,
    SingleBlock, DeclareOpInterfaceMethods<SymbolUserOpInterface>,
    MemoryEffects<[MemRead<MTP_SlotResource>, MemRead<MTP_CacheResource>,
                   MemWrite<MTP_SlotResource>, MemWrite<MTP_CacheResource>]>]>;

def MTP_DraftChainOp : MTP_DraftOp<"draft_chain"> {
  let summary = "Draft a chain of tokens, one module per depth";
  let description = [{
    Each module has one region, a step: from tokens and hidden states to logits
    and the next hidden state. The region of `mtp.accept` picks the draft from
    the logits. Draft d + 1 comes from module d + 1; deeper drafts run the last
    module again. In every round a module first runs over the rows that the last
    round verified, with their true hidden states. Its cache therefore keeps no
    entry that was made from a draft.

    A step without a hidden state is a model of its own: its rows are the tokens
    at their own positions.

    With `input` the target's hidden states have another width than the states
    between steps. The `input` region projects them, and runs only on the rows
    that were verified (EAGLE-3 projects the states of three layers).

    With `vocabulary` the logits have one column per token of the vocabulary. An
    optional second result holds the logits that each draft was picked from:
    `tensor<?xnxVxf32>` for n drafts per slot.

    With `p_min` the drafts of a slot end before the first draft whose
    probability is less. The probability is the draft's share of a softmax over
    the values that the region picks by. At temperature 0 these are the logits;
    otherwise they are the logits over the temperature plus the noise,
    restricted to the columns that the slot's filters keep (`mtp.top_k`,
    `mtp.shares`). All further drafts are -1, and the slot's rows of further
    steps are padding rows. The region must end with an `mtp.sample` at its
    rows, or an `mtp.argmax`. `p_min` is the initial value of the input
    `draft_p_min` (f32), by which a host may choose another threshold for each
    sequence, 0 to 1; with 0 no draft ends by it. If the round verifies the
    drafts and no other op reads them, the state `shown_confidence` has the
    probability of each draft afterwards. It is negative from the first draft on
    that the slot left out.

    ```mlir
    %drafts = mtp.draft_chain {
    ^bb0(%t: tensor<?xi32>, %h: tensor<?x192xf32>, %rows: !mtp.rows):
      %l, %g = mtp.apply @module(%t, %h, %rows) weights "model.layers.4."
               cache @drafter[0] : ...
      mtp.yield %l, %g : tensor<?x4096xf32>, tensor<?x192xf32>
    } : tensor<?x?xi32>
    ```

    Constraints:
    - (C1) 1 to 16 regions.
    - (C2) every region takes (tokens, hidden state, rows) or (tokens, rows).
    - (C3) every region yields logits and a hidden state of the width it takes,
      or logits alone.
    - (C4) all regions agree in hidden width and vocabulary.
    - (C5) without hidden states there is one region.
    - (C6) the vocabulary exists and has the logits' columns; its tokens are
      tokens of the round's mtp.verify, if there is one.
    - (C7) draft logits have the logits' columns.
    - (C8) input: the region takes hidden states and yields the hidden states
      that the first step takes.
    - (C9) 0 < p_min <= 1, and the mtp.accept of its round is exact.
  }];
  let arguments = (ins OptionalAttr<FlatSymbolRefAttr>:$vocabulary,
                       OptionalAttr<F64Attr>:$p_min);
  let regions = (region AnyRegion:$inputRegion,
                        VariadicRegion<SizedRegion<1>>:$steps);
  let results = (outs MTP_TokenGrid:$drafts,
                      Optional<MTP_LogitsGrid>:$draft_logits);
  let assemblyFormat = [{
    (`vocabulary` $vocabulary^)? (`p_min` $p_min^)? attr-dict-with-keyword
    (`input` $inputRegion^ `step`)? $steps
    `:` type($drafts) (`,` type($draft_logits)^)?
  }];
  let extraClassDeclaration = [{
    /// Returns whether steps take hidden states, the first step the target's.
    bool takesHidden() {
      return getSteps().empty() ||
             getSteps().front().getNumArguments() == 3;
    }
    /// Returns the width of the target's hidden states. The steps must take
    /// hidden states.
    int64_t getInputWidth();
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def MTP_DraftTreeOp : MTP_DraftOp<"draft_tree"> {
  let summary = "Draft a static tree of tokens, one module per depth";
  let description = [{
    `parents` gives for every node its parent; node 0 is the anchor. Children of
    a node take its candidates in the order of their rank (logit plus the noise
    that the target will add); the lowest node takes the best candidate. The
    result has one token per node except the anchor.

    Each module has one region, as in `mtp.draft_chain`. The children of nodes
    of depth d come from module d + 1, which runs once over all nodes of depth
    d; deeper nodes run the last module again. Every module after the first runs
    one pass over the true rows, the nodes of its depth, and their ancestors.

    ```mlir
    %drafts = mtp.draft_tree [-1, 0, 0, 1] {
    ^bb0(%t: tensor<?xi32>, %h: tensor<?x192xf32>, %rows: !mtp.rows):
      ...
      mtp.yield %l, %g : tensor<?x4096xf32>, tensor<?x192xf32>
    } : tensor<?x3xi32>
    ```

    Constraints:
    - (C1) parents: 2 to 64 nodes, the first -1, every other >= 0 and less than
      its own index.
    - (C2) regions are as in a chain (draft_chain C1 to C5).
    - (C3) the result has a column per node except the first, or an open number
      of columns; in a round with a k it has a column per node of the round
      except the first.
    - (C4) vocabulary and draft logits are as in a chain (draft_chain C6, C7).
      The draft logits of a node exclude its earlier siblings.
  }];
  let arguments = (ins DenseI64ArrayAttr:$parents,
                       OptionalAttr<FlatSymbolRefAttr>:$vocabulary);
  let regions = (region VariadicRegion<SizedRegion<1>>:$steps);
  let results = (outs MTP_TokenGrid:$drafts,
                      Optional<MTP_LogitsGrid>:$draft_logits);
  let assemblyFormat = [{
    $parents (`vocabulary` $vocabulary^)? attr-dict-with-keyword $steps
    `:` type($drafts) (`,` type($draft_logits)^)?
  }];
  let extraClassDeclaration = [{
    /// Returns whether steps take hidden states.
    bool takesHidden() {
      return getSteps().empty() ||
             getSteps().front().getNumArguments() == 3;
    }
  }];
  let hasRegionVerifier = 1;
}

def MTP_DraftHeadsOp : MTP_DraftOp<"draft_heads"> {
  let summary = "Draft by heads that do not feed each other";
  let description = [{
    Each depth has one region, a head, from hidden states to logits (Medusa,
    arXiv:2401.10774; the independent heads of arXiv:2404.19737). Head d gives
    the candidates of depth d. It sees the target's hidden state before the
    anchor, and no drafts. The region of `mtp.accept` picks the draft from the
    candidates. With `tree` all nodes of a depth have the same candidates: the
    siblings take them in the order of their rank, the lowest node the best.
    Heads deeper than the round's drafts do not run.

    The rows are those that the last round verified, at the positions of their
    hidden states. A head may therefore have a layer with a cache: its entries
    come from true hidden states, and the prefill makes the entries of a prompt.
    Ops that work row by row run only on the anchor's row.

    ```mlir
    %drafts = mtp.draft_heads tree [-1, 0, 0, 0, 1, 1] {
    ^bb0(%h: tensor<?x192xf32>, %rows: !mtp.rows):
      %l = mtp.apply @head(%h) weights "heads.0." : ...
      mtp.yield %l : tensor<?x4096xf32>
    }, {
    ^bb0(%h: tensor<?x192xf32>, %rows: !mtp.rows):
      %l = mtp.apply @head(%h) weights "heads.1." : ...
      mtp.yield %l : tensor<?x4096xf32>
    } : tensor<?x5xi32>
    ```

    If each region applies a function without a prefix or a cache to its
    arguments and yields the results, the functions may stand in a list:

    ```mlir
    %drafts = mtp.draft_heads tree [-1, 0, 0, 0, 1, 1] [@head_0, @head_1]
              (tensor<?x192xf32>, !mtp.rows) -> tensor<?x4096xf32>
              : tensor<?x5xi32>
    ```

    Constraints:
    - (C1) 1 to 16 regions; without a tree exactly max_k.
    - (C2) every region takes (hidden state, rows) and yields logits, and all
      agree in width and vocabulary.
    - (C3) tree: parents as in draft_tree (C1), with at most one level per head.
    - (C4) the result of a tree is as in draft_tree (C3).
    - (C5) vocabulary and draft logits are as in a chain (draft_chain C6, C7).
      The draft logits of a node exclude its earlier siblings.
  }];
  let arguments = (ins OptionalAttr<DenseI64ArrayAttr>:$tree,
                       OptionalAttr<FlatSymbolRefAttr>:$vocabulary);
  let regions = (region VariadicRegion<SizedRegion<1>>:$heads);
  let results = (outs MTP_TokenGrid:$drafts,
                      Optional<MTP_LogitsGrid>:$draft_logits);
  let assemblyFormat = [{
    (`tree` $tree^)? (`vocabulary` $vocabulary^)? attr-dict-with-keyword
    custom<Heads>($heads) `:` type($drafts) (`,` type($draft_logits)^)?
  }];
  let hasRegionVerifier = 1;
}

def MTP_DraftRegionOp : MTP_Op<"draft", [
    ParentOneOf<["::mlir::mtp::RoundOp", "::mlir::mtp::PrefillOp"]>,
    SingleBlockImplicitTerminator<"::mlir::mtp::YieldOp">,
    RecursiveMemoryEffects, NoRegionArguments]> {
  let summary = "Hold the drafter of a method in core ops";
  let description = [{
    The ops of the region become part of the round when the round is
    instantiated. In a round or prefill of k = 0 they are removed. If a module
    has no `mtp.prefill`, its prefill fills the caches that the rows of an
    `mtp.refresh` in the region write. The region yields the drafts, and other
    values that a rule reads.

    ```mlir
    %drafts = mtp.draft {
      %tokens, %rows, %anchor, %next, %h = mtp.refresh : ...
      ...
      mtp.yield %d : tensor<?x?xi32>
    } : tensor<?x?xi32>
    ```

    Constraints:
    - (C1) it yields values of the result types.
    - (C2) the results are read by mtp.verify and mtp.accept alone, or hold
      numbers for each draft of a slot (`tensor<?x?x...>`), which are empty at k
      = 0.
  }];
  let regions = (region SizedRegion<1>:$bodyRegion);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    attr-dict-with-keyword $bodyRegion (`:` type($results)^)?
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def MTP_RecentHiddenOp : MTP_Op<"recent_hidden", [
    HasParent<"::mlir::mtp::PrefillOp">,
    MemoryEffects<[MemRead<MTP_SlotResource>]>]> {
  let summary = "Get the target's hidden states for the rows of a catch-up";
  let description = [{
    Replaces the hidden states that the `mtp.verify` of a prompt gives. In a
    module with a `catch_up`, commits keep the last hidden states of each slot
    in the state `recent_hidden`, at their position modulo its rows.
    `mtp-instantiate-rounds` writes this op, and `mtp-expand-commit` computes
    the places.

    ```mlir
    %h = mtp.recent_hidden : tensor<?x192xf32>
    ```

    Constraints:
    - (C1) the prefill is a `catch_up`.
  }];
  let results = (outs MTP_Activation:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def MTP_RefreshOp : MTP_Op<"refresh", [
    ParentOneOf<["::mlir::mtp::RoundOp", "::mlir::mtp::DraftRegionOp"]>,
    MemoryEffects<[MemRead<MTP_SlotResource>]>]> {
  let summary = "Get the last verified rows for a drafter";
  let description = [{
    A drafter with a cache runs in every round over the k + 1 rows of each slot
    that the last round verified, because only now their tokens are known. The
    op returns these tokens and rows; rows after the anchor are padding rows.
    `anchor` is the index, among all rows, of the row whose logits the first
    draft is picked from. `next` is the position of that draft's verified row:
    the slot's length. Use it in `mtp.make_rows` for the draft.

    With `hidden`, the target's hidden states of the rows, a row has the
    position of its hidden state and the token that followed it (`mtp.commit`
    keeps both). Without it, a row is a token at its own position.

    ```mlir
    %tokens, %rows, %anchor, %next, %hidden = mtp.refresh
        : tensor<?xi32>, !mtp.rows, tensor<?xi32>, tensor<?xi32>,
          tensor<?x192xf32>
    ```

    Constraints:
    - (C1) the hidden state has the width of the state `hidden`, if the module
      declares one.
  }];
  let results = (outs MTP_Tokens:$tokens, MTP_Rows:$rows, MTP_Tokens:$anchor,
                      MTP_Tokens:$next, Optional<MTP_Activation>:$hidden);
  let assemblyFormat = "attr-dict `:` type(results)";
  let hasVerifier = 1;
}

def MTP_RefreshModuleOp : MTP_Op<"refresh_module", [
    SameVariadicOperandSize,
    MemoryEffects<[MemRead<MTP_SlotResource>, MemWrite<MTP_SlotResource>]>]> {
  let summary = "Get the rows of a module after the first";
  let description = [{
    Module d has k + 1 rows with known tokens for each slot. Each is d - 1
    positions before the row of `mtp.refresh` with the same token. Rows of nodes
    follow, if the program computes a tree (`mtp.make_tree_rows`): the nodes of
    depth 1, of depth 2, up to d - 1, the parents of nodes of depth d. All rows
    run in one pass.

    `before` holds the hidden states that module d - 1 produced, for all rows
    that it ran: the same rows without the last group of nodes. The hidden
    states of the result come from there. A row with a known token takes the
    state of the preceding row. A node takes the state of its parent: the node
    of the previous group whose bit its mask contains. The state for the first
    row is kept between rounds (`carry_d`).

    The operands for nodes are the rows of the first module; the op moves them
    to the positions of this module (`mtp.module_rows`). `anchor` is the index
    of the anchor's row among all rows, and `last` are the indices of the last
    group of nodes.

    ```mlir
    %t, %rows, %h, %anchor, %last = mtp.refresh_module 2 of %g
        with %nodes at %tree
        : (tensor<?x192xf32>, tensor<?xi32>, !mtp.rows)
        -> (tensor<?xi32>, !mtp.rows, tensor<?x192xf32>, tensor<?xi32>,
            tensor<?xi32>)
    ```

    In a prefill there are no nodes, and the rows are the rows of the prompt
    whose token d places further on also belongs to the prompt.

    Constraints:
    - (C1) the module is 2 to 16.
    - (C2) in a round there are tokens and rows of nodes for each depth from 1
      to that of the preceding module, or none at all.
    - (C3) the hidden states have the type of `before`.
    - (C4) it stands in a round or a prefill, at any depth, or in a function,
      where C2 allows both.
  }];
  let arguments = (ins I64Attr:$module, MTP_Activation:$before,
                       Variadic<MTP_Tokens>:$nodes,
                       Variadic<MTP_Rows>:$node_rows);
  let results = (outs MTP_Tokens:$tokens, MTP_Rows:$rows,
                      MTP_Activation:$hidden, MTP_Tokens:$anchor,
                      MTP_Tokens:$last);
  let assemblyFormat = [{
    $module `of` $before (`with` $nodes^ `at` $node_rows)? attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def MTP_ModuleRowsOp : MTP_Op<"module_rows", [Pure]> {
  let summary = "Move rows of nodes to a module after the first";
  let description = [{
    A node of depth m has position n + m - 1 in the first of several modules:
    the position of its hidden state. In module d it has position n + m - d,
    because the module's last entry of a true row is at n - d. Positions and
    places are therefore d - 1 less. The row sees the same rows. If the position
    would be negative, at the beginning of a text, the row becomes a padding
    row, and other rows do not see it.

    ```mlir
    %rows = mtp.module_rows %tree module 2
    ```

    Constraints:
    - (C1) the module is 2 to 16.
  }];
  let arguments = (ins MTP_Rows:$rows, I64Attr:$module);
  let results = (outs MTP_Rows:$result);
  let assemblyFormat = "$rows `module` $module attr-dict";
  let hasVerifier = 1;
}

def MTP_TreeRowsOp : MTP_Op<"tree_rows", [Pure]> {
  let summary = "Arrange rows as a tree";
  let description = [{
    The rows come in blocks with one row per node. Attention over the result
    sees the slot's committed positions and, within the block, the node and its
    ancestors. A row's position is its slot's length plus its depth. Its place
    in the cache is the length plus its node.

    The tree is static, or `parents` holds numbers for every slot, with a column
    for each node. The first column is not read. Another node is a padding row
    if its parent is not an earlier node, or is a padding row.

    ```mlir
    %tree = mtp.tree_rows %rows [-1, 0, 0, 1]
    %own = mtp.tree_rows %rows parents %p : tensor<?x4xi32>
    ```

    Constraints:
    - (C1) parents as in draft_tree (C1), or an operand of at most 64 columns,
      but not both.
    - (C2) the rows are not arranged as a tree yet.
  }];
  let arguments = (ins MTP_Rows:$rows, Optional<MTP_TokenGrid>:$parents,
                       OptionalAttr<DenseI64ArrayAttr>:$tree);
  let results = (outs MTP_Rows:$result);
  let assemblyFormat = [{
    $rows `` custom<StaticTree>($tree) (`parents` $parents^ `:` type($parents))?
    attr-dict
  }];
  let hasVerifier = 1;
}

def MTP_YieldOp : MTP_Op<"yield", [Pure, Terminator, ReturnLike,
    MTP_InControlBody,
    ParentOneOf<["::mlir::mtp::DraftChainOp", "::mlir::mtp::DraftTreeOp",
                 "::mlir::mtp::VerifyOp", "::mlir::mtp::AcceptOp",
                 "::mlir::mtp::DraftRegionOp", "::mlir::mtp::PerSlotOp",
                 "::mlir::mtp::DraftHeadsOp"]>]> {
  let summary = "End a region with its values";
  let description = [{
    ```mlir
    mtp.yield %l, %h : tensor<?x4096xf32>, tensor<?x192xf32>
    ```

    Constraints: see the operation around it.
  }];
  let arguments = (ins Variadic<AnyType>:$values);
  let builders = [OpBuilder<(ins), [{}]>];
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}

#endif // MTP_DRAFT_OPS_TD
