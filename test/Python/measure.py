#!/usr/bin/env python3
"""Compares the decoding of generate() with mtp-run's, in pairs in alternation.

usage: measure.py ARTIFACT [--tools DIR] [--pairs N] [--tokens N] [--threads N]

Needs the package. Prints tokens/s of decoding as each side reports it, and for generate() the whole
call, too, without the prompt's time. The ratio is the median of the pairs.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import time

import mtpc

PROMPT = "Once upon a time"


def run_tool(arguments):
    command = [str(arguments.tools / "mtp-run"), arguments.artifact, "--prompt", PROMPT, "-n",
               str(arguments.tokens), "--temperature", "0", "--ignore-eos", "--json", "--threads",
               str(arguments.threads)]
    decode = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["decode"]
    return decode["tokens_per_second"]


def run_package(model, arguments):
    with model.session(threads=arguments.threads) as session:
        begin = time.perf_counter()
        done = session.generate(PROMPT, max_tokens=arguments.tokens, temperature=0,
                                ignore_eos=True)
        counts = session.statistics()
        whole = time.perf_counter() - begin - counts.prefill_seconds
    assert len(done.tokens) == arguments.tokens
    return counts.decode_tokens / counts.decode_seconds, counts.decode_tokens / whole


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("artifact")
    parser.add_argument("--tools", type=pathlib.Path, default="build/bin")
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--tokens", type=int, default=400)
    parser.add_argument("--threads", type=int, default=0)
    arguments = parser.parse_args()
    model = mtpc.Model(arguments.artifact)
    run_package(model, arguments), run_tool(arguments)
    ratios, wholes = [], []
    for pair in range(arguments.pairs):
        # The order changes from pair to pair.
        tool = run_tool(arguments) if pair % 2 else None
        decode, whole = run_package(model, arguments)
        tool = tool or run_tool(arguments)
        ratios.append(decode / tool)
        wholes.append(whole / tool)
        print(f"mtp-run {tool:8.1f}   generate {decode:8.1f}, whole call {whole:8.1f} tokens/s")
    print(f"decoding {statistics.median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f}), "
          f"whole call {statistics.median(wholes):.3f} of mtp-run")


if __name__ == "__main__":
    main()
