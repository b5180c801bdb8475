#!/usr/bin/env python3
"""Compares two artifacts of one model in alternating runs of mtp-bench.

usage: pairs.py [--pairs N] [--bench PROGRAM] NEW OLD [-- FLAGS OF MTP-BENCH...]

Each pair runs NEW and OLD once, the first of them in turn. For each shape (a
batch, a k, a prompt) it prints the geometric mean of the ratios of NEW's time
to OLD's and its 95 % interval by Student's t over the logarithms. A verdict
follows: "slower" if the interval lies above 1, "faster" if it lies below.
Exits with 1 if a shape is slower.
"""

import argparse
import json
import math
import statistics
import subprocess
import sys

# Two-sided 95 % quantiles of Student's t by degrees of freedom.
T_QUANTILES = {4: 2.776, 9: 2.262, 14: 2.145, 19: 2.093, 29: 2.045}


def quantile(freedom):
    """The tabled quantile for at most `freedom` degrees: the wider interval."""
    return T_QUANTILES[max((d for d in T_QUANTILES if d <= freedom), default=4)]


def times(bench, artifact, flags):
    """Seconds by shape: passes of the target, then prompts."""
    done = subprocess.run(
        [bench, artifact, "--json", "--no-progress", *flags],
        check=True, capture_output=True, text=True)
    report = json.loads(done.stdout)
    found = {f"{point['batch']} slots, k = {point['k']}, {point['rows']} rows":
             point["target_seconds"] for point in report["points"]}
    for prompt in report["prefill"]:
        if not prompt["drafter"]:
            found[f"prompt of {prompt['tokens']} tokens"] = prompt["seconds"]
    return found


def interval(ratios):
    """The geometric mean and its 95 % interval."""
    logs = [math.log(ratio) for ratio in ratios]
    mean = statistics.mean(logs)
    half = (quantile(len(logs) - 1) * statistics.stdev(logs)
            / math.sqrt(len(logs)))
    return math.exp(mean), math.exp(mean - half), math.exp(mean + half)


def verdict(low, high):
    if low > 1:
        return "slower"
    return "faster" if high < 1 else ""


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--bench", default="mtp-bench")
    parser.add_argument("new")
    parser.add_argument("old")
    parser.add_argument("flags", nargs="*")
    args = parser.parse_args()
    if args.pairs < 5:
        parser.error(f"expected at least 5 with --pairs, got {args.pairs}")
    ratios = {}
    for pair in range(args.pairs):
        order = [args.new, args.old] if pair % 2 == 0 else [args.old, args.new]
        runs = {artifact: times(args.bench, artifact, args.flags)
                for artifact in order}
        for shape, seconds in runs[args.new].items():
            ratios.setdefault(shape, []).append(seconds / runs[args.old][shape])
    is_slower = False
    print(f"{args.pairs} pairs: time of {args.new} over {args.old}")
    for shape, found in ratios.items():
        mean, low, high = interval(found)
        is_slower |= low > 1
        print(f"{shape:32} {mean:.3f}  [{low:.3f}, {high:.3f}]  "
              f"{verdict(low, high)}".rstrip())
    return 1 if is_slower else 0


if __name__ == "__main__":
    sys.exit(main())
