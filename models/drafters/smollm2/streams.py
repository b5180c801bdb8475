#!/usr/bin/env python3
"""Compares automatic k with fixed k for streams that run together, on the held-out prompts.

  streams.py PROMPTS ARTIFACT --profile FILE [--streams 1,2,4,16] [--tokens 300,900] [--turns 15]

For each number of streams and tokens, the first `--choose` turns run every fixed k and choose
the best. Other turns, with other prompts, run `-k auto` with the profile, no drafts, the best fixed
k and the artifact's default. The runs of a turn follow each other, in alternating order, each in a
process of its own. The table has the ratio of automatic k to the others, in tokens per second of
decoding: the geometric mean of the turns with a 95 % interval. Prompts take turns by category.
"""

import argparse
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile

import prompts

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "..", "tools", "mtp-bench"))
from pairs import interval  # noqa: E402


def by_turns(folder, longest):
    """Returns held-out prompts of at most `longest` characters, the categories in turn."""
    of = {}
    for category, text in prompts.published(folder)[1]:
        if len(text) <= longest:
            of.setdefault(category, []).append(text)
    rows = itertools.zip_longest(*of.values())
    return [text for row in rows for text in row if text is not None]


def rate(a, files, tokens, k):
    """Returns tokens per second of decoding; `k` is the text of -k, or None for the default."""
    command = [a.run, a.artifact, "--special", "--ignore-eos", "--temperature", "0", "--json"]
    command += ["-n", str(tokens), "--max-batch", str(len(files)), "--threads", str(a.threads)]
    command += [flag for file in files for flag in ("--prompt-file", file)]
    if k is not None:
        command += ["-k", k]
    if k == "auto":
        command += ["--profile", a.profile]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)["decode"]["tokens_per_second"]


def turn(a, number, texts, streams, tokens, kinds):
    """Runs each kind once. Returns the rates by kind."""
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for i in range(streams):
            files.append(os.path.join(folder, str(i)))
            with open(files[-1], "w", encoding="utf-8") as f:
                f.write(prompts.chat(texts[(number * streams + i) % len(texts)]))
        order = kinds if number % 2 == 0 else kinds[::-1]
        found = {k: rate(a, files, tokens, k) for k in order}
    print(streams, tokens, number, found, file=sys.stderr, flush=True)
    return found


def cell(a, texts, streams, tokens):
    """Measures a number of streams and tokens. Returns a row of the table."""
    fixed = [str(k) for k in range(a.most + 1)]
    first, texts = texts[: a.choose * streams], texts[a.choose * streams :]
    turns = [turn(a, i, first, streams, tokens, fixed) for i in range(a.choose)]
    best = max(fixed, key=lambda k: statistics.geometric_mean(t[k] for t in turns))
    kinds = list(dict.fromkeys(["auto", "0", best, None]))
    turns = [turn(a, i, texts, streams, tokens, kinds) for i in range(a.turns)]
    columns = []
    for other in ("0", best, None):
        mean, low, high = interval([t["auto"] / t[other] for t in turns])
        columns.append(f"{mean:.3f} ({low:.3f} to {high:.3f})")
    columns[1] += f" of k = {best}"
    return f"| {streams} | {tokens} | {len(turns)} | " + " | ".join(columns) + " |"


def numbers(text):
    return [int(n) for n in text.split(",")]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("prompts", help="folder with Spec-Bench's and HumanEval's questions")
    parser.add_argument("artifact")
    parser.add_argument("--profile", required=True)
    parser.add_argument("--run", default="mtp-run")
    parser.add_argument("--streams", type=numbers, default=[1, 2, 4, 16])
    parser.add_argument("--tokens", type=numbers, default=[300, 900])
    parser.add_argument("--turns", type=int, default=15)
    parser.add_argument("--choose", type=int, default=3)
    parser.add_argument("--most", type=int, default=4, help="the largest fixed k")
    parser.add_argument("--longest", type=int, default=2400, help="characters of a prompt")
    parser.add_argument("--threads", type=int, default=2)
    a = parser.parse_args()
    if a.turns < 5 or a.choose < 1:
        parser.error("expected at least 5 with --turns and 1 with --choose")
    texts = by_turns(a.prompts, a.longest)
    if len(texts) < (a.choose + 1) * max(a.streams):
        parser.error(f"expected more than {a.choose} turns of prompts, got {len(texts)} prompts")
    print("| streams | tokens | turns | over k = 0 | over the best fixed k | over the default |")
    print("|---|---|---|---|---|---|")
    for streams, tokens in itertools.product(a.streams, a.tokens):
        print(cell(a, texts, streams, tokens), flush=True)


if __name__ == "__main__":
    main()
