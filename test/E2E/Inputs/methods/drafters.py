"""Models of the drafters that are layers of their own, in double precision.

They know the target's tokens alone, and no rounds: what a drafter keeps from round to
round must be what it would have made of these from the start. Standard library only.
"""

import functools

import target
from target import WEIGHTS, product


class Chain:
    """A layer with entries of its own that reads each token beside the hidden state
    before it: what `given` makes of the target's, or its own."""

    def __init__(self, given):
        self.given = given
        self.entries = functools.lru_cache(maxsize=None)(self.entries)

    def entries(self, tokens):
        """Entries over known tokens, and the last state. The row at a position has its
        hidden state there, and the token behind it."""
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
        """How many of the tokens `ahead` a tree of drafts has: the longest path of it
        that begins with these."""
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


eagle = Chain(lambda made: made[-1]).draft
eagle_tree = Chain(lambda made: made[-1]).follow
wide = Chain(lambda made: product(WEIGHTS["fuse"], made[0] + made[1])).draft


def early_exit(known, k, temperature):
    """The head behind the target's first layer."""
    drafts = []
    for d in range(k):
        state = target.target(known + tuple(drafts))[2][0]
        drafts.append(target.pick(product(WEIGHTS["head"], state), temperature,
                                  len(known) - 1 + d))
    return drafts
