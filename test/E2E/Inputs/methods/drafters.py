"""Models of drafters with layers of their own, in double precision.

They know only the target's tokens, and no rounds. A drafter's state between rounds must equal the
state computed from the beginning. Standard library only.
"""

import functools
import math
import typing

import target
from target import WEIGHTS, product


class Chain:
    """A layer with its own cache entries that reads each token beside the preceding hidden state.
    `given` converts the target's state, or the layer's own."""

    def __init__(self, given):
        self.given = given
        self.entries = functools.lru_cache(maxsize=None)(self.entries)

    def entries(self, tokens):
        """Returns entries over known tokens, and the last state. The row at a position has the
        hidden state of this position, and the next token."""
        if len(tokens) < 2:
            return [], None
        entries, _ = self.entries(tokens[:-1])
        hidden = self.given(target.target(tokens[:-1])[2])
        return self.step(tokens[-1], hidden, len(tokens) - 2, entries)

    def step(self, token, hidden, position, entries):
        x = product(WEIGHTS["fuse"], WEIGHTS["embed"][token] + hidden)
        state, entries = target.layer(x, position, entries, 0)
        return entries, state

    def draft(self, known, k, temperature):
        entries, state = self.entries(known)
        n, drafts = len(known) - 1, []
        for d in range(k):
            if drafts:
                entries, state = self.step(drafts[-1], state, n + d - 1, entries)
            drafts.append(target.pick(product(WEIGHTS["head"], state), temperature, n + d))
        return drafts

    def follow(self, known, ahead, parents, temperature):
        """Returns how many of the tokens `ahead` are the longest path of a tree of drafts."""
        entries, state = self.entries(known)
        n, node, kept = len(known) - 1, 0, 0
        while kept < len(ahead):
            logits, siblings = product(WEIGHTS["head"], state), []
            for child in (c for c, parent in enumerate(parents) if c and parent == node):
                siblings.append(target.pick(logits, temperature, n + kept, without=siblings))
                if siblings[-1] == ahead[kept]:
                    break
            else:
                return kept
            node, kept = child, kept + 1
            entries, state = self.step(siblings[-1], state, n + kept - 1, entries)
        return kept


def best(logits, count, is_ordered=True):
    """Returns the columns of the largest logits, largest first. With is_ordered False their order
    does not matter."""
    ranked = sorted(range(len(logits)), key=lambda t: (-logits[t], t))
    for rank in range(0 if is_ordered else count - 1, count):
        target.decided(logits[ranked[rank]] - logits[ranked[rank + 1]], "a rank")
    return ranked[:count]


EAGLE = Chain(lambda made: made[-1])
eagle, eagle26 = EAGLE.draft, EAGLE.follow
TWO_BRANCHES = [-1, 0, 0, 1, 1, 2, 2, 3, 3, 5, 5]


@functools.lru_cache(maxsize=None)
def two_branches(known):
    """Returns, for each node, the drafts of a tree in which 1 and 2, and their best, are expanded.
    """
    made, drafts, depths = {0: EAGLE.entries(known)}, [None], [0]
    for node in sorted(set(TWO_BRANCHES[1:])):
        if node:
            entries, state = made[TWO_BRANCHES[node]]
            made[node] = EAGLE.step(drafts[node], state, len(known) + depths[node] - 2, entries)
        drafts += best(product(WEIGHTS["head"], made[node][1]), 2)
        depths += [depths[node] + 1] * 2
    return drafts


def eagle_tree(known, k, temperature):
    return two_branches(known)[:k + 1], TWO_BRANCHES[:k + 1]


class Candidate(typing.NamedTuple):
    number: int
    # Sum of log probabilities from the anchor on.
    score: float
    token: int
    parent: typing.Optional["Candidate"]


def best_of(candidates, count):
    """Returns the candidates with the largest scores, ties to the first."""
    ranked = sorted(candidates, key=lambda c: (-c.score, c.number))
    if len(ranked) > count:
        target.decided(ranked[count - 1].score - ranked[count].score, "a candidate")
    return ranked[:count]


@functools.lru_cache(maxsize=None)
def beam(known, depths):
    """Returns all candidates of a beam of three nodes with three children each, down to a depth."""
    made, candidates, nodes = {None: EAGLE.entries(known)}, [], [None]
    for depth in range(depths):
        found = []
        for place, node in enumerate(nodes):
            if node:
                entries, state = made[node.parent]
                made[node] = EAGLE.step(node.token, state, len(known) + depth - 2, entries)
            logits = product(WEIGHTS["head"], made[node][1])
            total = math.log(sum(map(math.exp, logits)))
            found += [Candidate(9 * depth + 3 * place + rank,
                                (node.score if node else 0) + logits[token] - total, token, node)
                      for rank, token in enumerate(best(logits, 3, is_ordered=False))]
        candidates += found
        nodes = best_of(found, 3)
    return candidates


