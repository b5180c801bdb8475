#!/usr/bin/env python3
"""Runs a method whose rule accepts drafts other than the target's picks, and compares it with a
model.

  rules.py METHOD ARTIFACT

The output of such a method depends on its drafts, so it differs from k = 0. This script computes
the target, its noise and the rule (target.py). Tokens and acceptance must match exactly, at any
batch, with preemption and with reused prefixes.
"""

import collections
import itertools
import math
import sys

from check import LENGTH, PROMPTS, run
from target import WEIGHTS, decided, logits_behind, philox, pick, softmax, uniform

MAX_K = 4

# A round: drafts by the table of bigrams, then the rule.


def draft(tokens, k, temperature):
    drafts, logits = [], []
    for j in range(k):
        logits.append(WEIGHTS["bigrams"][(tokens + drafts)[-1]])
        drafts.append(pick(logits[j], temperature, len(tokens) - 1 + j))
    return drafts, logits


def is_typical(logits, token):
    p = softmax(logits)
    entropy = -sum(a * math.log(a) for a in p)
    threshold = min(0.25, 0.5 * math.exp(-entropy))
    rank = sum(x > logits[token] for x in logits)
    if rank < 2:
        if rank == 1:
            decided(logits[token] - sorted(logits)[-3], "a rank")
        return True
    decided(p[token] - threshold, "a threshold")
    return p[token] >= threshold


def typical(tokens, k, temperature, state):
    drafts, _ = draft(tokens, k, temperature)
    kept = 0
    while kept < k and is_typical(logits_behind(tokens + drafts[:kept]), drafts[kept]):
        kept += 1
    bonus = pick(logits_behind(tokens + drafts[:kept]), temperature, len(tokens) - 1 + kept)
    return drafts[:kept] + [bonus]


def drawn(shares, number, sure=decided):
    """Returns the first token at which the cumulative share exceeds `number` of the total."""
    share, reached = number * sum(shares), 0.0
    for token, part in enumerate(shares):
        reached += part
        if part:
            sure(reached - share, "a share")
        if reached > share:
            return token
    raise AssertionError("no token")


def credit(tokens, k, temperature, state):
    drafts, _ = draft(tokens, k, temperature)
    for j, x in enumerate(drafts):
        row, logits = len(tokens) - 1 + j, logits_behind(tokens + drafts[:j])
        if (best := pick(logits, temperature, row)) == x:
            state["credit"] = min(state.get("credit", 2) + 1, 2)
            continue
        if state.get("credit", 2):
            rank = sum(other > logits[x] for other in logits)
            ranked = sorted(logits, reverse=True)
            decided(ranked[2] - ranked[3], "a rank")
        if not state.get("credit", 2) or rank >= 3:
            return drafts[:j] + [best]
        state["credit"] = state.get("credit", 2) - 1
    return drafts + [pick(logits_behind(tokens + drafts), temperature, len(tokens) - 1 + k)]


def rejection(tokens, k, temperature, state):
    drafts, draft_logits = draft(tokens, k, temperature)
    for j, x in enumerate(drafts):
        row = len(tokens) - 1 + j
        logits = logits_behind(tokens + drafts[:j])
        if temperature == 0:
            best = pick(logits, 0, row)
            if best != x:
                return drafts[:j] + [best]
            continue
        p, q = softmax(logits, temperature), softmax(draft_logits[j], temperature)
        margin = p[x] / q[x] - uniform(row, 0)
        decided(margin, "an acceptance")
        if margin > 0:
            continue
        rest = [max(a - b, 0) for a, b in zip(p, q)]
        return drafts[:j] + [drawn(rest, uniform(row, 1))]
    row, logits = len(tokens) - 1 + k, logits_behind(tokens + drafts)
    return drafts + [drawn(softmax(logits, temperature), uniform(row, 1)) if temperature
                     else pick(logits, 0, row)]


def block_rule(p, drafts, number, sure=decided):
    """Returns the number of accepted drafts, and the token after them. p has k + 1 rows, and a
    draft is certain (q = 1). `number` i is for prefixes of i drafts, 0 for the token."""
    kept, before = 0, 1.0
    for i, x in enumerate(drafts, start=1):
        before *= p[i - 1][x]
        chance = before
        if i < len(drafts):
            more = before * (1 - p[i][drafts[i]])
            both = more + 1 - before
            chance = more / both if both > 0 else 1.0
        sure(chance - number(i), "a length")
        if number(i) < chance:
            kept = i
    rest = list(p[kept])
    if kept < len(drafts) and sum(rest) > rest[drafts[kept]]:
        rest[drafts[kept]] = 0.0
    return kept, drawn(rest, number(0), sure)


