#!/usr/bin/env python3
"""Seeds mistakes in drafters in folders, and in trees of a model's own modules.

  drafter_mistakes.py ORACLE FOLDER

FOLDER has the tiny model llama-chain as `llama`. For each drafter the unchanged module is compared
with the oracle first, round by round. Then one mistake at a time is made, in the module's text, in
the library, or between two passes. Each must show in the drafts or in the acceptance, or be
refused. Prints how each mistake was detected.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import typing

TREE = "[-1, 0, 0, 0, 1, 1, 2, 3, 4, 4, 5, 6, 8]"
# The target hands on the stream before its last norm.
BEHIND = " : tensor<?x112xf32>, tensor<?x64xf32>\n  }\n  func.func private @draft_"
UNNORMED = [("return %logits, %norm" + BEHIND, "return %logits, %x_6" + BEHIND, 1)]


class Drafter(typing.NamedTuple):
    name: str
    # Topology in the oracle's file, and flags that import the folder so.
    topology: str
    flags: tuple
    # For each mistake in the module: the text to replace, its replacement, and its number of
    # occurrences.
    module: dict
    # Likewise for the library's file for beams, and for rounds in core ops.
    library: typing.Dict[str, list] = {}
    core: typing.Dict[str, list] = {}
    # A model of tiny.py whose modules draft; otherwise the drafter is in a folder.
    model: str = ""


def swapped(one, other, count):
    """Returns edits that exchange two texts."""
    return [(one, "@@", count), (other, one, count), ("@@", other, count)]


DRAFTERS = [
    Drafter("eagle1", "chain:4", ("-k=4",), {
        "features in front of the norm": UNNORMED,
        "feature in front of the embedding": [
            ("mtp.concat %e, %hidden", "mtp.concat %hidden, %e", 1)],
    }),
    Drafter("eagle1", "static", ("--draft-tree=choices.json",), {
        "a rank's children behind its sibling": [
            (TREE, "[-1, 0, 0, 0, 1, 2, 2, 3, 4, 5, 5, 6, 8]", 3)],
    }, core={
        "entries of the path not moved": [("mtp.cache_move", None, None)],
    }),
    Drafter("eagle1", "dynamic:3,4,12", ("--draft-tree=dynamic:4,4,13",), {}, library={
        "nodes ranked without what is in front of them": [
            ("%both = arith.addf %above, %own : f32", "%both = arith.addf %own, %own : f32", 1)],
        "all nodes go on from the first one's state": [
            ("%x = arith.addi %row0, %own : i32", "%x = arith.addi %row0, %zero : i32", 1)],
    }),
    Drafter("eagle3", "chain:4", ("-k=4",), {
        "taps off by one": [("mtp.concat %x_0, %x_2, %x_3", "mtp.concat %x, %x_1, %x_2", 1)],
        "state added to after its norm": [
            ("%y = mtp.add %g, %o_proj", "%y = mtp.add %hidden_norm, %o_proj", 1)],
        "state handed on behind the norm": [
            ("return %logits, %x_0 : tensor<?x84xf32>", "return %logits, %norm : tensor<?x84xf32>",
             1)],
    }),
    Drafter("medusa", "chain:4", (), {
        "features in front of the norm": UNNORMED,
        "heads in another order": swapped('weights "drafter.0.', 'weights "drafter.1.', 2),
        "blocks without their input": [
            ("%x_0 = mtp.add %x, %silu", "%x_0 = mtp.add %silu, %silu", 1)],
    }),
    Drafter("draft-model", "chain:4", ("-k=4",), {
        "layers in another order": swapped('%rows) weights "model.layers.0." cache @drafter_',
                                           '%rows) weights "model.layers.1." cache @drafter_', 1),
        "a layer left out": [
            ("%norm = mtp.rms_norm %x_0, %norm_w", "%norm = mtp.rms_norm %x, %norm_w", 1)],
        "layers that share a layer of the cache": [("@drafter_cache[1]", "@drafter_cache[0]", 1)],
    }),
    Drafter("mtp", "static", ("--draft-tree=choices.json",), {
        "all depths from the first module": [
            ('"model.layers.4." cache @drafter_cache[1]',
             '"model.layers.3." cache @drafter_cache[1]', 1)],
        "a rank's children behind its sibling": [
            (TREE, "[-1, 0, 0, 0, 1, 2, 2, 3, 4, 5, 5, 6, 8]", 3)],
    }, core={
        "entries of the path not moved": [("mtp.cache_move", None, None)],
        "the state in front of the second module's rows not kept": [
            (", @carry_2 of", None, None)],
    }, model="dsv3-chain-mtp2"),
    Drafter("mtp", "dynamic:3,4,12", ("--draft-tree=dynamic:4,4,13",), {
        "rows of deeper nodes a position too far in front": [
            ("#1 module 2\n", "#1 module 3\n", 1)],
    }, library={
        "all nodes go on from the first one's state": [
            ("%x = arith.addi %row0, %own : i32", "%x = arith.addi %row0, %zero : i32", 1)],
    }, core={
        "the state in front of the second module's rows not kept": [
            (", @carry_2 of", None, None)],
    }, model="dsv3-chain-mtp2"),
]


# Passes that convert rounds to core ops, and core ops to kernel calls.
EXPAND = ("instantiate-rounds expand-refresh expand-draft-chain expand-draft-tree "
          "expand-draft-heads expand-verify expand-accept expand-commit").split()
LOWER = ("repeat-rounds expand-tree-rows expand-uniform expand-anchored place-drafters "
         "fuse-per-slot lint-states merge-prefill specialize-shapes sink-unpack "
         "outline-control sink-row-selection place-cache-writes convert-to-exec").split()


class Refused(Exception):
    """A tool reports an error."""


def call(*command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False)
    if done.returncode:
        raise Refused(done.stderr.strip())
    return done.stdout


def edited(text, edits):
    for old, new, count in edits:
        found = text.count(old)
        if found == 0 or count not in (None, found):
            sys.exit(f"drafter_mistakes: error: expected {count or 'some'} of '{old}', got {found}")
        if new is None:
            text = "".join(x for x in text.splitlines(keepends=True) if old not in x)
        else:
            text = text.replace(old, new)
    return text


def ranks_as_tokens(text):
    """Replaces the target's tokens by the ids of the drafter's own vocabulary."""
    begin = text.index("dense<[", text.index("mtp.vocabulary")) + len("dense<[")
    end = text.index("]", begin)
    return text[:begin] + ", ".join(map(str, range(text.count(",", begin, end) + 1))) + text[end:]


def offsets_as_tokens(text):
    """Replaces the tokens by the offsets in d2t."""
    begin = text.index("dense<[", text.index("mtp.vocabulary")) + len("dense<[")
    end = text.index("]", begin)
    tokens = map(int, text[begin:end].split(","))
    return text[:begin] + ", ".join(str(t - i) for i, t in enumerate(tokens)) + text[end:]


class Bench:
    """Compiles and compares the modules of one drafter."""

    def __init__(self, oracle, folder, drafter):
        # pylint: disable=import-outside-toplevel
        import compare_run
        self.folder, self.drafter, self.compare_run = folder, drafter, compare_run
        self.module, self.artifact = folder / "model.mlir", folder / "model.bin"
        made = ("tiny.py", drafter.model) if drafter.model else ("tiny_drafters.py", drafter.name)
        own = folder / made[1]
        call(sys.executable, oracle / made[0], made[1], "-o", own, "--dtype=f32")
        source = (own,) if drafter.model else (folder / "llama", "--drafter", own)
        call("mtp-import", *source, "-o", self.module, "--max-context=96", "--prefill-chunk=32",
             "--page=8", *drafter.flags)
        self.text = self.module.read_text()
        expected = oracle / "expected" / "drafters" / f"{drafter.name}.f32.json"
        self.expected = json.loads(expected.read_text())

    def write(self, text):
        self.module.write_text(text)
        call(sys.executable, pathlib.Path(__file__).parent / "show_drafts.py", self.module)

    def compile(self, text, *flags):
        self.write(text)
        call("mtpc", self.module, "-o", self.artifact, *flags)

    def differences(self):
        run = self.compare_run.expected_run(self.expected, self.drafter.topology)
        return self.compare_run.compare(self.expected, run, str(self.artifact),
                                        ["--request-output", "seen"])

    def expect_right(self):
        wrong = self.differences()
        if wrong:
            sys.exit(f"drafter_mistakes: error: {self.drafter.name}, {self.drafter.topology}, "
                     f"without a mistake: {wrong}")

    def found(self, compile_it):
        """Returns how a mistake is detected, or None."""
        try:
            compile_it()
        except Refused as refused:
            return str(refused).splitlines()[0].split("error: ", 1)[-1]
        found = self.differences()
        return found[0].split(":")[0] if found else None

    def check(self, name, compile_it):
        by = self.found(compile_it)
        label = f"{self.drafter.name}, {self.drafter.topology}, {name}"
        if not by:
            sys.exit(f"drafter_mistakes: error: nothing shows: {label}")
        print(f"{label}: {by}", flush=True)

    def with_library(self, edits):
        width = self.drafter.flags[0].split(",")[1]
        library = self.folder / "library"
        library.mkdir(exist_ok=True)
        file = f"beam{width}.mlir"
        (library / file).write_text(edited(call("mtp-import", f"--print-library={file}"), edits))
        self.compile(self.text, "--drafter-library", library)

    def by_passes(self, edits):
        self.write(self.text)
        fused, core, calls = (self.folder / f"{name}.mlir" for name in ("fused", "core", "calls"))
        call("mtpc", self.module, "--compile-to=fuse", "-o", fused)
        call("mtp-opt", fused, *(f"--mtp-{name}" for name in EXPAND), "-o", core)
        core.write_text(edited(core.read_text(), edits))
        call("mtp-opt", core, *(f"--mtp-{name}" for name in LOWER), "-o", calls)
        call("mtpc", calls, "-o", self.artifact)

    def mistakes(self):
        """Yields the name of each mistake and a function that compiles it."""
        for name, edits in self.drafter.module.items():
            yield name, lambda e=edits: self.compile(edited(self.text, e))
        for name, edits in self.drafter.library.items():
            yield name, lambda e=edits: self.with_library(e)
        for name, edits in self.drafter.core.items():
            self.by_passes([])
            self.expect_right()
            yield name, lambda e=edits: self.by_passes(e)
        if self.drafter.name == "eagle3":
            yield "d2t ignored", lambda: self.compile(ranks_as_tokens(self.text))
            yield "d2t's offsets as tokens", lambda: self.compile(offsets_as_tokens(self.text))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("oracle", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    args = parser.parse_args()
    sys.path.append(str(args.oracle))
    count = 0
    for drafter in DRAFTERS:
        bench = Bench(args.oracle, args.folder, drafter)
        bench.compile(bench.text)
        bench.expect_right()
        for name, compile_it in bench.mistakes():
            bench.check(name, compile_it)
            count += 1
    print(f"{count} mistakes found out")


if __name__ == "__main__":
    main()
