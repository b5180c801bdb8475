//===- RoundPasses.td - From a round to core ops -----------*- tablegen -*-===//
//
// The first passes of the phase shape: a round per k, and each readable op
// rewritten into core ops (dialects/MTP/IR/MTPCoreOps.td, MTPControlOps.td).
//
//===----------------------------------------------------------------------===//

#ifndef MTP_ROUND_PASSES
#define MTP_ROUND_PASSES

include "mlir/Pass/PassBase.td"

def InstantiateRoundsPass : Pass<"mtp-instantiate-rounds", "mlir::ModuleOp"> {
  let summary = "Write the round once for every k";
  let description = [{
    Makes of a round without k one for each k from 0 to max_k, in which `mtp.k`
    is a constant: code is folded, loops over constant ranges are unrolled, and
    extents that follow from k become static, those of drafts and picks, too. At
    k = 0 nothing is drafted: the draft operation and what an `mtp.draft` holds
    are gone, verify and accept have no drafts, and who else reads drafts sees
    that there are none. Else the ops of an `mtp.draft` stand in its place.

    A prefill is instantiated for k = 0, and for k = max_k where that differs. A
    module without a prefill gets the one that its round's verify, accept, draft
    and commit make; of a drafter in core ops what a round of max_k would do.
    The target alone, on given rows, becomes the function `prompt_logits`, by
    which texts are scored; its rows are the chunk's, at most 32.

    With `catch_up_rows` in the envelope the drafting prefill has a copy for
    drafters that rounds without drafts have left behind, of which only what
    fills their caches is left.

    An accept is told the verify's rows, and the path
    through a tree goes from accept to commit.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect"
  ];
  let statistics = [
    Statistic<"numRounds", "rounds", "rounds and prefills written">
  ];
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
    then the chain, each draft picked by the accept op's region for the row that
    will verify it. In a prefill: the modules' runs that fill their caches. It
    declares the states that it reads (`accepted`, `window`, `hidden`, and a
    `carry_d` for each module d >= 2). Runs before `mtp-expand-verify` and
    `mtp-expand-accept`, whose ops it looks at. Draft logits are put side by
    side where an op reads them.

    With `p_min`, or in a module with the state `want_k`, a slot may end its
    drafts: what it does not want is -1, and the anchor's rows and those of
    further steps are packed, as far as the accept's region and the steps go by
    rows. Else such rows are dead.
  }];
}

def ExpandDraftTreePass
    : MTP_ExpandPass<"mtp.draft_tree", "mtp-expand-draft-tree"> {
  let description = [{
    In a round: the first module's refresh, then the runs of the modules over
    the nodes of each level that have children, on their parents' hidden states.
    Where accept's region ends with its sample, siblings are the best by an
    `mtp.top_k` with noise, else they are picked one by one, each without those
    before it. A round of k drafts has the tree's first k + 1 nodes. In a
    prefill as `mtp-expand-draft-chain`.
  }];
}

def ExpandDraftHeadsPass
    : MTP_ExpandPass<"mtp.draft_heads", "mtp-expand-draft-heads"> {
  let description = [{
    In a round: as many heads as its tree, or chain, is deep, over the rows that
    were verified last; drafts are picked from the anchor's row as those of an
    `mtp.draft_tree` are. In a prefill: the heads over the prompt's rows, where
    they have caches.
  }];
}

def ExpandRefreshPass : MTP_ExpandPass<"mtp.refresh", "mtp-expand-refresh"> {
  let description = [{
    The rows of the first module of a draft chain (`mtp-expand-draft-chain`),
    for a drafter in core ops: tokens, rows, the anchor's among them, and where
    the first draft will be verified. It declares the states that it reads
    (`accepted`, `window`, `hidden`). `mtp.refresh_module` and `mtp.module_rows`
    are rewritten, too: the rows of a module behind the first, and of nodes in
    it (`carry_d`).
  }];
}

def ExpandVerifyPass : MTP_ExpandPass<"mtp.verify", "mtp-expand-verify"> {
  let description = [{
    In a round the rows of anchor and drafts, then the region; in a prefill the
    region over the chunk's rows.
  }];
}

def ExpandAcceptPass : MTP_ExpandPass<"mtp.accept", "mtp-expand-accept"> {
  let description = [{
    The region, then the walk along its picks, slot by slot, or what the rule
    holds, whose numbers are put in range. In a prefill the region picks for the
    last row of each sequence. `mtp.accept_tokens` and `mtp.accept_tree`, the
    walks as functions, are rewritten as well.
  }];
}