def block(tokens, k, temperature, state):
    row, drafts, p = len(tokens) - 1, [], []
    for j in range(k + 1):
        logits = logits_behind(tokens + drafts)
        best = pick(logits, 0, row) if temperature == 0 else None
        p.append(softmax(logits, temperature) if temperature
                 else [float(x == best) for x in range(len(logits))])
        if j < k:
            drafts.append(pick(WEIGHTS["bigrams"][(tokens + drafts)[-1]], 0, row))
    kept, token = block_rule(p, drafts, lambda i: uniform(row, i))
    return drafts[:kept] + [token]


def drawn_block_rule(p, q, drafts, number, sure=decided):
    """Like block_rule, for drafts drawn from the rows of q."""
    kept, part, before = 0, 1.0, 1.0
    for i, x in enumerate(drafts, start=1):
        before = min(before * p[i - 1][x] / q[i - 1][x], 1.0)
        chance = before
        if i < len(drafts):
            more = sum(max(before * a - b, 0) for a, b in zip(p[i], q[i]))
            both = more + 1 - before
            chance = more / both if both > 0 else 1.0
        sure(chance - number(i), "a length")
        if number(i) < chance:
            kept, part = i, before
    rest = p[kept]
    if kept < len(drafts):
        rest = [max(part * a - b, 0) for a, b in zip(p[kept], q[kept])]
    return kept, drawn(rest if sum(rest) else p[kept], number(0), sure)


def distribution(logits, temperature):
    if temperature:
        return softmax(logits, temperature)
    best = pick(logits, 0, 0)
    return [float(x == best) for x in range(len(logits))]


def block_drawn(tokens, k, temperature, state):
    row, drafts, q = len(tokens) - 1, [], []
    for j in range(k):
        logits = WEIGHTS["bigrams"][(tokens + drafts)[-1]]
        q.append(distribution(logits, temperature))
        drafts.append(pick(logits, temperature, row, number=j))
    p = [distribution(logits_behind(tokens + drafts[:j]), temperature) for j in range(k + 1)]
    kept, token = drawn_block_rule(p, q, drafts, lambda i: uniform(row, i))
    return drafts[:kept] + [token]


def expected(method, prompt, k, temperature):
    """Returns output, rounds and accepted drafts of a sequence."""
    # Without a rule the region of accept decides. That of block takes the best token, and that of
    # block_drawn uses an anchor's noise.
    plain = 0 if method is block else temperature
    number = 0 if method is block_drawn else -1
    tokens = prompt + [pick(logits_behind(prompt), plain, len(prompt) - 1, number=number)]
    rounds, kept, state = 0, 0, {}
    while len(tokens) < len(prompt) + LENGTH:
        given = (method(tokens, k, temperature, state) if k
                 else [pick(logits_behind(tokens), plain, len(tokens) - 1, number=number)])
        tokens += given
        rounds, kept = rounds + 1, kept + len(given) - 1
    return tokens[len(prompt):][:LENGTH], rounds, kept


# The law of block verification: of a chain of two tokens, over many seeds.

CHAIN = [[0.7, 0.3], [0.4, 0.6]]
SEEDS, STEPS, DRAFTS = 2000, 3, 3


def outputs_of_chain(is_by_anchor):
    """Returns the count of each output of three tokens after token 0. A token drafts itself."""
    counts = collections.Counter()
    for seed in range(SEEDS):
        tokens = [0]
        while len(tokens) <= STEPS:
            row, drafts = len(tokens) - 1, [tokens[-1]] * DRAFTS

            def number(i):
                counter = (row, 2, i, 0)
                if not is_by_anchor:
                    counter = (row + max(i - 1, 0), 2, int(i == 0), 0)
                return (philox(counter, (seed, 1))[0] >> 8) / 2 ** 24

            rows = [CHAIN[tokens[-1]]] * (DRAFTS + 1)
            kept, token = block_rule(rows, drafts, number, sure=lambda *_: None)
            tokens += drafts[:kept] + [token]
        counts[tuple(tokens[1:STEPS + 1])] += 1
    return counts


