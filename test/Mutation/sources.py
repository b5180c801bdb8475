"""Round control gone wrong: edits of the product's sources.

A mutant is a file, a text that it holds once, and what replaces it.
"""

ROUND = "compiler/Codegen/CPU/Round.cpp"
ACCEPT = "compiler/Codegen/CPU/Accept.cpp"
PREFILL = "compiler/Codegen/CPU/Prefill.cpp"
DECODE = "runtime/exec/Decode.cpp"

SOURCES = {
    "verify one position too far": (
        ROUND, "kb.storeI32(kb.add(length, j), kb.buffer(7), row);",
        "kb.storeI32(kb.add(kb.add(length, j), 1), kb.buffer(7), row);"),
    "refresh one position too far": (
        ROUND, "Value first = kb.sub(kb.sub(length, accepted), d);",
        "Value first = kb.add(kb.sub(kb.sub(length, accepted), d), 1);"),
    "chain one position too far": (
        ROUND, "kb.storeI32(kb.add(kb.sub(length, 1), kb.param(2)), kb.buffer(5), i);",
        "kb.storeI32(kb.add(length, kb.param(2)), kb.buffer(5), i);"),
    "module's cache stale after a rejection": (
        ROUND, "kb.bitAnd(kb.cmp(Cmp::GE, position, 0), kb.cmp(Cmp::LE, j, newest));",
        "kb.bitAnd(kb.cmp(Cmp::GE, kb.add(j, 1), d), kb.cmp(Cmp::LE, j, newest));"),
    "module 2 goes on from the wrong row": (
        ROUND, "Value row = kb.clampIndex(accepted, rows);",
        "Value row = kb.integer(0);"),
    "anchor from the first row of the window": (
        ROUND, "kb.loadI32(rowAt(kb, 3, slot, config.integer(\"kmax1\")), accepted);",
        "kb.loadI32(rowAt(kb, 3, slot, config.integer(\"kmax1\")), kb.integer(0));"),
    "one draft too many accepted": (
        ACCEPT, "Value accepted = agreedPrefix(kb, drafts, picks, k);",
        "Value accepted = kb.min(kb.add(agreedPrefix(kb, drafts, picks, k), 1), k);"),
    "bonus token dropped": (
        ACCEPT, "Value emitted = kb.add(accepted, 1);", "Value emitted = accepted;"),
    "hidden states of the first row for all": (
        ACCEPT, "kb.copy(kb.at(from, j, width * 4), kb.at(hidden, j, width * 4), width);",
        "kb.copy(from, kb.at(hidden, j, width * 4), width);"),
    "prefill gives modules their own row's token": (
        PREFILL, "kb.loadI32(kb.buffer(1), kb.add(j, d))", "kb.loadI32(kb.buffer(1), j)"),
    "prefill leaves the first row's hidden state": (
        PREFILL, "Value last = kb.clampIndex(kb.sub(info.count, 1), kb.param(0));",
        "Value last = kb.integer(0);"),
    "no pages for the drafts": (
        DECODE, "sequence.length + options.k + 1", "sequence.length"),
}
