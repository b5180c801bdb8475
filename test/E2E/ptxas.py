#!/usr/bin/env python3
"""Compiles what the simulated GPU runs for sm_90 as well: ptxas makes a cubin of every
kernel, without spills, in half of a processor, and but for the walks of trees without memory
of a thread's own.

  ptxas.py --tools BIN --out DIR [--only NAME,..]

DIR is that of artifacts.py, whose modules are compiled, or those of these names. Without
ptxas there is nothing to do: exit code 77, or 1 where MTP_REQUIRE_CUDA is set.
"""

import argparse
import concurrent.futures
import functools
import json
import os
import pathlib
import subprocess
import sys

from artifact_table import BOTH, ROWS
from artifacts import INPUTS

sys.path.append(str(pathlib.Path(__file__).parent.parent / "Target" / "Inputs"))
from spills import is_faulty, is_large  # noqa: E402


def modules():
    """Names, and what artifacts.py compiles them with but for the target."""
    for row in ROWS:
        if "ptxas" in row.tests.split():
            flags = row.compiling.replace(BOTH, "").replace("INPUTS/", f"{INPUTS}/")
            yield row.name, flags.split()


def choose(only):
    """The modules of these names, or all."""
    known = dict(modules())
    names = only.split(",") if only else list(known)
    for name in names:
        if name not in known:
            sys.exit(f"ptxas: error: --only: expected modules of {', '.join(known)}, "
                     f"got '{name}'")
    return [(name, known[name]) for name in names]


# Bodies that go along the paths of a tree whose numbers are a slot's: vectors that are indexed by
# what is computed are memory of a thread's own, 24 bytes for each of at most 64 nodes. So are those
# of bodies that a method writes itself ("control"), and of those that give a drafter's rows their
# places. A slot has one thread, and of 64 rows a body may want a few registers more than it has.
WALKS = ("accept_path", "window_tree_rows", "control", "places")
# Joined with a body of the round, those of the library have its name.
JOINED = {"suffix": ("window",), "lookup_tree": ("drafts",)}
MOST_STACK, MOST_SPILL = 24 * 64, 256


def is_wrong(name, kernel):
    if kernel["kernel"].startswith(WALKS + JOINED.get(name, ())):
        return (kernel["spill_bytes"] > MOST_SPILL or is_large(kernel)
                or kernel["stack_bytes"] > MOST_STACK)
    return is_faulty(kernel)


def check(args, name, flags):
    """The number of kernels; an error where one needs more than it may."""
    command = [args.tools / "mtpc", args.out / f"{name}.mlir", "--target=cuda",
               "--compile-to=codegen", "--plan-report=json", "-o", os.devnull, *flags]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise RuntimeError(f"{name}: mtpc failed")
    kernels = json.loads(done.stdout)["gpu_kernels"]
    if not kernels:
        raise RuntimeError(f"{name}: expected kernels, got none")
    for kernel in filter(functools.partial(is_wrong, name), kernels):
        raise RuntimeError(f"{name}: expected no spills, no stack and half of a processor, "
                           f"got {kernel}")
    return len(kernels)


def main():
    parser = argparse.ArgumentParser()
    for name in ("--tools", "--out"):
        parser.add_argument(name, type=pathlib.Path, required=True)
    parser.add_argument("--only", help="modules, by their names in artifact_table.py")
    args = parser.parse_args()
    chosen = choose(args.only)
    ptxas = pathlib.Path(os.environ.get("CUDA_HOME", "/usr/local/cuda")) / "bin/ptxas"
    if not ptxas.exists():
        print(f"no ptxas under {ptxas}")
        return 1 if os.environ.get("MTP_REQUIRE_CUDA") else 77
    total = failures = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for done in [pool.submit(check, args, *module) for module in chosen]:
            try:
                total += done.result()
            except RuntimeError as error:
                print(f"ptxas: error: {error}", file=sys.stderr)
                failures += 1
    print(f"{total} kernels")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
