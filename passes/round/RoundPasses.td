//===- RoundPasses.td - From a round to core ops -----------*- tablegen -*-===//
//
// The first passes of the phase shape: they write a round per k, and rewrite
// each readable op into core ops (dialects/MTP/IR/ops/MTPCoreOps.td,
// MTPControlOps.td).
//
//===----------------------------------------------------------------------===//

#ifndef MTP_ROUND_PASSES
#define MTP_ROUND_PASSES

include "mlir/Pass/PassBase.td"

def InstantiateRoundsPass : Pass<"mtp-instantiate-rounds", "mlir::ModuleOp"> {
  let summary = "Instantiate the round for every k";
  let description = [{
    Input: rounds without k, with calls inlined. Output: a round for each k from
    0 to max_k, in which `mtp.k` is a constant. Code is folded, loops over
    constant ranges are unrolled, and extents that follow from k become static,
    including those of drafts and picks. At k = 0 the draft operation and the
    contents of an `mtp.draft` are erased, verify and accept have no drafts, and
    other readers of drafts get none. At other k the contents of an `mtp.draft`
    replace it.

    A prefill is instantiated for k = 0, and for k = max_k if that differs. A
    module without a prefill gets one made from its round's verify, accept,
    draft and commit; a drafter in core ops runs as in a round of max_k. The
    target alone, on given rows, becomes the function `prompt_logits`, which
    scores texts. Its number of rows is the chunk's, at most 32.

    With `catch_up_rows` in the envelope, a copy of the drafting prefill serves
    drafters that missed rounds without drafts. It only keeps the ops
    that fill their caches.

    An accept gets the verify's rows, and a commit gets the path through a tree
    from the accept.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect"
  ];
  let statistics = [
    Statistic<"numRounds", "rounds", "rounds and prefills written">
  ];
}

def CollectInputsPass : Pass<"mtp-collect-inputs", "mlir::ModuleOp"> {
  let summary = "Make a function that returns the inputs of projections";
  let description = [{
    Input: a round without k, with calls inlined, before projections are fused.
    Output: the function `projection_inputs` beside the round. Its inputs are
    those of `prompt_logits`, and its number of rows is the chunk's. It returns
    each value that a projection of the target multiplies. The result's name has
    the keys of the projection weights, separated by spaces.

    `mtpc --collect-inputs` runs the pass, for a text whose statistics the
    quantiser needs. A target that needs more than tokens and rows is an error.
  }];
  let dependentDialects = ["::mlir::func::FuncDialect"];
  let statistics = [Statistic<"numInputs", "inputs", "inputs collected">];
}

class MTP_ExpandPass<string op, string flag>
    : Pass<flag, "mlir::ModuleOp"> {
  let summary = "Rewrite " # op # " into core ops";
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect",
    "::mlir::tensor::TensorDialect"
  ];
  let statistics = [Statistic<"numExpanded", "ops", "ops rewritten">];
}

def ExpandDraftChainPass
    : MTP_ExpandPass<"mtp.draft_chain", "mtp-expand-draft-chain"> {
  let description = [{
    In a round: refreshes of the modules over the rows that were verified last,
    then the chain. The accept op's region picks each draft for the row that
    will verify it. In a prefill: the modules' runs that fill their caches. The
    pass declares the states that it reads (`accepted`, `window`, `hidden`, and
    a `carry_d` for each module d >= 2). Runs before `mtp-expand-verify` and
    `mtp-expand-accept`, since it reads their ops. Draft logits are concatenated
    if an op reads them.

    With `p_min`, or in a module with the state `want_k`, a slot may end its
    drafts. Unwanted drafts are -1. With `p_min` the pass declares the input
    `draft_p_min`, unless the module has it, and compares the probability of
    each draft with it. If the round verifies the drafts, the pass also declares
    `shown_confidence` and stores the probabilities there. The anchor's rows and
    the rows of further steps are packed if the accept's region and the steps
    work row by row; otherwise unwanted rows are padding rows.
  }];
}

def ExpandDraftTreePass
    : MTP_ExpandPass<"mtp.draft_tree", "mtp-expand-draft-tree"> {
  let description = [{
    In a round: the first module's refresh, then the runs of the modules over
    the nodes of each level that have children, on their parents' hidden states.
    If accept's region ends with its sample, siblings are the best of an
    `mtp.top_k` with noise. Otherwise they are picked one by one, each without
    the ones before it. A round of k drafts has the tree's first k + 1 nodes. In
    a prefill: as `mtp-expand-draft-chain`.
  }];
}

def ExpandDraftHeadsPass
    : MTP_ExpandPass<"mtp.draft_heads", "mtp-expand-draft-heads"> {
  let description = [{
    In a round: one head per level of the tree or chain, over the rows that were
    verified last. Drafts are picked from the anchor's row like those of an
    `mtp.draft_tree`. In a prefill: the heads over the prompt's rows, if they
    have caches.
  }];
}

def ExpandRefreshPass : MTP_ExpandPass<"mtp.refresh", "mtp-expand-refresh"> {
  let description = [{
    Writes the rows of a draft chain's first module (`mtp-expand-draft-chain`)
    for a drafter in core ops. They are tokens, rows, the index of the anchor's
    row, and the position that will verify the first draft. The pass declares
    the states that it reads (`accepted`, `window`, `hidden`). It also rewrites
    `mtp.refresh_module` and `mtp.module_rows`: the rows of a later module, and
    of nodes in it (`carry_d`).
  }];
}

