#!/usr/bin/env python3
"""Compares ways to draft on the bundled model, with the drafters that were trained for it.

  demo_methods.py --tools BIN --source ROOT --out DIR [--turns 3] [--tokens 120] [--ran SECONDS]

Imports and compiles the model once per way. Then runs equal prompts, greedily and at T = 0.8, in
turns. A row lists the nodes that a round verifies besides the anchor, the mean tokens per round
(AL), and the acceptance rate per depth. It also lists the time of a round divided by that of a
plain step (R), and tokens/s relative to plain decoding. The last column says whether the tokens
equal those of plain decoding; for a lossy rule, how many differ. At the end it prints how long
the runs took, including --ran seconds before it, without compilation.
"""

import argparse
import json
import pathlib
import shutil
import statistics
import subprocess
import sys
import time
import typing

from demo_table import PROMPTS, Point, generate

TEMPERATURES = (0, 0.8)
# The ranks of 16 drafts' tokens, level by level, in the format of medusa_choices.
TREE = [[0], [1], [2], [3], [0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [2, 0], [0, 0, 0],
        [0, 0, 1], [0, 1, 0], [1, 0, 0], [0, 0, 0, 0], [0, 0, 0, 1]]


class Way(typing.NamedTuple):
    name: str
    # A folder of models/drafters, a drafter without weights, or none: the model's own modules.
    drafter: typing.Optional[str] = None
    flags: tuple = ()
    k: int = 4
    # For a tree; a chain has one per draft.
    nodes: typing.Optional[int] = None
    is_exact: bool = True


STATIC = ("--draft-tree=tree.json",)
DYNAMIC = ("--draft-tree=dynamic:4,4,17",)
WAYS = (
    Way("plain", k=0),
    Way("MTP modules"),
    Way("MTP, static tree", flags=STATIC, nodes=16),
    Way("MTP, dynamic tree", flags=DYNAMIC, nodes=16),
    Way("EAGLE-1", "eagle1"),
    Way("EAGLE-1, static tree", "eagle1", STATIC, nodes=16),
    Way("EAGLE-2 with EAGLE-1's", "eagle1", DYNAMIC, nodes=16),
    Way("HASS", "hass"),
    Way("HASS, dynamic tree", "hass", DYNAMIC, nodes=16),
    Way("EAGLE-3", "eagle3"),
    Way("EAGLE-3, dynamic tree", "eagle3", DYNAMIC, nodes=16),
    Way("Medusa", "medusa"),
    Way("Medusa, static tree", "medusa", STATIC, nodes=16),
    Way("DFlash", "dflash", k=6),
    Way("DSpark", "dspark", k=6),
    Way("DSpark, confidence 0.3", "dspark", ("--confidence=0.3",), k=6),
    Way("independent heads", "heads", k=3),
    Way("draft model", "draft-model"),
    Way("PARD", "pard", k=6),
    Way("lookup", "lookup:2,5"),
    Way("suffix", "suffix"),
    Way("lookahead", "lookahead:4,4,4", k=5, nodes=23),
    Way("lookup before MTP", flags=("--before=lookup:3,5",)),
    # The draws differ from those of plain decoding but follow the same distribution.
    Way("MTP, rejection", flags=("--accept=rejection",), is_exact=False),
    Way("MTP, typical (lossy)", flags=("--accept=typical",), is_exact=False),
)


def call(folder, *command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True,
                          cwd=folder, check=False)
    if done.returncode != 0:
        sys.exit(f"demo_methods: error: {' '.join(map(str, command))}\n"
                 f"{done.stderr.strip()}")


def build(options, way, number):
    """Returns the artifact of a way, which is made once."""
    artifact = options.out / f"way{number}.bin"
    module = artifact.with_suffix(".mlir")
    folders = options.out / "drafters"
    drafter = way.drafter
    if drafter and (folders / drafter).is_dir():
        drafter = folders / drafter
    flags = [f"--drafter={drafter}"] if drafter else []
    # A tree determines its depth itself.
    if way.nodes is None and way.k:
        flags.append(f"-k={way.k}")
    call(options.out, options.tools / "mtp-import", options.out / "hf", "-o", module,
         "--max-batch=1", "--max-context=512", *flags, *way.flags)
    call(options.out, options.tools / "mtpc", module, "-o", artifact)
    return artifact


def row(way, point, plain):
    over = statistics.median(a / b for a, b in zip(point.speed, plain.speed))
    slower = statistics.median(a / b for a, b in zip(point.round_time, plain.round_time))
    accepted = " ".join(f"{100 * a / d:.0f}" if d else "-"
                        for a, d in zip(point.accepted, point.drafted))
    differ = sum(a != b for ids, others in zip(point.ids, plain.ids)
                 for a, b in zip(ids, others))
    total = sum(len(ids) for ids in plain.ids)
    same = "yes" if differ == 0 else f"{differ} of {total} differ"
    nodes = way.k if way.nodes is None else way.nodes
    return (f"{way.name:23s} {nodes:5d} {point.round_tokens / point.rounds:5.2f} {slower:5.2f}"
            f" {over:5.2f}x  {same:17s} {accepted}")


def main():
    parser = argparse.ArgumentParser()
    for name in ("--tools", "--source", "--out"):
        parser.add_argument(name, type=pathlib.Path, required=True)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--tokens", type=int, default=120)
    parser.add_argument("--ran", type=float, default=0)
    options = parser.parse_args()
    options.tools, options.out = options.tools.resolve(), options.out.resolve()
    # Weights lie beside the module that names them.
    for source, name in (("models/bundled/hf", "hf"), ("models/drafters", "drafters")):
        shutil.copytree(options.source / source, options.out / name, dirs_exist_ok=True)
    (options.out / "tree.json").write_text(json.dumps(TREE))
    artifacts = [build(options, way, number) for number, way in enumerate(WAYS)]
    began = time.monotonic()
    points = {(t, way): Point() for t in TEMPERATURES for way in WAYS}
    for _ in range(options.turns):
        for temperature, way in points:
            run = argparse.Namespace(run=options.tools / "mtp-run", threads=0,
                                     model=artifacts[WAYS.index(way)])
            points[temperature, way].add(generate(run, temperature, way.k, options.tokens))
    print(f"{len(PROMPTS)} prompts, {options.tokens} tokens each, median of {options.turns} turns")
    wrong = []
    for temperature in TEMPERATURES:
        plain = points[temperature, WAYS[0]]
        print(f"\nT = {temperature:<19} nodes    AL     R   over  same as plain     "
              "accepted by depth, %")
        for way in WAYS:
            print(row(way, points[temperature, way], plain))
            if way.is_exact and points[temperature, way].ids != plain.ids:
                wrong.append(way.name)
    seconds = options.ran + time.monotonic() - began
    print(f"\nall runs, without what compiles: {seconds:.0f} s")
    if wrong:
        sys.exit(f"demo_methods: error: expected the tokens of plain decoding of {wrong}")


if __name__ == "__main__":
    main()