# Drafts that are drawn: the target's two tokens are equally likely, the drafter prefers one.
EVEN, UNEVEN = [[0.5, 0.5]] * 2, [0.15, 0.85]


def outputs_of_drawn(is_by_anchor):
    """Returns counts with numbers by the anchor's position, and noise of drafts by it or by their
    own."""
    counts = collections.Counter()
    for seed in range(2 * SEEDS):
        tokens = [0]
        while len(tokens) <= STEPS:
            row, drafts = len(tokens) - 1, []
            for j in range(DRAFTS):
                counter = (row + 1, 1, 0, j + 1) if is_by_anchor else (row + 1 + j, 1, 0, 0)
                words = philox(counter, (seed, 1))
                keys = [math.log(share) - math.log(-math.log((word + 0.5) / 2 ** 32))
                        for share, word in zip(UNEVEN, words)]
                drafts.append(keys.index(max(keys)))
            kept, token = drawn_block_rule(
                EVEN[:1] * (DRAFTS + 1), [UNEVEN] * DRAFTS, drafts,
                lambda i: (philox((row, 2, i, 0), (seed, 1))[0] >> 8) / 2 ** 24,
                sure=lambda *_: None)
            tokens += drafts[:kept] + [token]
        counts[tuple(tokens[1:STEPS + 1])] += 1
    return counts


def distance_from_law(counts, chain):
    """Returns chi-square with seven degrees of freedom: above 24.4 once in a thousand."""
    distance, total = 0, sum(counts.values())
    for output in itertools.product(range(len(chain)), repeat=STEPS):
        share, last = total, 0
        for token in output:
            share, last = share * chain[last][token], token
        distance += (counts[output] - share) ** 2 / share
    return distance


def check_laws(outputs, chain, least):
    """Checks that the distribution is the target's with numbers by the anchor, and is not by
    position."""
    good, bad = (distance_from_law(outputs(by_anchor), chain) for by_anchor in (True, False))
    assert good < 24.4, f"by the anchor: {good}"
    assert bad > least, f"by the position: {bad}"


def check(name, artifact):
    method = {"typical": typical, "credit": credit, "rejection": rejection,
              "block": block, "block_drawn": block_drawn}[name]
    if name == "block":
        check_laws(outputs_of_chain, CHAIN, least=100)
    if name == "block_drawn":
        check_laws(outputs_of_drawn, EVEN, least=80)
    total = differing = 0
    for temperature, k in itertools.product((0, 1), range(MAX_K + 1)):
        model = [expected(method, prompt, k, temperature) for prompt in PROMPTS]
        outputs = [output for output, _, _ in model]
        plain = [expected(method, prompt, 0, temperature)[0] for prompt in PROMPTS]
        differing += sum(a != b for a, b in zip(outputs, plain))
        for batch in (1, 2, 3, 4):
            got = run(artifact, PROMPTS[:batch], k, temperature)
            for result, (output, rounds, kept) in zip(got["sequences"], model):
                assert result["output_ids"] == output, (temperature, batch, k, result, output)
                if k:
                    assert (result["rounds"], sum(result["accepted"])) == (rounds, kept), (
                        temperature, batch, k, result, rounds, kept)
                total += kept
        # Preemption: pages for little more than one of the sequences.
        tight = run(artifact, PROMPTS, k, temperature, "--kv-pages", "14")
        assert [s["output_ids"] for s in tight["sequences"]] == outputs, (temperature, k)
        assert tight["preemptions"] > 0, tight
        # A cached prefix: one prompt twice, one after the other.
        twice = run(artifact, [PROMPTS[2]] * 2, k, temperature, "--max-batch", "1")
        for sequence in twice["sequences"]:
            assert sequence["output_ids"] == outputs[2], (temperature, k)
        assert twice["sequences"][1]["cached_tokens"] > 0, twice
    # If the rule were exact, the test would prove nothing.
    assert total > 100 and differing > 3, (total, differing)
    print(f"{name}: {total} drafts kept, as expected; {differing} outputs are not those of k = 0")


if __name__ == "__main__":
    check(*sys.argv[1:])