def ExpandVerifyPass : MTP_ExpandPass<"mtp.verify", "mtp-expand-verify"> {
  let description = [{
    In a round: the rows of anchor and drafts, then the region. In a prefill:
    the region over the chunk's rows.
  }];
}

def ExpandAcceptPass : MTP_ExpandPass<"mtp.accept", "mtp-expand-accept"> {
  let description = [{
    In a round: the region, then the walk along its picks, slot by slot, or the
    op's rule, whose numbers are clamped. In a prefill: the region picks for the
    last row of each sequence. The pass also rewrites `mtp.accept_tokens` and
    `mtp.accept_tree`, the walks as functions.
  }];
}

def ExpandCommitPass : MTP_ExpandPass<"mtp.commit", "mtp-expand-commit"> {
  let description = [{
    Stores to the states that the host reads, and to the module's states that
    other expansions read. In a prefill: starts the slots whose prompts end in
    the chunk.
  }];
}

def ExpandTreeRowsPass
    : MTP_ExpandPass<"mtp.tree_rows", "mtp-expand-tree-rows"> {
  let description = [{
    Writes positions, places and masks of the nodes. A static tree is expanded
    row by row, in functions, too; other trees slot by slot from their parents.
    Runs after `mtp-expand-commit`, which finds the entries to move by
    `mtp.tree_rows`.
  }];
}

def ExpandUniformPass : MTP_ExpandPass<"mtp.uniform", "mtp-expand-uniform"> {
  let description = [{
    Writes loads of the slot's seed and the integer code of the generator.
  }];
}

def ExpandAnchoredPass
    : MTP_ExpandPass<"mtp.sample of anchored noise", "mtp-expand-anchored"> {
  let description = [{
    Turns the noise of `anchored` rows into noise with a number: the row's
    distance from the slot's length, which is the position of the noise. In a
    prefill the number is 0, at the rows' own positions. Runs after the
    expansions that clone the region of accept.
  }];
}

def PlaceDraftersPass : Pass<"mtp-place-drafters", "mlir::ModuleOp"> {
  let summary = "Give drafters' cache entries consecutive places";
  let description = [{
    In rounds, and in the prefill for drafters that missed rounds, some layers
    are not used by rounds without drafts. Rows for these layers get places of
    their own: a row's position minus the number of positions without an entry,
    which the host writes into `drafter_places`. Rows whose place is before the
    first one that the host allows are padding rows. There are words for each k,
    for the layers that rounds of a smaller k do not use.

    Runs after the expansions, since it looks for the ops that make rows, and
    before `mtp-fuse-per-slot`, which joins its code with theirs.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::tensor::TensorDialect"
  ];
  let statistics = [Statistic<"numPlaced", "rows", "rows with new places">];
}

def RepeatRoundsPass : Pass<"mtp-repeat-rounds", "mlir::ModuleOp"> {
  let summary = "Make rounds decide whether another round follows";
  let description = [{
    After each round, for every slot, the pass adds code that stores the tokens
    in the next entry of the state `ring`. They are followed by -1 for missing
    drafts, according to the output `drafted`, which is removed. The counters of
    the state `loop` are updated.

    The output `again` is -1 if the launch ends with this round, 0 if the
    sequence has ended, else 1. A launch ends if all its rounds have run, if
    pages are short (also of a sequence that has ended), or if a sequence has
    ended and the host wants to know. A device runs another round if no slot has
    -1 and at least one has 1. `runtime/schema/FORMAT.md` lists the words.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"
  ];
  let statistics = [Statistic<"numRounds", "rounds", "rounds that may repeat">];
}

def LintStatesPass : Pass<"mtp-lint-states", "mlir::ModuleOp"> {
  let summary = "Warn of states that rounds lose or never use";
  let description = [{
    Input: rounds and prefills after expansion. Reports code that compiles but
    is probably a mistake. An output that the host does not know and that is not
    declared is an error. Warnings are for:

    - a cache layer that rounds read and no prefill writes, or that the round of
      k = 0 reads and only prefills with drafts write,
    - a state that rounds carry on and that neither a prefill nor the host
      writes or keeps: it is lost at a preemption,
    - a state that is never written or never read; an input that is never read.
  }];
  let statistics = [Statistic<"numWarnings", "warnings", "warnings">];
}

def MergePrefillPass : Pass<"mtp-merge-prefill", "mlir::ModuleOp"> {
  let summary = "Merge a prefill into the round that shares its target pass";
  let description = [{
    Input: expanded rounds with `prompts`, and the prefill `beside` each,
    expanded except for its verify. The round's verify has computed the
    prefill's rows, and `mtp.prompt_values` holds them. The prefill's ops are
    moved after the round's, for the slots of prompts. Its outputs get the
    prefix `prompt_`. Rows of the prompt are packed, so that padding rows cost
    nothing.
  }];
  let statistics = [Statistic<"numMixed", "rounds", "rounds with prompts">];
}

#endif // MTP_ROUND_PASSES
