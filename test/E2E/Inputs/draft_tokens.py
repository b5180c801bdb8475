#!/usr/bin/env python3
"""Checks that a reduced draft vocabulary bounds the drafts: draft_tokens.py ARTIFACT K COUNTS SIZE

The artifact was compiled with --draft-vocab=COUNTS,size=SIZE. Each draft of greedy and sampled runs
must be one of the SIZE most frequent tokens of COUNTS. Prints the number of different drafts.
"""

import json
import subprocess
import sys


def main():
    artifact, k, counts, size = sys.argv[1:]
    with open(counts, encoding="utf-8") as file:
        lines = [tuple(map(int, line.split())) for line in file]
    frequent = {token for token, _ in sorted(lines, key=lambda x: (-x[1], x[0]))[:int(size)]}
    seen = set()
    for temperature in ("0", "0.8"):
        done = subprocess.run(
            ["mtp-run", artifact, "--json", "--draft-rounds", "-k", k, "-n", "40", "--ids", "5,9,2",
             "--ids", "1", "--ignore-eos", "--seed", "3", "--temperature", temperature],
            stdout=subprocess.PIPE, check=True)
        for sequence in json.loads(done.stdout)["sequences"]:
            seen.update(t for r in sequence["draft_rounds"] for t in r["drafts"])
    assert seen <= frequent, sorted(seen - frequent)
    print(f"{len(seen)} different drafts, all frequent")


if __name__ == "__main__":
    main()
