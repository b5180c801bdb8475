//===- MTPDraftOps.td - Draft operations -------------------*- tablegen -*-===//
//
// How drafts come about. The body is the drafter's step; the operation says how
// often it runs, over which rows, and what feeds what.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_DRAFT_OPS_TD
#define MTP_DRAFT_OPS_TD

include "dialects/MTP/IR/MTPOpBase.td"

def MTP_RoundOp : MTP_Op<"round", [
    Symbol, IsolatedFromAbove, SingleBlock, NoTerminator, NoRegionArguments,
    HasParent<"::mlir::ModuleOp">]> {
  let summary = "One round of speculation: draft, verify, accept, commit";
  let description = [{
    The program. The slots' state (lengths, the window of the last verified
    tokens, the carried hidden states) is implied; `mtp.commit` writes it and
    the draft and verify operations read it.

    ```mlir
    mtp.round @generate {
      %drafts = mtp.draft_chain { ... } : tensor<?x?xi32>
      %logits, %hidden = mtp.verify %drafts { ... } : ...
      %count, %picks = mtp.accept %drafts, %logits exact { ... } : ...
      mtp.commit %count, %picks, %hidden : ...
    }
    ```

    Any of these may be written in core ops instead. Once the round is
    instantiated (`mtp-instantiate-rounds`), `k` is how many drafts it may
    accept, and `nodes` are the rows of a slot that it verifies, where these are
    not k + 1. A round with `prompts` runs so many rows of a prompt beside its
    own: its `mtp.verify` takes both, and what else is done with these is in the
    prefill that stands `beside` it, until `mtp-mix-prompts` puts it into the
    round.

    Constraints:
    - (C1) one round per module, or one for each k, and one more of each with
      `prompts`; the module has an envelope.
    - (C2) at most one draft operation, one verify, one accept and one commit,
      in this order, at the round's top level.
    - (C3) where two of them stand, verify and accept take the same drafts, and
      commit takes accept's results. What is between them may change drafts,
      logits and hidden states.
    - (C4) the drafter's hidden state has the verified one's width, and its
      logits have the target's vocabulary or that of the draft operation, whose
      tokens are the target's.
    - (C5) a tree is verified and accepted with the parents with which it is
      drafted, or both with parents that are numbers of each slot.
    - (C6) the envelope has max_k >= 1 with a draft operation, and as many
      modules as max_k at most; 0 where nothing drafts; a tree has max_nodes
      nodes at most, and where drafts are no tree these are max_k + 1; k is
      from 0 to max_k.
    - (C7) nodes are given with k alone, and are from k + 1 to those that the
      envelope has for k.
    - (C8) nothing stores to `want_k` from the draft operation up to mtp.verify,
      nor in the region of mtp.accept, by which drafts are picked.
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
    /// The rows of a slot that an instantiated round verifies.
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
  let summary = "What is done with a chunk of a prompt";
  let description = [{
    Runs the target over the rows of the chunk, picks the first token where a
    prompt ends in it, and leaves in states and caches what the rounds read. The
    ops of a round may stand here, in the order verify, accept, draft, commit,
    without drafts: verify runs over the chunk's rows, accept picks for the last
    row of each sequence, the draft operation fills the modules' caches, commit
    starts the slots whose prompts end. A module without an `mtp.prefill` has
    the one that its round's ops make.

    `k` is 0 where drafting is off, and `max_k` where it is on. A prefill that
    stands `beside` a round with `prompts` is of one sequence, and does not run
    by itself: the round's `mtp.verify` computes what its own gives. One that is
    a `catch_up` runs over rows of one sequence that rounds verified without a
    drafter, so many positions in front of the anchor at most, and fills the
    drafter's caches alone.

    ```mlir
    mtp.prefill @prompt {
      %logits, %hidden = mtp.verify { ... } : ...
      %count, %picks = mtp.accept %logits exact { ... } : ...
      mtp.commit %count, %picks, %hidden : ...
    }
    ```

    Constraints:
    - (C1) at most one prefill per module, or one for each k, one more beside
      each round with `prompts`, and a `catch_up`; the module has an envelope.
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
    Column i of logits over it stands for the token `tokens[i]` of the target. A
    drafter whose head has few rows has one. (Of EAGLE-3's `d2t` it is column i
    and d2t[i] added up.)

    ```mlir
    mtp.vocabulary @frequent dense<[3, 5, 8, 21]> : tensor<4xi32>
    ```

    Constraints:
    - (C1) tokens are one row of i32, at least one, none negative, ascending: of
      equal columns the lowest token is picked, here as in the target. They are
      below 2^24.
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
    One region per module, each a step: from tokens and hidden states to logits
    and the hidden state that is handed on. The draft is what `mtp.accept`'s
    region picks from the logits. Draft d + 1 comes from module d + 1;
    deeper drafts run the last module again. Every round a module first runs
    over the rows that the last round verified, with true hidden states, so that
    its cache holds no entry made from a draft.

    A step that takes no hidden state is a model of its own: its rows are the
    tokens at their own positions.

    With `input` the hidden states that the target gives have another width than
    those that are handed on: its region makes the latter of the former, on the
    rows that were verified alone (EAGLE-3 projects three layers' so).

    With `vocabulary` the logits have a column for each of its tokens. A second
    result is the logits that each draft was picked from, which are kept only
    for it: of n drafts per slot `tensor<?xnxVxf32>`.

    With `p_min` the drafts of a slot end before the first one whose probability
    is less: its part of the softmax of what the region picks by, which is the
    logits at temperature 0, and else the logits over the temperature plus the
    noise, as far as the slot's filters leave them (`mtp.top_k`, `mtp.shares`).
    From there on drafts are -1, and the slot's rows of further steps are dead.
    The region must end with an `mtp.sample` at its rows, or an `mtp.argmax`.

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
    - (C2) every region takes (tokens, hidden state, rows), or (tokens, rows).
    - (C3) every region yields logits and a hidden state of the width it takes,
      or logits alone.
    - (C4) all regions agree in hidden width and vocabulary.
    - (C5) without hidden states there is one region.
    - (C6) the vocabulary exists and has the logits' columns; its tokens are
      tokens of the round's mtp.verify, if there is one.
    - (C7) draft logits have the logits' columns.
    - (C8) input: the region takes hidden states and yields those that the first
      step takes.
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
    /// Whether steps go on from hidden states, those of the target first.
    bool takesHidden() {
      return getSteps().empty() ||
             getSteps().front().getNumArguments() == 3;
    }
    /// The width of the target's hidden states; there are such.
    int64_t getInputWidth();
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def MTP_DraftTreeOp : MTP_DraftOp<"draft_tree"> {
  let summary = "Draft a static tree of tokens, one module per depth";
  let description = [{
    `parents` gives for every node the node it continues; node 0 is the anchor.
    Children of a node take its candidates in the order of their rank (logit
    plus the noise that the target will add), the lowest node the best. The
    result has one token per node but the anchor.

    One region per module, as in `mtp.draft_chain`: the children of nodes of
    depth d come from module d + 1, which runs once over all of these nodes;
    deeper ones run the last module again. A module behind the first runs over
    the true rows, over the nodes of its depth, and over those that lead to
    them, in one pass.

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
    - (C2) regions are as a chain's (C1 to C5).
    - (C3) the result has a column per node but the first, or leaves their
      number open; in a round with a k one per node of the round but the first.
    - (C4) vocabulary and draft logits are as a chain's (C6, C7). Those of a
      node lack its siblings before it.
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
    /// Whether steps go on from hidden states.
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
    A region for each depth, a head (Medusa, arXiv:2401.10774; the independent
    heads of arXiv:2404.19737): from hidden states to logits. Head d gives the
    candidates of depth d, of the target's hidden state in front of the anchor,
    whatever the drafts before are; the draft is what `mtp.accept`'s region
    picks from them, and with `tree` the siblings of depth d are its candidates
    in the order of their rank, the lowest node the best: all nodes of a depth
    have the same ones. Heads deeper than the round's drafts are not run.

    The rows are those that the last round verified, at the positions of their
    hidden states, so that a head may have a layer with a cache: its entries are
    of true hidden states, and a prompt's are made by its prefill. What is
    computed row by row runs on the anchor's row alone.

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

    Where each region applies a function to what it takes and yields what that
    gives, without a prefix or a cache, the functions may stand in a list:

    ```mlir
    %drafts = mtp.draft_heads tree [-1, 0, 0, 0, 1, 1] [@head_0, @head_1]
              (tensor<?x192xf32>, !mtp.rows) -> tensor<?x4096xf32>
              : tensor<?x5xi32>
    ```

    Constraints:
    - (C1) 1 to 16 regions; without a tree as many as max_k.
    - (C2) every region takes (hidden state, rows) and yields logits, and all
      agree in width and vocabulary.
    - (C3) tree: parents as in draft_tree (C1), no deeper than there are heads.
    - (C4) the result of a tree is as draft_tree's (C3).
    - (C5) vocabulary and draft logits are as a chain's (C6, C7). Those of a
      node lack its siblings before it.
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
  let summary = "What is there only where something is drafted";
  let description = [{
    The drafter of a method in core ops. When the round is instantiated its ops
    stand in the round; at k = 0 they are gone, and in the prefill of k = 0,
    too. A module without an `mtp.prefill` has one that fills the caches which
    the rows of an `mtp.refresh` in it write. What it yields are drafts, and
    what a rule wants to know of them.

    ```mlir
    %drafts = mtp.draft {
      %tokens, %rows, %anchor, %next, %h = mtp.refresh : ...
      ...
      mtp.yield %d : tensor<?x?xi32>
    } : tensor<?x?xi32>
    ```

    Constraints:
    - (C1) it yields values of the result types.
    - (C2) the results are read by mtp.verify and mtp.accept alone, or are
      numbers for each draft of a slot (`tensor<?x?x...>`), of which there are
      none at k = 0.
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
  let summary = "The target's hidden states of the rows of a catch-up";
  let description = [{
    In place of those that the `mtp.verify` of a prompt gives. The commits of a
    module with a `catch_up` keep the last ones of each slot in the state
    `recent_hidden`, by position modulo its rows. `mtp-instantiate-rounds`
    writes it, and `mtp-expand-commit` says where they are.

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
  let summary = "The rows that were verified last, as a drafter reads them";
  let description = [{
    Every round a drafter with a cache runs over the rows that the last round
    verified, of which there are k + 1 for each slot: only now it is known which
    tokens they have. These are the tokens and the rows; rows behind the anchor
    are dead. `anchor` is the index of the row, among all, whose logits the
    first draft is picked from, and `next` its position once it is verified: the
    slot's length, at which the draft's `mtp.make_rows` stands.

    With `hidden`, the target's hidden states of the rows, a row has the
    position of its hidden state, and the token that followed it (`mtp.commit`
    keeps both). Without it, a row is a token at its own position.

    ```mlir
    %tokens, %rows, %anchor, %next, %hidden = mtp.refresh
        : tensor<?xi32>, !mtp.rows, tensor<?xi32>, tensor<?xi32>,
          tensor<?x192xf32>
    ```

    Constraints:
    - (C1) the hidden state has the width of the state `hidden`, where the
      module declares one.
  }];
  let results = (outs MTP_Tokens:$tokens, MTP_Rows:$rows, MTP_Tokens:$anchor,
                      MTP_Tokens:$next, Optional<MTP_Activation>:$hidden);
  let assemblyFormat = "attr-dict `:` type(results)";
  let hasVerifier = 1;
}

def MTP_RefreshModuleOp : MTP_Op<"refresh_module", [
    SameVariadicOperandSize,
    MemoryEffects<[MemRead<MTP_SlotResource>, MemWrite<MTP_SlotResource>]>]> {
  let summary = "The rows of a module behind the first";
  let description = [{
    Module d of several has of each slot k + 1 rows with tokens that are known,
    each d - 1 positions in front of the row of `mtp.refresh` with the same
    token. Behind these stand rows of nodes, of a tree that a program finds
    (`mtp.make_tree_rows`): those of depth 1, then of depth 2, up to d - 1,
    which are where children of depth d come from. All are rows of one pass.

    `before` is what module d - 1 hands on, of all rows that it ran, which were
    the same ones without the last nodes. From there come the hidden states:
    of a row with a known token that of the row in front of it, of a node that
    of its parent, which is the node in the group before whose mask it has
    beside its own bit. The state that the first row needs is kept from round
    to round (`carry_d`).

    The nodes' rows are those of the first module, which the op moves to where
    this one has them (`mtp.module_rows`). `anchor` is the index of the anchor's
    row, among all, and `last` are those of the last group of nodes.

    ```mlir
    %t, %rows, %h, %anchor, %last = mtp.refresh_module 2 of %g
        with %nodes at %tree
        : (tensor<?x192xf32>, tensor<?xi32>, !mtp.rows)
        -> (tensor<?xi32>, !mtp.rows, tensor<?x192xf32>, tensor<?xi32>,
            tensor<?xi32>)
    ```

    In a prefill there are no nodes, and rows are those of the prompt whose
    tokens, d places further on, belong to it.

    Constraints:
    - (C1) the module is 2 to 16.
    - (C2) in a round there are tokens and rows of nodes for each depth up to
      that in front of the module's, and else none.
    - (C3) hidden states are of the type of those before.
    - (C4) it stands in a round or a prefill, in whatever op of these, or in a
      function, where C2 takes either.
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
  let summary = "The rows of nodes as a module behind the first has them";
  let description = [{
    A node of depth m has position n + m - 1 in the first module of several, its
    hidden state's, and n + m - d in module d, whose last entry of a true row is
    at n - d: positions and places are d - 1 less. What a row sees is the same.
    (At the beginning of a text there may be no such position; the row is dead
    then, and others do not see it.)

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
  let summary = "Make rows a tree";
  let description = [{
    The rows come in blocks of one per node. Attention over the result sees the
    slot's committed positions and, of its own block, the node and its ancestors
    only; a row's position is its slot's length plus its depth, its place in the
    cache the length plus its node.

    The tree is static, or `parents` are numbers of every slot, a column for
    each node. The first one's is not read; another node whose parent is not
    before it, or is dead, is dead.

    ```mlir
    %tree = mtp.tree_rows %rows [-1, 0, 0, 1]
    %own = mtp.tree_rows %rows parents %p : tensor<?x4xi32>
    ```

    Constraints:
    - (C1) parents as in draft_tree (C1), or an operand of at most 64 columns,
      but not both.
    - (C2) the rows are not a tree's already.
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

    Constraints: those of the operation around it.
  }];
  let arguments = (ins Variadic<AnyType>:$values);
  let builders = [OpBuilder<(ins), [{}]>];
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}

#endif // MTP_DRAFT_OPS_TD
