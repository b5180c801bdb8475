#!/usr/bin/env python3
"""Enumerates all outcomes of the acceptance rules, with exact fractions.

  exact.py ARTIFACT [--only=RULE] [FLAGS..]
  exact.py --write FILE LIBRARY [--only=RULE]    writes its module

The distributions are fractions that depend on the path to a node. The model knows the breakpoints
between which the deciding numbers lie. The compiled rule runs two points near the ends of each
interval, and its results must be the model's. The measure of its outputs, summed over all drafts,
numbers and tokens, must equal the target's distribution exactly.
"""

import collections
import functools
import itertools
import random
import sys
from fractions import Fraction as F

from functions import Function, chain_arguments, drawn_arguments, flat, module
from functions import node_arguments, run

ONE = F(1)


# Distributions.


@functools.lru_cache(maxsize=None)
def fractions(seed, columns, least=0):
    """Returns a distribution of eighths (or sevenths, for three columns) that `seed` determines."""
    source = random.Random(repr(seed))
    total = 8 if columns == 2 else 7
    while True:
        parts = [source.randint(least, total) for _ in range(columns - 1)]
        if sum(parts) <= total - least:
            return tuple(F(part, total) for part in (*parts, total - sum(parts)))


class Chance:
    """Target and drafter of one case: distributions after a path."""

    def __init__(self, seed, columns):
        self.seed, self.columns = seed, columns

    def p(self, path):
        return fractions((self.seed, "p", path), self.columns)

    def q(self, path):
        return fractions((self.seed, "q", path), self.columns)


def paths_of(drafts, parents):
    """Returns the tokens that lead to each node; None for a missing node."""
    paths = [()]
    for i, parent in enumerate(parents[1:], start=1):
        above = paths[parent]
        paths.append(None if above is None or drafts[i - 1] < 0 else above + (drafts[i - 1],))
    return paths


def rows_of(distribution, paths, columns):
    """Returns rows of a distribution. Rows of missing nodes are arbitrary."""
    return [distribution(path) if path is not None else [F(1, columns)] * columns
            for path in paths]


# The rules: acceptance by numbers between 0 and 1, drawn tokens by cumulative shares.


def scaled(parts):
    return [part / sum(parts) for part in parts]


def drawn(shares, number):
    reached = F(0)
    for token, share in enumerate(shares):
        reached += share
        if reached > number:
            return token
    raise AssertionError("no token")


class Rejection:
    """Certain drafts (q = 1): children are tried one by one."""

    def __init__(self, drafts, parents, p, q=None):
        self.ends = {}   # for each last node, the distribution of its token
        self.bars = {}   # for each tested node, the number below which it is accepted
        self.parents = parents
        for node in range(len(parents)):
            left, tried = list(p[node]), set()
            for child in range(node + 1, len(parents)):
                token = drafts[child - 1]
                if parents[child] != node or token < 0 or token in tried:
                    continue
                # Nothing is left if earlier tries have all the probability.
                self.bars[child] = left[token] / sum(left) if sum(left) else F(0)
                tried.add(token)
                left[token] = F(0)
            self.ends[node] = scaled(left) if sum(left) else None

    def walk(self, u):
        node = 0
        for child in range(1, len(self.parents)):
            if self.parents[child] == node and child in self.bars and u[child] < self.bars[child]:
                node = child
        return node


class Drawn:
    """A chain whose drafts are drawn from q."""

    def __init__(self, drafts, parents, p, q):
        self.bars, self.ends, self.parents = {}, {}, parents
        for i, token in enumerate(drafts):
            self.bars[i + 1] = min(ONE, p[i][token] / q[i][token])
            rest = [max(a - b, F(0)) for a, b in zip(p[i], q[i])]
            self.ends[i] = scaled(rest) if sum(rest) else None
        self.ends[len(drafts)] = p[len(drafts)]

    def walk(self, u):
        node = 0
        while node + 1 in self.bars and u[node + 1] < self.bars[node + 1]:
            node += 1
        return node