def eagle2(known, k, temperature):
    kept = sorted(best_of(beam(known, min((k + 1) // 3, 3) + 1), k), key=lambda c: c.number)
    parents = [kept.index(c.parent) + 1 if c.parent else 0 for c in kept]
    return [None] + [c.token for c in kept], [-1] + parents


@functools.lru_cache(maxsize=None)
def injected(tokens):
    """Returns the block drafter's entries of the last committed token."""
    states = target.target(tokens)[2]
    return target.entry(product(WEIGHTS["taps"], states[0] + states[1]), len(tokens) - 1, 0)


# A token that is right sometimes, like a trained drafter's.
MASK = 18


@functools.lru_cache(maxsize=None)
def block(known, k):
    """Returns the logits of a block's rows: the anchor's, and one per mask."""
    n = len(known) - 1
    rows = [(WEIGHTS["embed"][token], n + j) for j, token in enumerate([known[n]] + [MASK] * k)]
    entries = [injected(known[:p + 1]) for p in range(n)]
    entries += [target.entry(x, position, 0) for x, position in rows]
    return [product(WEIGHTS["head"], target.attended(x, position, entries, 0))
            for x, position in rows]


def dflash(known, k, temperature):
    return [target.pick(row, temperature, len(known) - 1 + j)
            for j, row in enumerate(block(known, k)[1:])]


wide = Chain(lambda made: product(WEIGHTS["fuse"], made[0] + made[1])).draft


def logits_of_head(known, d):
    """Returns the logits of a head for the state before the anchor."""
    hidden = target.hidden_behind(known[:-1])
    gates = product(WEIGHTS[f"heads.{d}.up"], hidden)
    state = [h + u / (1 + math.exp(-u)) for h, u in zip(hidden, gates)]
    return product(WEIGHTS["head"], state)


def heads(known, k, temperature):
    """Returns a draft of each head."""
    return [target.pick(logits_of_head(known, d), temperature, len(known) - 1 + d)
            for d in range(k)]


@functools.lru_cache(maxsize=None)
def candidates(known, d, temperature, count):
    """Returns the best candidates of head d, the best first."""
    found = []
    for _ in range(count):
        found.append(target.pick(logits_of_head(known, d), temperature, len(known) - 1 + d,
                                 without=found))
    return found


HEADS_TREE = [-1, 0, 0, 0, 1, 1, 2, 4]


def heads_tree(known, k, temperature):
    """Returns drafts and parents of the nodes of depth at most k."""
    depths, ranks = [0], [0]
    for node, parent in enumerate(HEADS_TREE[1:], start=1):
        depths.append(depths[parent] + 1)
        ranks.append(HEADS_TREE[1:node].count(parent))
    nodes = sum(depth <= k for depth in depths)
    return [None] + [candidates(known, depths[node] - 1, temperature, 3)[ranks[node]]
                     for node in range(1, nodes)], HEADS_TREE[:nodes]


@functools.lru_cache(maxsize=None)
def head_layer(tokens, d):
    """Returns head d's output for the state after `tokens`, and the entries of its layer."""
    entries = head_layer(tokens[:-1], d)[1] if len(tokens) > 1 else []
    return target.layer(target.hidden_behind(tokens), len(tokens) - 1, entries, d)


def head_layers(known, k, temperature):
    return [target.pick(product(WEIGHTS["head"], head_layer(known[:-1], d)[0]), temperature,
                        len(known) - 1 + d) for d in range(k)]


def early_exit(known, k, temperature):
    """Drafts with the head after the target's first layer."""
    drafts = []
    for d in range(k):
        state = target.target(known + tuple(drafts))[2][0]
        drafts.append(target.pick(product(WEIGHTS["head"], state), temperature,
                                  len(known) - 1 + d))
    return drafts


EARLY_TREE = [-1, 0, 0, 1, 1, 2]


def early_tree(known, k, temperature):
    """Drafts a tree of k nodes with the head after the target's first layer."""
    drafts, depths, paths = [None], [0], [known]
    for node, parent in enumerate(EARLY_TREE[1:k + 1], start=1):
        state = target.target(paths[parent])[2][0]
        siblings = [drafts[child] for child in range(1, node) if EARLY_TREE[child] == parent]
        drafts.append(target.pick(product(WEIGHTS["head"], state), temperature,
                                  len(known) - 1 + depths[parent], without=siblings))
        depths.append(depths[parent] + 1)
        paths.append(paths[parent] + (drafts[node],))
    return drafts, EARLY_TREE[:k + 1]
