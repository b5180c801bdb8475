#!/usr/bin/env python3
"""Builds a copy of the tree with one bug at a time in its sources and checks that each
bug is caught. It takes minutes; `tools/check --long` runs it.

  check_sources.py WORK [MUTANT]...

All builds share the kernel cache WORK/kernels. A kernel that a bug changes must not be
found there.
"""
import os, shutil, subprocess, sys, time

from check_wirings import ORACLE, choose, compile_model
from checks import Caught, Oracle, check, check_lossless, run
from formats import FORMATS, TESTS, judge_formats
from sources import SOURCES

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
# One model with half of its drafts accepted, one of random weights, whose drafts show the smallest
# difference, and one with recurrent layers.
MODELS = ["dsv3-chain-mtp2", "dsv3-yarn-mtp2", "qwen35-mtp1"]
TARGETS = ["mtpc", "mtp-run", "mtp-import", "print_logits", "print_rounds"]
MUTANTS = {**SOURCES, **FORMATS}


def copy_tree(tree):
    """Copies changed files only, so that a second run builds little."""
    names = subprocess.run(["git", "-C", ROOT, "ls-files"], capture_output=True, text=True,
                           check=True).stdout.splitlines()
    for name in names:
        source, target = os.path.join(ROOT, name), os.path.join(tree, name)
        if name.startswith("models/") or not os.path.isfile(source):
            continue
        with open(source, "rb") as f:
            data = f.read()
        if os.path.exists(target) and open(target, "rb").read() == data:
            continue
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copy(source, target)


def build(tree, targets=TARGETS):
    environment = dict(os.environ, MTP_BUILD_DIR=tree + "/build")
    ran = subprocess.run([tree + "/tools/build", "-j2", *targets], env=environment,
                         capture_output=True, text=True)
    if ran.returncode:
        sys.exit(f"expected the tree to build, got\n{ran.stdout[-2000:]}{ran.stderr[-2000:]}")


def edit(tree, mutant):
    """Inserts the bug; returns how to remove it."""
    name, old, new = MUTANTS[mutant]
    path = os.path.join(tree, name)
    with open(path) as f:
        text = f.read()
    if text.count(old) != 1:
        sys.exit(f"{mutant}: expected '{old}' once in {name}, got it {text.count(old)} times")
    with open(path, "w") as f:
        f.write(text.replace(old, new))

    def restore():
        with open(path, "w") as f:
            f.write(text)
    return restore


class Case:
    """A model, its oracle, and its rounds with the correct sources."""

    def __init__(self, tools, work, name):
        self.tools, self.work, self.right = tools, work, None
        folder = f"{work}/{name}"
        subprocess.run([sys.executable, ORACLE + "/tiny.py", name, "-o", folder], check=True)
        run(tools + "/mtp-import", folder, "-o", folder + ".mlir", "--k=3", "--max-context=128")
        with open(folder + ".mlir") as f:
            self.text = f.read()
        self.oracle = Oracle(f"{ORACLE}/expected/{name}.f32.json")

    def rounds(self):
        artifact = compile_model(self.tools, self.work, "model", self.text)
        return check(self.tools, artifact, self.oracle, self.right)


class Hybrid:
    """A model with recurrent layers, whose state goes from round to round."""

    def __init__(self, tools, work):
        self.tools, self.work, self.right = tools, work, None
        inputs = f"{ROOT}/test/E2E/Inputs"
        subprocess.run([sys.executable, inputs + "/hybrid.py", work + "/hybrid.safetensors"],
                       check=True)
        shutil.copy(inputs + "/hybrid.mlir", work)

    def rounds(self):
        artifact = self.work + "/hybrid.bin"
        run(self.tools + "/mtpc", self.work + "/hybrid.mlir", "-o", artifact)
        check_lossless(self.tools, artifact, vocabulary=96)


def judge(cases, mutant, tree):
    if mutant in FORMATS:
        build(tree, list(TESTS))
        return judge_formats(tree + "/build/bin")
    build(tree)
    for case in cases:
        try:
            case.rounds()
        except Caught as caught:
            return str(caught)
    return None


def main():
    work = os.path.abspath(sys.argv[1])
    chosen = choose(sys.argv[2:], MUTANTS)
    tree = work + "/tree"
    os.makedirs(tree, exist_ok=True)
    os.environ["MTPC_KERNEL_CACHE"] = work + "/kernels"
    copy_tree(tree)
    build(tree)
    cases = [Case(tree + "/build/bin", work, name) for name in MODELS]
    cases.append(Hybrid(tree + "/build/bin", work))
    for case in cases:
        case.right = case.rounds()
    if any(mutant in FORMATS for mutant in chosen):
        build(tree, list(TESTS))
        if failed := judge_formats(tree + "/build/bin"):
            sys.exit(f"expected the tests of formats to pass, got failures of {failed}")
    missed, start = 0, time.time()
    for mutant in chosen:
        restore = edit(tree, mutant)
        try:
            by = judge(cases, mutant, tree)
        finally:
            restore()
        missed += by is None
        print(f"{mutant:56} {by or 'NOT CAUGHT'}", flush=True)
    print(f"{len(chosen) - missed} of {len(chosen)} caught, {time.time() - start:.0f} s")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