class Block:
    """A chain of certain drafts: the longest prefix whose own number accepts it."""

    def __init__(self, drafts, parents, p, q=None):
        self.bars, self.ends, self.parents = {}, {}, parents
        live = next((i for i, token in enumerate(drafts) if token < 0), len(drafts))
        share = ONE
        for i in range(1, live + 1):
            share *= p[i - 1][drafts[i - 1]]
            self.bars[i] = share
            if i < live:
                more = share * (1 - p[i][drafts[i]])
                self.bars[i] = more / (more + 1 - share) if more + 1 - share else ONE
        for i in range(live + 1):
            rest = list(p[i])
            if i < live:
                rest[drafts[i]] = F(0)
            self.ends[i] = scaled(rest) if sum(rest) else None

    def walk(self, u):
        return max([i for i, bar in self.bars.items() if u[i] < bar], default=0)


# Cells of numbers.


def cells(breakpoints):
    """Returns points near both ends of each interval, each with half of its measure."""
    marks = sorted({F(0), ONE, *breakpoints})
    for low, high in zip(marks, marks[1:]):
        width = high - low
        yield low + width / 64, width / 2
        yield high - width / 64, width / 2


def numbers_of(rule):
    """Yields numbers for each node and the draw, with their measure."""
    nodes = len(rule.parents)
    per_node = [[(F(1, 2), ONE)]] + [
        list(cells([rule.bars[i]])) if i in rule.bars else [(F(1, 2), ONE)]
        for i in range(1, nodes)]
    sums = [sum(shares[:i]) for shares in rule.ends.values() if shares
            for i in range(1, len(shares))]
    for choice in itertools.product(*per_node):
        measure = ONE
        for _, part in choice:
            measure *= part
        u = [number for number, _ in choice]
        for w, part in cells(sums):
            yield u, w, measure * part


# Cases.

CHAIN = {k: tuple(range(-1, k)) for k in (1, 2, 3)}
TREES = {2: [(-1, 0, 0)],
         3: [(-1, 0, 0, 0), (-1, 0, 0, 1), (-1, 0, 0, 2), (-1, 0, 1, 1)]}


def law(chance, length):
    """Returns the distribution of all outputs of `length` tokens."""
    out = {}
    for output in itertools.product(range(chance.columns), repeat=length):
        share = ONE
        for i, token in enumerate(output):
            share *= chance.p(output[:i])[token]
        if share:
            out[output] = share
    return out


def continued(chance, output, share, length, into):
    """Adds the target's continuation, which comes from later rounds."""
    if not share:
        return
    if len(output) == length:
        into[output] += share
        return
    for token, part in enumerate(chance.p(output)):
        continued(chance, output + (token,), share * part, length, into)


def row_of(function, values, u, w):
    """Returns the function's arguments, in their order. `values` has those that `u` and `w` do not
    change."""
    numbers = {"u": [float(x) for x in u], "v": [float(w)] * len(u)}
    return [numbers[name] if name in numbers else values[name]
            for name, _, _ in function.arguments]


