#!/usr/bin/env python3
"""Tables of a run of gpu-check, in Markdown.

  summary.py RESULTS_JSON
"""

import json
import math
import re
import sys

TOKENS = (1, 2, 4, 8, 16, 32)


def table(head, rows):
    print("| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print()


def number(x, digits=2):
    return "-" if x is None else f"{x:.{digits}f}"


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def best_products(values):
    """(shape, kind, tokens, edge) -> (us, share, how), of those in the final order of
    sums."""
    best = {}
    for name, us in values.items():
        m = re.match(r"(\w+?)_(\w+?)_(bf16|s8|s4)_t(\d+)_(\S*) (ordinary|programmatic) us$",
                     name)
        if not m or "strided_True" not in m[5] or re.search(
                "trigger|prefetch|async|bulk", m[5]):
            continue
        key = (f"{m[1]}.{m[2]}", m[3], int(m[4]), m[6])
        entry = (us, values[name[:-2] + "share"], m[5])
        best[key] = min(best.get(key, entry), entry)
    return best


def products(results):
    best = best_products(results.get("products", {}))
    library = results.get("cublaslt", {})
    shapes = list(dict.fromkeys(key[0] for key in best))

    def peer(shape, tokens, which="best"):
        return library.get(f"{shape}, rows {tokens} us, {which}")
    shapes = [s for s in shapes if peer(s, 1)] or shapes
    if not shapes:
        return
    print("Share of the copy, bf16, programmatic edges (ordinary edges; times faster "
          "than cuBLASLt's best with ordinary edges)\n")
    rows = []
    for shape in shapes:
        row = [shape]
        for tokens in TOKENS:
            a = best.get((shape, "bf16", tokens, "programmatic"))
            b = best.get((shape, "bf16", tokens, "ordinary"))
            lt = peer(shape, tokens)
            row.append("-" if not a else f"{a[1]:.2f} ({b[1]:.2f}" + (
                f"; {lt / b[0]:.2f}x)" if lt else ")"))
        rows.append(row)
    for edge in ("ordinary", "programmatic"):
        row = [f"geometric mean, {edge}"]
        for tokens in TOKENS:
            ratios = [peer(s, tokens) / best[s, "bf16", tokens, edge][0] for s in shapes
                      if peer(s, tokens) and (s, "bf16", tokens, edge) in best]
            row.append(f"{geometric_mean(ratios):.3f}x" if ratios else "-")
        rows.append(row)
    table(["shape"] + [f"{t} tokens" for t in TOKENS], rows)
    print("Share of the copy, integers, programmatic edges\n")
    table(["shape"] + [f"{k}, {t}" for k in ("s8", "s4") for t in (1, 8, 16, 32)],
          [[s] + [number(best.get((s, k, t, "programmatic"), (0, None))[1])
                  for k in ("s8", "s4") for t in (1, 8, 16, 32)] for s in shapes])


def models(results):
    found, ways = {}, []
    for name, value in results.get("models", {}).items():
        m = re.match(r"(\w+), (.*): share$", name)
        if m:
            found.setdefault(m[1], {})[m[2]] = value
            if m[2] not in ways:
                ways.append(m[2])
    if found:
        print("Share of the copy of whole models\n")
        table(["model"] + ways, [[m] + [number(v.get(w), 3) for w in ways]
                                 for m, v in found.items()])


def attention(results):
    found, points = {}, []
    values = results.get("attention", {})
    for name, value in values.items():
        m = re.match(r"attention_(\w+), slots (\d+), context (\d+): share$", name)
        if m:
            point = f"{m[2]} x {m[3]}"
            us = values[name.replace("share", "us")]
            found.setdefault(m[1], {})[point] = f"{value:.2f} ({us:.0f} us)"
            if point not in points:
                points.append(point)
    if found:
        print("Attention, share of the copy (time), slots x context\n")
        table(["kernel"] + points, [[k] + [v.get(p, "-") for p in points]
                                    for k, v in found.items()])


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with open(sys.argv[1], encoding="utf-8") as file:
        entries = json.load(file)
    results = {}
    for entry in entries:
        results.setdefault(entry["part"], {})[entry["name"]] = entry["value"]
    products(results)
    models(results)
    attention(results)


if __name__ == "__main__":
    main()
