#!/usr/bin/env python3
"""Prints the time of a round over that of a plain step (R) for k = 0 to 4.

  round_times.py MTP_RUN MODEL_BIN [--turns 5] [--tokens 64] [--threads 0]

The depths take turns; the figures are medians. A depth pays where the tokens per
round (AL) exceed its R.
"""

import argparse
import json
import statistics
import subprocess
import sys


def seconds_per_round(options, k):
    command = [options.run, options.model, "--ids", "5,6,7,8,9,10,11,12",
               "-k", str(k), "-n", str(options.tokens), "--ignore-eos",
               "--threads", str(options.threads), "--print-ids", "--json"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        sys.exit(f"round_times: error: {result.stderr.strip()}")
    return json.loads(result.stdout)["decode"]["seconds_per_round"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("run")
    parser.add_argument("model")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--threads", type=int, default=0)
    options = parser.parse_args()
    times = {k: [] for k in range(5)}
    seconds_per_round(options, 0)  # the file's pages come into memory
    for _ in range(options.turns):
        for k, seen in times.items():
            seen.append(seconds_per_round(options, k))
    print(" k  ms per round     R")
    for k, seen in times.items():
        ratio = statistics.median(a / b for a, b in zip(seen, times[0]))
        print(f"{k:2d} {1000 * statistics.median(seen):13.2f} {ratio:5.2f}")


if __name__ == "__main__":
    main()
