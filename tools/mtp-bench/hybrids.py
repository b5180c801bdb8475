#!/usr/bin/env python3
"""Measures the cost of recurrent layers:

  hybrids.py --tools BIN --source ROOT --out DIR [--hybrid qwen35] [--dense mimo]
             [--context 512] [--threads 2] [--turns 5] [--json FILE]

Builds a hybrid and a dense model of equal size (models/shapes.py) in int4 with random weights and
measures them in turns. Measured are the target's pass over four rows relative to one row, and the
share of the recurrence in a plain step. A copy of a slot's states is measured relative to the
chunk before it. The results are medians over turns, of ratios within one turn. Prints each with
its limit, and exits with 1 if one exceeds it.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys

# Kernels of the recurrence itself, without a counterpart in a dense layer.
RECURRENCE = ("delta_rule", "causal_conv", "decay", "l2_norm")
K = 3


def call(*command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))}\n{done.stderr.strip()}")
    return done.stdout


def build(options, shape):
    """Returns the artifact of a shape, which is kept for later runs."""
    folder = options.out / shape
    artifact = folder / "int4.bin"
    if artifact.exists():
        return artifact
    if not (folder / "config.json").exists():
        call(sys.executable, options.source / "models/shapes.py", shape, folder)
    call(options.tools / "mtp-import", "--no-weights", folder, "-o", folder / "model.mlir",
         f"-k={K}", "--max-batch=1", f"--max-context={options.context + 512}")
    made = folder / "made.bin"
    call(options.tools / "mtpc", folder / "model.mlir", "-o", made, "--random-weights",
         "--quantize=int4,symmetric")
    made.rename(artifact)
    return artifact


def measure(options, artifact):
    """Runs one turn."""
    return json.loads(call(
        options.tools / "mtp-bench", artifact, "--measure=speculative,prefill",
        f"--context={options.context}", f"--k=0,{K}", f"--prefill={options.chunk}",
        f"--threads={options.threads}", "--turns=3", "--estimate=fastest", "--pin", "--no-mmap",
        "--json"))


def point(result, k):
    return next(p for p in result["points"] if p["k"] == k)


def verify_ratio(result):
    return point(result, K)["target_seconds"] / point(result, 0)["target_seconds"]


def recurrence(result):
    """Returns the share of the recurrence in a plain step, by kernels. A fused kernel has several
    names.
    """
    kernels = point(result, 0)["kernels"]
    own = sum(k["seconds"] for k in kernels
              if any(name in k["name"] for name in RECURRENCE))
    return own / sum(k["seconds"] for k in kernels)


def store(result):
    chunk = next(p for p in result["prefill"] if not p["drafter"])
    return result["snapshot"]["seconds"] / chunk["seconds"]


def main():
    parser = argparse.ArgumentParser()
    for name in ("--tools", "--source", "--out"):
        parser.add_argument(name, type=pathlib.Path, required=True)
    parser.add_argument("--hybrid", default="qwen35")
    parser.add_argument("--dense", default="mimo")
    parser.add_argument("--json", type=pathlib.Path)
    for name, default in (("context", 512), ("chunk", 128), ("threads", 2), ("turns", 5)):
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args()
    options.out = options.out.resolve()
    options.out.mkdir(parents=True, exist_ok=True)
    artifacts = [build(options, shape) for shape in (options.hybrid, options.dense)]
    turns = []
    for turn in range(options.turns):
        turns.append([measure(options, artifact) for artifact in artifacts])
        hybrid, dense = turns[-1]
        print(f"turn {turn + 1}: {K + 1} rows over 1: {verify_ratio(hybrid):.3f}, dense "
              f"{verify_ratio(dense):.3f}; recurrence {recurrence(hybrid):.3f}; copy "
              f"{store(hybrid):.4f}", file=sys.stderr, flush=True)
    if options.json:
        options.json.write_text(json.dumps(turns))

    def middle(of):
        return statistics.median(of(*turn) for turn in turns)
    lines = (
        (f"{K + 1} rows over 1, more than dense", 0.10,
         middle(lambda hybrid, dense: verify_ratio(hybrid) - verify_ratio(dense))),
        ("recurrence of a plain step", 0.10, middle(lambda hybrid, dense: recurrence(hybrid))),
        (f"a copy over its chunk of {options.chunk} tokens", 0.02,
         middle(lambda hybrid, dense: store(hybrid))))
    print(f"{options.hybrid} against {options.dense}, int4, context {options.context}, "
          f"{options.threads} threads, {turns[0][0]['machine']['processor']}")
    print(f"{K + 1} rows over 1: {middle(lambda h, d: verify_ratio(h)):.3f}, dense "
          f"{middle(lambda h, d: verify_ratio(d)):.3f}; a plain step "
          f"{middle(lambda h, d: point(h, 0)['seconds']) * 1e3:.2f} ms, dense "
          f"{middle(lambda h, d: point(d, 0)['seconds']) * 1e3:.2f} ms; a copy "
          f"{turns[0][0]['snapshot']['bytes'] / 1e6:.1f} MB")
    for name, limit, value in lines:
        print(f"{name}: {value:.4f} (at most {limit:.2f}{'' if value <= limit else ', NOT KEPT'})")
    return 0 if all(value <= limit for _, limit, value in lines) else 1


if __name__ == "__main__":
    sys.exit(main())