class Case:
    """A distribution over drafts, each with its measure, in one topology."""

    def __init__(self, function, rule_of, chance, all_drafts, parents):
        self.function, self.chance, self.parents = function, chance, parents
        self.rows, self.wanted, self.length = [], [], 1
        for drafts, measure in all_drafts:
            self.add(rule_of, drafts, measure)

    def add(self, rule_of, drafts, measure):
        paths = paths_of(drafts, self.parents)
        p = rows_of(self.chance.p, paths, self.chance.columns)
        q = rows_of(self.chance.q, paths[:-1], self.chance.columns)
        rule = rule_of(drafts, self.parents, p, q)
        values = {"d": list(drafts), "parents": list(self.parents),
                  "p": [float(x) for x in flat(p)], "q": [float(x) for x in flat(q)]}
        for u, w, part in numbers_of(rule):
            end = rule.walk(u)
            self.rows.append(row_of(self.function, values, u, w))
            self.wanted.append((paths, end, drawn(rule.ends[end], w), measure * part))
        self.length = max(self.length, *(1 + len(path) for path in paths if path is not None))

    def compare(self, results):
        ended, found = collections.defaultdict(F), collections.defaultdict(F)
        for row, result, (paths, end, token, measure) in zip(self.rows, results, self.wanted):
            expected = (len(paths[end]), end, token)
            if self.function.results == 2:
                expected = (end, token)
            assert result == expected, (self.function.name, row, result, expected)
            path = paths[result[-2]]
            ended[path + (result[-1],)] += measure
        for output, measure in ended.items():
            continued(self.chance, output, measure, self.length, found)
        found = {output: share for output, share in found.items() if share}
        assert found == law(self.chance, self.length), (self.function.name, self.parents)


def draft_share(chance, drafts):
    share = ONE
    for i, token in enumerate(drafts):
        share *= chance.q(drafts[:i])[token]
    return share


def cases_of(columns, k, seed, few):
    every = list(itertools.product(range(columns), repeat=k))
    chance = Chance(seed, columns)
    possible = [(d, draft_share(chance, d)) for d in every if draft_share(chance, d)]
    if ("rejection_drawn", k, columns) in FUNCTIONS:
        yield Case(FUNCTIONS["rejection_drawn", k, columns], Drawn, chance, possible, CHAIN[k])
    # Each choice of certain drafts has the target's distribution by itself. A missing draft ends a
    # chain.
    fixed = every[::5] if few else every
    fixed = fixed + [(0,) * i + (-1,) + (1,) * (k - i - 1) for i in range(k)]
    for drafts in fixed:
        some = [(drafts, ONE)]
        if ("rejection", k, columns) in FUNCTIONS:
            for parents in [CHAIN[k], *TREES.get(k, [])]:
                yield Case(FUNCTIONS["rejection", k, columns], Rejection, chance, some, parents)
        if ("block", k, columns) in FUNCTIONS:
            yield Case(FUNCTIONS["block", k, columns], Block, chance, some, CHAIN[k])


def check(artifact, flags, few):
    jobs = collections.defaultdict(list)
    for columns, k, seed in itertools.product((2, 3), (1, 2, 3), range(1 if few else 3)):
        for case in cases_of(columns, k, seed, few):
            jobs[case.function].append(case)
    total = 0
    for function, cases in jobs.items():
        rows = [row for case in cases for row in case.rows]
        results = iter(run(artifact, function, rows, flags))
        for case in cases:
            case.compare(list(itertools.islice(results, len(case.rows))))
        total += len(rows)
    return total


def all_functions():
    made = {}
    for k, columns in itertools.product((1, 2, 3), (2, 3)):
        for rule, arguments, results in (
                ("rejection_drawn", drawn_arguments, 2),
                ("rejection", node_arguments, 3),
                ("block", chain_arguments, 2)):
            made[rule, k, columns] = Function(
                f"{rule}_{k}_{columns}", rule, arguments(k + 1, columns), results)
    return made


FUNCTIONS = all_functions()


def main(artifact, *flags):
    for flag in [flag for flag in flags if flag.startswith("--only=")]:
        for key in [key for key in FUNCTIONS if key[0] != flag.removeprefix("--only=")]:
            del FUNCTIONS[key]
        flags = [other for other in flags if other != flag]
    if artifact == "--write":
        with open(flags[0], "w", encoding="utf-8") as file:
            file.write(module(FUNCTIONS.values(), flags[1]))
        return
    few = "--few" in flags
    total = check(artifact, [flag for flag in flags if flag != "--few"], few)
    print(f"{total} outcomes, and the law is the target's")


if __name__ == "__main__":
    main(*sys.argv[1:])
