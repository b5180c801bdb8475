#!/usr/bin/env python3
"""Measures tokens per round (AL) and tokens/s of artifacts on the held-out prompts.

  measure.py length PROMPTS NAME=ARTIFACT[:K].. [--each 5] [--temperatures 0,0.7]
  measure.py speed PROMPTS NAME=ARTIFACT[:K].. [--turns 5] [--llama PROGRAM]

`length` prints a table: one row for each artifact, K and temperature, one column for each category.
Without K an artifact is measured for k = 1 to 6. `speed` runs the artifacts in turns, one stream,
and prints tokens/s relative to the first one, as the geometric mean of turns with a 95 % interval.
Chat is MT-bench: eight categories with equal numbers of prompts. In `speed`, NAME=llama:TYPE:FILE
is llama.cpp's program --llama with --spec-type TYPE and the GGUF file FILE.
"""

import argparse
import math
import random
import re
import statistics
import subprocess

import prompts
from product import Session


def held_out(folder, each):
    """Returns texts by category, `each` of a category; MT-bench's categories are "chat"."""
    of, count = {}, {}
    for category, text in prompts.published(folder)[1]:
        if count.setdefault(category, 0) < each:
            count[category] += 1
            of.setdefault("chat" if category in prompts.CHAT else category, []).append(text)
    return of


def parse(spec):
    """Returns (name, path, list of k) of NAME=ARTIFACT[:K]."""
    name, path = spec.split("=", 1)
    path, _, k = path.partition(":")
    return name, path, [int(k)] if k else [1, 2, 3, 4, 5, 6]


def run(session, texts, a, temperature):
    """Runs all texts. Returns rounds, tokens of rounds, seconds and output tokens, as differences
    of the session's counts."""
    before = session.statistics()
    for i, text in enumerate(texts):
        ids = session.encode(prompts.chat(text))[-a.longest :]
        session.add(ids, a.tokens, temperature, 1.0, 1000 + i)
    session.run()
    after = session.statistics()
    names = ("slot_rounds", "round_tokens", "decode_seconds", "decode_tokens")
    return [getattr(after, n) - getattr(before, n) for n in names]


def length(of, a):
    print("| drafter | k | T | " + " | ".join(of) + " | all |")
    print("|" + "---|" * (len(of) + 4))
    for name, path, ks in map(parse, a.artifacts):
        for k in ks:
            session = Session(path, a.threads, 0, k)
            for t in a.temperatures:
                counts = [run(session, texts, a, t) for texts in of.values()]
                al = [c[1] / max(1, c[0]) for c in counts]
                al.append(sum(c[1] for c in counts) / max(1, sum(c[0] for c in counts)))
                cells = [name, str(k), f"{t:g}", *(f"{x:.2f}" for x in al)]
                print("| " + " | ".join(cells) + " |", flush=True)
            session.close()


class Product:
    """tokens/s of an artifact."""

    def __init__(self, path, k, a):
        self.session, self.a = Session(path, a.threads, 1, k), a

    def rate(self, texts, temperature):
        _, _, seconds, tokens = run(self.session, texts, self.a, temperature)
        return tokens / seconds


class Llama:
    """tokens/s of llama.cpp's llama-speculative-simple, which drafts from the text before."""

    def __init__(self, kind, file, a):
        self.command = [a.llama, "-m", file, "--spec-type", kind, "-t", str(a.threads)]
        self.command += ["-n", str(a.tokens), "-c", "2048", "-s", "1"]

    def rate(self, texts, temperature):
        seconds = tokens = 0
        for text in texts:
            given = ["--temp", str(temperature), "-p", prompts.chat(text)]
            made = subprocess.run(self.command + given, capture_output=True, text=True, check=True)
            found = re.search(r"decoded +(\d+) tokens in +([\d.]+) seconds", made.stderr)
            tokens, seconds = tokens + int(found.group(1)), seconds + float(found.group(2))
        return tokens / seconds


def runner(spec, a):
    """Returns (name, Product or Llama) of NAME=ARTIFACT:K or NAME=llama:TYPE:FILE."""
    name, path, ks = parse(spec) if "=llama:" not in spec else (spec.split("=")[0], spec, None)
    if ks:
        return name, Product(path, ks[0], a)
    _, kind, file = path.split(":", 2)
    return name, Llama(kind, file, a)


def speed(of, a):
    texts = of["chat"]
    sessions = [runner(spec, a) for spec in a.artifacts]
    if len(dict(sessions)) < len(sessions):
        raise SystemExit("measure.py: error: expected a name of its own for each artifact")
    rng = random.Random(1)
    for t in a.temperatures:
        rates = {name: [] for name, _ in sessions}
        for _ in range(a.turns):
            for name, session in rng.sample(sessions, len(sessions)):
                rates[name].append(session.rate(texts, t))
        first = rates[sessions[0][0]]
        for name, values in rates.items():
            logs = [math.log(x / y) for x, y in zip(values, first)]
            wide = 1.96 * statistics.stdev(logs) / math.sqrt(len(logs)) if len(logs) > 1 else 0
            mean, middle = statistics.mean(logs), statistics.median(values)
            low, high = math.exp(mean - wide), math.exp(mean + wide)
            over = f"{math.exp(mean):.2f} ({low:.2f} to {high:.2f})"
            print(f"| {name} | {t:g} | {middle:.1f} | {over} |", flush=True)


def main():
    ap = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    ap.add_argument("what", choices=("length", "speed"))
    ap.add_argument("prompts")
    ap.add_argument("artifacts", nargs="+")
    ap.add_argument("--each", type=int, default=5, help="prompts of a category")
    ap.add_argument("--tokens", type=int, default=128, help="most tokens of an answer")
    ap.add_argument("--longest", type=int, default=900, help="most tokens of a prompt, its end")
    ap.add_argument("--temperatures", default="0,0.7")
    ap.add_argument("--threads", type=int, default=1)
    ap.add_argument("--turns", type=int, default=5)
    ap.add_argument("--llama", help="llama.cpp's program llama-speculative-simple")
    a = ap.parse_args()
    a.temperatures = [float(t) for t in a.temperatures.split(",")]
    of = held_out(a.prompts, a.each)
    (length if a.what == "length" else speed)(of, a)


if __name__ == "__main__":
    main()