def ExpandCommitPass : MTP_ExpandPass<"mtp.commit", "mtp-expand-commit"> {
  let description = [{
    Stores to the states that the host reads, and to those of the module that
    other expansions read. In a prefill the slots whose prompts end in the chunk
    begin.
  }];
}

def ExpandTreeRowsPass
    : MTP_ExpandPass<"mtp.tree_rows", "mtp-expand-tree-rows"> {
  let description = [{
    Positions, places and masks of the nodes: of a static tree row by row, in
    functions, too, else slot by slot from its parents. Runs
    behind `mtp-expand-commit`, which tells by `mtp.tree_rows` what is moved.
  }];
}

def ExpandUniformPass : MTP_ExpandPass<"mtp.uniform", "mtp-expand-uniform"> {
  let description = [{
    Loads of the slot's seed and the integer code of the generator.
  }];
}

def ExpandAnchoredPass
    : MTP_ExpandPass<"mtp.sample of anchored noise", "mtp-expand-anchored"> {
  let description = [{
    The noise of `anchored` rows as that of a number: their distance from the
    slot's length, which is the position of the noise; in a prefill 0, at the
    rows' own positions. Runs behind the expansions that clone the region of
    accept.
  }];
}

def PlaceDraftersPass : Pass<"mtp-place-drafters", "mlir::ModuleOp"> {
  let summary = "Let entries of drafters follow each other";
  let description = [{
    In rounds, and in the prefill for drafters that fell behind, rows that go
    into layers which rounds without drafts do not use get places of their own:
    a row's position less the positions that have no entry, as the host says in
    `drafter_places`. Rows in front of what it says are dead. There are words
    for each k: for the layers that rounds of less do not use.

    Runs behind the expansions, since it looks for who makes rows, and in front
    of `mtp-fuse-per-slot`, which joins its code with theirs.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::tensor::TensorDialect"
  ];
  let statistics = [Statistic<"numPlaced", "rows", "rows with new places">];
}

def RepeatRoundsPass : Pass<"mtp-repeat-rounds", "mlir::ModuleOp"> {
  let summary = "Let rounds say whether another one shall follow";
  let description = [{
    Behind each round, for every slot: its tokens go into the next entry of the
    state `ring`, with -1 behind them where the output `drafted`, which it takes
    out, says that there was no draft; what the state `loop` counts is counted,
    and the output
    `again` is -1 where the launch ends with this round (it has had all its
    rounds, pages are short, of a sequence that has ended, too, or one has
    ended and the host wants to know), 0 where the sequence has ended, else 1.
    A device runs another round while no slot has -1 and one has 1.
    `runtime/schema/FORMAT.md` has the words.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"
  ];
  let statistics = [Statistic<"numRounds", "rounds", "rounds that may repeat">];
}

def CheckUpkeepPass : Pass<"mtp-check-upkeep", "mlir::ModuleOp"> {
  let summary = "Warn of what rounds keep in vain, or lose";
  let description = [{
    What compiles and is not what was meant, seen when rounds and prefills are
    written out. An output that the host does not know and that is not declared
    is an error. Warnings are for:

    - a cache layer that rounds read and no prefill writes, or that the round of
      k = 0 reads and only prefills with drafts write,
    - a state that rounds carry on and neither a prefill nor the host writes or
      keeps: it is lost at a preemption,
    - a state that is never written, or never read, or both; an input that is
      never read.
  }];
  let statistics = [Statistic<"numWarnings", "warnings", "warnings">];
}

def MixPromptsPass : Pass<"mtp-mix-prompts", "mlir::ModuleOp"> {
  let summary = "Put what prompts need into the rounds that they stand beside";
  let description = [{
    Of a round with `prompts` the expansions have made core ops, and so of the
    prefill `beside` it, but for its verify: the round's has computed its rows,
    and `mtp.prompt_values` has them. The prefill's ops come behind the round's,
    for the slots of prompts. Its outputs are those of the round with `prompt_`
    before their names. Rows of the prompt are packed, so that dead ones cost
    nothing.
  }];
  let statistics = [Statistic<"numMixed", "rounds", "rounds with prompts">];
}

#endif // MTP_ROUND_PASSES
