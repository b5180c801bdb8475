#!/usr/bin/env python3
"""Runs a method whose rule accepts drafts that the target did not pick, and
compares it with a model of it: rules.py METHOD ARTIFACT

What such a method puts out depends on its drafts, so that k = 0 says nothing of it.
The target, its noise and the rule are computed here (target.py): tokens and
acceptance must be exactly these, at any batch, with preemption and with reused
prefixes.
"""

import itertools
import math
import sys

from check import LENGTH, PROMPTS, run
from target import WEIGHTS, decided, logits_behind, pick, softmax, uniform

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


def typical(tokens, k, temperature):
    drafts, _ = draft(tokens, k, temperature)
    kept = 0
    while kept < k and is_typical(logits_behind(tokens + drafts[:kept]), drafts[kept]):
        kept += 1
    bonus = pick(logits_behind(tokens + drafts[:kept]), temperature, len(tokens) - 1 + kept)
    return drafts[:kept] + [bonus]


def rejection(tokens, k, temperature):
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
        share, reached = uniform(row, 1) * sum(rest), 0.0
        for token, part in enumerate(rest):
            reached += part
            if part:
                decided(reached - share, "a share")
            if reached > share:
                return drafts[:j] + [token]
    return drafts + [pick(logits_behind(tokens + drafts), temperature, len(tokens) - 1 + k)]


def expected(method, prompt, k, temperature):
    """Output, rounds and accepted drafts of a sequence."""
    tokens = prompt + [pick(logits_behind(prompt), temperature, len(prompt) - 1)]
    rounds = kept = 0
    while len(tokens) < len(prompt) + LENGTH:
        given = (method(tokens, k, temperature) if k
                 else [pick(logits_behind(tokens), temperature, len(tokens) - 1)])
        tokens += given
        rounds, kept = rounds + 1, kept + len(given) - 1
    return tokens[len(prompt):][:LENGTH], rounds, kept


def check(name, artifact):
    method = {"typical": typical, "rejection": rejection}[name]
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
        # Preempted: pages for little more than one of the sequences.
        tight = run(artifact, PROMPTS, k, temperature, "--kv-pages", "14")
        assert [s["output_ids"] for s in tight["sequences"]] == outputs, (temperature, k)
        assert tight["preemptions"] > 0, tight
        # A prefix that is there already: the same prompt twice, one by one.
        twice = run(artifact, [PROMPTS[2]] * 2, k, temperature, "--max-batch", "1")
        for sequence in twice["sequences"]:
            assert sequence["output_ids"] == outputs[2], (temperature, k)
        assert twice["sequences"][1]["cached_tokens"] > 0, twice
    # Were the rule exact, nothing of this would be tested.
    assert total > 100 and differing > 3, (total, differing)
    print(f"{name}: {total} drafts kept, as expected; {differing} outputs are not those of k = 0")


if __name__ == "__main__":
    check(*sys.argv[1:])
