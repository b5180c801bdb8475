#!/usr/bin/env python3
"""Imports a model with all possible parts of a drafter's round, and counts the rounds' lines.

  round_lines.py MODEL OWN

Runs in a folder with the drafters. OWN is a model with MTP modules of one layer each. No round may
have more than MOST lines.
"""

import subprocess
import sys

MOST = 60
RULES = ("exact", "rejection", "rejection:best", "block", "typical", "relaxed:3,0.25")
TREE_RULES = ("exact", "rejection", "typical", "relaxed:3,0.25")
BEFORE = ("--before=lookup:2,5", "--show-drafts")
CHAINS = (("eagle1", "-k=4"), ("eagle3", "-k=4"), ("draft-model", "-k=4"), ("medusa",),
          ("heads",), ("pard", "-k=4"), ("p-eagle", "-k=4"), ("dflash",), ("dspark",),
          ("dspark", "--confidence=0.5"), ("dspark-speculators", "--confidence=0.5"), ("suffix",),
          ("medusa16", "--no-weights"))
TREES = (("eagle1", "--draft-tree=choices.json"),
         ("eagle3", "--draft-tree=dynamic:8,10,60,sharp=2"),
         ("medusa", "--draft-tree=choices.json"), ("heads", "--draft-tree=two.json"))
OWN_TREES = ("choices.json", "dynamic:4,3,16,sharp=2")


def lines_of(model, *flags):
    done = subprocess.run(["mtp-import", model, "--max-context=64", *flags], check=True, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    lines = done.stdout.splitlines()
    begin = next(i for i, line in enumerate(lines) if line.startswith("  mtp.round "))
    return lines.index("  }", begin) + 1 - begin


def cases(model, own):
    for rule in RULES:
        yield own, ("-k=3", f"--accept={rule}", *BEFORE)
        for drafter, *flags in CHAINS:
            yield model, (f"--drafter={drafter}", *flags, f"--accept={rule}", *BEFORE)
        yield model, ("--drafter=lookup", f"--accept={rule}", "--show-drafts")
    for rule in TREE_RULES:
        for drafter, *flags in TREES:
            yield model, (f"--drafter={drafter}", *flags, f"--accept={rule}", *BEFORE)
        for tree in OWN_TREES:
            yield own, (f"--draft-tree={tree}", f"--accept={rule}", *BEFORE)
        yield model, ("--drafter=lookahead:4,4,4", f"--accept={rule}", "--show-drafts")


def main():
    counts = {case: lines_of(case[0], *case[1]) for case in cases(*sys.argv[1:])}
    long = {case: count for case, count in counts.items() if count > MOST}
    assert not long, long
    print(f"{len(counts)} rounds of at most {max(counts.values())} lines")


if __name__ == "__main__":
    main()
