#!/usr/bin/env python3
"""Compares speculation depths on one artifact.

  demo_table.py MTP_RUN MODEL_BIN [--turns 7] [--threads 0]

Runs equal prompts at k = 0 to 4, greedy and sampled, in turns, so that a change of the machine's
speed affects all alike. Prints the medians: tokens/s, mean tokens per round (AL), the acceptance
rate of each draft, and the time of a round divided by that of a plain step (R). It also prints
whether the tokens equal those of k = 0 at the same temperature.
"""

import argparse
import json
import statistics
import subprocess
import sys

PROMPTS = [
    "Once upon a time there was a little girl who lived in",
    "The king looked at his three sons and said",
    "In the middle of the night the old sailor heard",
    "It was a cold winter morning, and the children",
]
TOKENS = 600
# Temperature and k.
POINTS = [(0, 0), (0, 1), (0, 2), (0, 3), (0, 4), (1, 0), (1, 2)]
SEED = 1


def generate(options, temperature, k, tokens=TOKENS):
    """Returns the numbers of all prompts, run one after the other."""
    command = [options.run, options.model, "-k", str(k), "--max-batch", "1",
               "--temperature", str(temperature), "--seed", str(SEED),
               "-n", str(tokens), "--threads", str(options.threads),
               "--ignore-eos", "--json"]
    for prompt in PROMPTS:
        command += ["--prompt", prompt]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        sys.exit(f"demo_table: error: {result.stderr.strip()}")
    return json.loads(result.stdout)


class Point:
    """Results at one temperature and k."""

    def __init__(self):
        self.speed, self.round_time, self.ids = [], [], []
        self.round_tokens = self.rounds = 0
        self.drafted, self.accepted = [], []

    def add(self, run):
        self.speed.append(run["decode"]["tokens"] / run["decode"]["seconds"])
        self.round_time.append(run["decode"]["seconds"] / run["rounds"])
        # Includes tokens that rounds emitted after the end: AL is a property of rounds.
        self.round_tokens, self.rounds = run["round_tokens"], run["rounds"]
        self.ids = [s["output_ids"] for s in run["sequences"]]
        self.drafted, self.accepted = run["drafted"], run["accepted"]

    def row(self, plain):
        ratio = statistics.median(
            [a / b for a, b in zip(self.speed, plain.speed)])
        inflation = statistics.median(
            [a / b for a, b in zip(self.round_time, plain.round_time)])
        accepted = "  ".join(f"{100 * a / d:.0f} %"
                             for a, d in zip(self.accepted, self.drafted))
        same = "yes" if self.ids == plain.ids else "NO"
        return (f"{statistics.median(self.speed):9.0f} {ratio:8.2f}x"
                f" {self.round_tokens / self.rounds:6.2f} {inflation:5.2f}"
                f"  {same:>11s}  {accepted}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("run")
    parser.add_argument("model")
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--threads", type=int, default=0)
    options = parser.parse_args()
    points = {point: Point() for point in POINTS}
    for turn in range(options.turns):
        for temperature, k in POINTS:
            if sys.stderr.isatty():
                print(f"\rturn {turn + 1} of {options.turns}, T = {temperature},"
                      f" k = {k} ", end="", file=sys.stderr, flush=True)
            points[temperature, k].add(generate(options, temperature, k))
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)
    print(f"{len(PROMPTS)} prompts, {TOKENS} tokens each, greedy (T = 0) and "
          f"sampled, median of {options.turns} turns")
    print(" T  k  tokens/s  over k=0    AL     R  same as k=0  "
          "accepted by position")
    for (temperature, k), point in points.items():
        print(f"{temperature:2d} {k:2d} {point.row(points[temperature, 0])}")
    if any(point.ids != points[temperature, 0].ids
           for (temperature, k), point in points.items()):
        sys.exit("demo_table: error: expected the same tokens at every k")


if __name__ == "__main__":
    main()
