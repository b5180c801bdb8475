#!/usr/bin/env python3
"""Compares predictions of `mtp-tune --simulate MACHINE --json` with the H100's measurements in
tools/gpu-check/MEASURED.md ("Steps and rounds", the lines "now"), and prints each.

  compare_predictions.py LLAMA_8B_JSON MIMO_7B_JSON
"""

import json
import sys

# By slots, one row each: microseconds of a step of Llama 8B in bf16.
STEPS = {1: 5407, 2: 5458, 4: 5556, 8: 5449, 16: 5816, 32: 7606}
# By k, one slot: microseconds of a round of MiMo-7B, and R.
ROUNDS = {0: (5123, 1), 1: (5823, 1.14), 2: (6489, 1.27), 3: (7149, 1.40), 4: (7602, 1.48)}
LIMIT = 0.07


def rounds_of(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)["rounds"]


def main():
    worst = 0.0

    def compare(what, predicted, measured):
        nonlocal worst
        error = predicted / measured - 1
        worst = max(worst, abs(error))
        print(f"{what}: predicted {predicted:.4g}, measured {measured:g}, {error:+.1%}")

    steps = {entry["batch"]: entry["seconds"] * 1e6 for entry in rounds_of(sys.argv[1])}
    for batch, measured in STEPS.items():
        compare(f"8B, {batch} rows, us", steps[batch], measured)
        compare(f"8B, {batch} rows over 1", steps[batch] / steps[1], measured / STEPS[1])
    rounds = {entry["k"]: entry for entry in rounds_of(sys.argv[2]) if entry["batch"] == 1}
    for k, (measured, r) in ROUNDS.items():
        compare(f"MiMo, k = {k}, us", rounds[k]["seconds"] * 1e6, measured)
        compare(f"MiMo, k = {k}, R", rounds[k]["r"], r)
    print(f"worst {worst:.1%}: {'within' if worst <= LIMIT else 'NOT within'} {LIMIT:.0%}")


if __name__ == "__main__":
    main()
