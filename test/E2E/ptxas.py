#!/usr/bin/env python3
"""Compiles the simulated GPU's kernels for sm_90 too. ptxas makes a cubin of each kernel, without
spills and with at most half of a multiprocessor's registers per block. Only walks of trees may use
thread-local memory.

  ptxas.py --tools BIN --out DIR [--only NAME,..]

DIR is the folder of artifacts.py, whose modules are compiled; --only selects some. Without ptxas
the exit code is 77, or 1 if MTP_REQUIRE_CUDA is set.
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
    """Returns names, and the flags of artifacts.py without the target."""
    for row in ROWS:
        if "ptxas" in row.tests.split():
            flags = row.compiling.replace(BOTH, "").replace("INPUTS/", f"{INPUTS}/")
            yield row.name, flags.split()


def choose(only):
    """Returns the modules of these names, or all."""
    known = dict(modules())
    names = only.split(",") if only else list(known)
    for name in names:
        if name not in known:
            sys.exit(f"ptxas: error: --only: expected modules of {', '.join(known)}, "
                     f"got '{name}'")
    return [(name, known[name]) for name in names]


# Bodies that follow the paths of a tree. Vectors with computed indices are thread-local memory, 24
# bytes for each of at most 64 nodes. The same is true of a method's own bodies ("control"), and of
# bodies that give a drafter's rows their places. A slot has one thread, and with 64 rows a body may
# need a few more registers than exist.
WALKS = ("accept_path", "window_tree_rows", "control", "places")
# Bodies of the library that are fused with a round's body, under that body's name.
JOINED = {"suffix": ("window",), "lookup_tree": ("drafts",)}
MOST_STACK, MOST_SPILL = 24 * 64, 256


def is_wrong(name, kernel):
    if kernel["kernel"].startswith(WALKS + JOINED.get(name, ())):
        return (kernel["spill_bytes"] > MOST_SPILL or is_large(kernel)
                or kernel["stack_bytes"] > MOST_STACK)
    return is_faulty(kernel)


def check(args, name, flags):
    """Returns the number of kernels. Fails if a kernel exceeds its limits."""
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
