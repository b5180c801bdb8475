#!/usr/bin/env python3
"""Measures how often drafts are accepted on held-out prompts, greedy and sampled.

  acceptance.py MTP_RUN MODEL_BIN CORPUS.txt.xz [--k 2] [--prompts 24] [--tokens 200]
      [--temperature 0 0.5 1] [--top-p 1]

The prompts are beginnings of sentences in books that prepare.py keeps out of training. All
temperatures use the same prompts, and each prompt has its own seed. Prints the mean tokens per
round (AL) and the share of drafts accepted at each position.
"""
import argparse, json, os, random, subprocess, sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from prepare import held_out, read_books


def prompts(corpus, count):
    cleaned = read_books(corpus)
    books = [cleaned[i] for i in held_out(cleaned)]
    rnd, texts = random.Random(5), []
    for i in range(count):
        text = books[i % len(books)]
        start = rnd.randrange(len(text) // 5, len(text) - 4000)
        start = text.index(". ", start) + 2
        end = text.rindex(" ", start, start + 160)     # about 48 tokens, whole words
        texts.append(text[start:end])
    return texts


def run(a, text, seed, temperature):
    command = [a.run, a.model, "--prompt", text, "-k", str(a.k), "-n", str(a.tokens),
               "--temperature", str(temperature), "--top-p", str(a.top_p),
               "--seed", str(seed), "--ignore-eos", "--json"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"acceptance: error: {done.stderr.strip()}")
    return json.loads(done.stdout)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("run")
    ap.add_argument("model")
    ap.add_argument("corpus")
    ap.add_argument("--k", type=int, default=2)
    ap.add_argument("--prompts", type=int, default=24)
    ap.add_argument("--tokens", type=int, default=200)
    ap.add_argument("--temperature", type=float, nargs="+", default=[0, 0.5, 1])
    ap.add_argument("--top-p", type=float, default=1)
    a = ap.parse_args()
    texts = prompts(a.corpus, a.prompts)
    print(f"{a.prompts} prompts, {a.tokens} tokens each, k = {a.k}, top-p {a.top_p:g}")
    print(" temperature    AL  accepted by position")
    for temperature in a.temperature:
        drafted, accepted = [0] * a.k, [0] * a.k
        for seed, text in enumerate(texts):
            result = run(a, text, seed, temperature)
            drafted = [x + y for x, y in zip(drafted, result["drafted"])]
            accepted = [x + y for x, y in zip(accepted, result["accepted"])]
        rates = [x / y for x, y in zip(accepted, drafted)]
        print(f"{temperature:12g}  {1 + sum(rates):.2f}  " + "  ".join(f"{r:.1%}" for r in rates))


if __name__ == "__main__":
    main()
