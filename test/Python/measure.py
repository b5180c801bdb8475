#!/usr/bin/env python3
"""Compares generate() with mtp-run, in turns.

usage: measure.py ARTIFACT [--tools DIR] [--seconds N] [--tokens N] [--threads N]

Needs the package. `own` is the session of Model.generate(), which lasts for all texts. `new` is a
session for each text, and `populated` such a session with populate_memory. Prints the medians of
tokens/s of decoding as each side reports it, and for generate() of the whole call, too. The whole
call has the prompt's encoding, the request, the text and the statistics, but not the prefill.
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
    return decode["tokens_per_second"], 0


def generate(session, arguments):
    before = session.statistics()
    begin = time.perf_counter()
    done = session.generate(PROMPT, max_tokens=arguments.tokens, temperature=0, ignore_eos=True)
    after = session.statistics()
    whole = time.perf_counter() - begin - (after.prefill_seconds - before.prefill_seconds)
    assert len(done.tokens) == arguments.tokens
    tokens = after.decode_tokens - before.decode_tokens
    return tokens / (after.decode_seconds - before.decode_seconds), tokens / whole


def in_a_new_session(model, arguments, **options):
    with model.session(threads=arguments.threads, **options) as session:
        return generate(session, arguments)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("artifact")
    parser.add_argument("--tools", type=pathlib.Path, default="build/bin")
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--tokens", type=int, default=400)
    parser.add_argument("--threads", type=int, default=0)
    arguments = parser.parse_args()
    model = mtpc.Model(arguments.artifact, threads=arguments.threads)
    ways = {
        "mtp-run": lambda: run_tool(arguments),
        "own": lambda: generate(model._for_texts(), arguments),
        "new": lambda: in_a_new_session(model, arguments),
        "populated": lambda: in_a_new_session(model, arguments, populate_memory=True),
    }
    rates = {name: [] for name in ways}
    for way in ways.values():
        way()
    end, turn = time.monotonic() + arguments.seconds, 0
    while time.monotonic() < end:
        # The order changes from turn to turn.
        for i in range(len(ways)):
            name = list(ways)[(i + turn) % len(ways)]
            rates[name].append(ways[name]())
        turn += 1
    tool = [decode for decode, _ in rates.pop("mtp-run")]
    print(f"mtp-run   {statistics.median(tool):8.1f} tokens/s, {turn} turns")
    for name, of in rates.items():
        decode = statistics.median(rate / base for (rate, _), base in zip(of, tool))
        whole = statistics.median(rate / base for (_, rate), base in zip(of, tool))
        print(f"{name:9} {statistics.median(rate for rate, _ in of):8.1f} tokens/s, decoding "
              f"{decode:.3f}, whole call {whole:.3f} of mtp-run")


if __name__ == "__main__":
    main()
