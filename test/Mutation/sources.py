"""Bugs in round control: edits of the product's sources.

A mutant is a file, a text that the file has once, and its replacement.
sources_test.py checks that each file still has its text.
"""

VERIFY = "passes/round/expand/ExpandVerify.cpp"
ACCEPT = "passes/round/expand/ExpandAccept.cpp"
COMMIT = "passes/round/expand/ExpandCommit.cpp"
REFRESH = "passes/round/Refresh.cpp"
CHAIN = "passes/round/expand/ExpandDraftChain.cpp"
PREFILL = "passes/round/DraftPrefill.cpp"
ADMISSION = "runtime/exec/Admission.cpp"
CONVOLUTION = "compiler/Codegen/Rows/CausalConv.cpp"
RULE = "compiler/Codegen/Rows/DeltaRule.cpp"
RUN = "compiler/Codegen/Rows/SlotRun.cpp"
LOWER = "compiler/Codegen/CPU/target/LowerKernels.cpp"

SOURCES = {
    "verify one position too far": (
        VERIFY, "placeOf(live.lives(row), body.add(n, row))",
        "placeOf(live.lives(row), body.add(n, row + 1))"),
    "refresh one position too far": (
        REFRESH, "Value first = body.sub(body.sub(n, a), behind(d));",
        "Value first = body.add(body.sub(body.sub(n, a), behind(d)), 1);"),
    "chain one position too far": (
        CHAIN, "body.add(n, d - modules - refresh.takesHidden())",
        "body.add(n, d - modules - refresh.takesHidden() + 1)"),
    "module's cache stale after a rejection": (
        REFRESH, "Value live = body.both(body.compare(Predicate::sge, position, 0),",
        "Value live = body.both(body.compare(Predicate::sge, body.add(j, 1), d),"),
    "module 2 goes on from the wrong row": (
        REFRESH, "body.max(body.min(a, body.constant(count - 2)), body.constant(0));",
        "body.constant(0);"),
    "anchor from the first row of the window": (
        VERIFY, "body.load(states::kWindow, accepted)};",
        "body.load(states::kWindow, body.constant(0))};"),
    "one draft too many accepted": (
        ACCEPT, "Value count = k > 0 ? walkChain(body, k, body.input(0), body.input(1))",
        "Value count = k > 0 ? body.min(body.add(walkChain(body, k, body.input(0), "
        "body.input(1)), 1), body.constant(k))"),
    "bonus token dropped": (
        COMMIT, "Value emitted = body.add(count, 1);", "Value emitted = count;"),
    "hidden states of the first row for all": (
        COMMIT, "  writeHidden(e, hidden, rows);",
        """  SlotBody first(e.builder, e.loc, "commit", e.slots());
  Value row = first.mul(first.index(), k + 1);
  rows = first.yield(first.vector(k + 1, [&](Value) { return row; })).front();
  writeHidden(e, hidden, rows);"""),
    "prefill gives modules their own row's token": (
        PREFILL, "takesHidden ? module : 0);", "0);"),
    "prefill leaves the first row's hidden state": (
        COMMIT, "body.sub(body.add(sequenceWord(body, SequenceWord::FirstRow), rows), 1);",
        "sequenceWord(body, SequenceWord::FirstRow);"),
    "a recurrence folds a row too many": (
        VERIFY, "each(body.add(accepted, 1))", "each(body.add(accepted, 2))"),
    # Emitted kernels do not change: only a newly compiled kernel shows the bug.
    "a conversion subtracts for adding": (
        LOWER, "    annotateLoops();\n",
        """    annotateLoops();
    getOperation().walk([](LLVM::FAddOp op) {
      OpBuilder builder(op);
      op.replaceAllUsesWith(LLVM::FSubOp::create(builder, op.getLoc(), op.getLhs(),
                                                 op.getRhs())
                                .getResult());
      op.erase();
    });
"""),
    "rows of a convolution are not rolled": (
        CONVOLUTION, "kb.cmp(Cmp::EQ, i, run.lead)", "kb.cmp(Cmp::LT, i, 0)"),
    "a recurrence has a neighbour's state": (
        RUN, "kb.clampIndex(walk.ownSlot(), slots)",
        "kb.clampIndex(kb.max(kb.sub(walk.ownSlot(), 1), kb.integer(0)), slots)"),
    "a recurrence forgets behind what a key recalls, not before": (
        RULE, "return decay.ofAll ? kb.mul(decay.ofAll, sum) : sum;", "return sum;"),
    "no pages for the drafts": (
        ADMISSION, "state.endOfRound(residency.length, k)", "residency.length"),
}
