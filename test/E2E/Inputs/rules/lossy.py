#!/usr/bin/env python3
"""Checks which drafts the lossy rules accept.

  lossy.py ARTIFACT [FLAGS..]
  lossy.py --write FILE LIBRARY    writes its module

A model in double precision computes the nodes that pass. With the chosen distributions no node is
closer to a bound than f32 can resolve.
"""

import itertools
import math
import random
import sys

import functions

NODES, COLUMNS = 4, 4
TREES = [(-1, 0, 1, 2), (-1, 0, 0, 1), (-1, 0, 0, 0), (-1, 0, 1, 1)]
EPSILON, DELTA, FEW, NEAR = 0.3, 0.6, 2, 0.2
# Computed by hand: H is 1.208, the bound .0896 and all pass; the bound is .09 and the first passes.
VECTORS = [((0.5, 0.25, 0.15, 0.1), (0.09, 0.3), 4), ((0.97, 0.01, 0.01, 0.01), (0.09, 0.3), 1)]
LEAST_MARGIN = 1e-4


def typical_function(name, epsilon, delta):
    return functions.Function(name, "typical", functions.picks_arguments(NODES, COLUMNS), 3,
                              constants=[("epsilon", epsilon), ("delta", delta)])


TYPICAL = typical_function("typical_rows", EPSILON, DELTA)
MEDUSA = typical_function("medusa_rows", *VECTORS[0][1])
RELAXED = functions.relaxed("relaxed_rows", NODES, COLUMNS, FEW, NEAR)


def decided(margin):
    assert abs(margin) > LEAST_MARGIN, margin


def is_typical(p, token, epsilon, delta):
    if p[token] == 0:
        return False
    bound = min(epsilon, delta * math.exp(sum(x * math.log(x) for x in p if x)))
    decided(p[token] - bound)
    return p[token] > bound


def is_relaxed(p, pick, token):
    order = sorted(range(COLUMNS), key=lambda i: (-p[i], i))
    if token in order[:FEW]:
        decided(p[token] - (p[order[0]] - NEAR))
    return token == pick or (token in order[:FEW] and p[token] >= p[order[0]] - NEAR)


def longest(parents, drafts, passes, score):
    """Returns the deepest node whose ancestors all pass. Ties: the largest sum, then the lowest
    node."""
    depths, sums, best = [0], [0.0], 0
    for node in range(1, NODES):
        above = parents[node]
        stays = depths[above] >= 0 and drafts[node - 1] >= 0 and passes(above, drafts[node - 1])
        depths.append(depths[above] + 1 if stays else -1)
        sums.append(sums[above] + (score(above, drafts[node - 1]) if stays else 0))
        if depths[node] == depths[best] and best:
            decided((sums[node] - sums[best]) or 1)
        if depths[node] > depths[best] or (stays and best and depths[node] == depths[best]
                                           and sums[node] > sums[best]):
            best = node
    return depths[best], best


def rows_of(seed):
    """Returns distributions after each node, some with zeros, and picks."""
    source = random.Random(seed)
    p = []
    for _ in range(NODES):
        parts = [source.random() ** 3 for _ in range(COLUMNS)]
        if source.random() < 0.3:
            parts[source.randrange(COLUMNS)] = 0.0
        p.append([part / sum(parts) for part in parts])
    return p, [source.randrange(COLUMNS) for _ in range(NODES)]


def check(artifact, flags):
    kept = 0
    typical_rows, relaxed_rows, wanted = [], [], []
    for seed, parents in enumerate(TREES * 3):
        p, picks = rows_of(seed)
        logits = [[math.log(x) if x else -math.inf for x in row] for row in p]
        for drafts in itertools.product(range(-1, COLUMNS), repeat=NODES - 1):
            typical = longest(parents, drafts,
                              lambda at, x: is_typical(p[at], x, EPSILON, DELTA),
                              lambda at, x: math.log(p[at][x]))
            relaxed = longest(parents, drafts, lambda at, x: is_relaxed(p[at], picks[at], x),
                              lambda at, x: 0.0)
            typical_rows.append([drafts, parents, picks, functions.flat(p)])
            relaxed_rows.append([drafts, parents, picks, functions.flat(logits)])
            wanted.append([(*out, picks[out[1]]) for out in (typical, relaxed)])
            kept += typical[0] + relaxed[0]
    for function, rows, which in ((TYPICAL, typical_rows, 0), (RELAXED, relaxed_rows, 1)):
        got = functions.run(artifact, function, rows, flags)
        for row, result, expected in zip(rows, got, wanted):
            assert result == expected[which], (function.name, row, result, expected[which])
    for p, _, passing in VECTORS:
        rows = [[(token, -1, -1), TREES[0], (0,) * NODES, list(p) * NODES]
                for token in range(COLUMNS)]
        got = functions.run(artifact, MEDUSA, rows, flags)
        assert [n for n, _, _ in got] == [1] * passing + [0] * (COLUMNS - passing), got
    return kept


def main(artifact, *flags):
    if artifact == "--write":
        with open(flags[0], "w", encoding="utf-8") as file:
            file.write(functions.module([TYPICAL, MEDUSA, RELAXED], flags[1]))
        return
    print(f"{check(artifact, list(flags))} drafts kept, as expected")


if __name__ == "__main__":
    main(*sys.argv[1:])
