#!/usr/bin/env python3
"""Runs a method whose host sees the drafts and writes what may follow them, and compares it with a
model.

  grammar.py METHOD ARTIFACT [cuda]

Under a grammar the output must be the target's pick among the allowed tokens, at any k and batch,
beside sequences without a grammar, and with preemption. A host that sees the drafts and allows all
tokens changes nothing: neither tokens nor rounds.
"""

import itertools
import subprocess
import sys

from check import LENGTH, PROMPTS
from target import logits_behind, pick

MAX_K = {"grammar": 3, "allowed_tree": 4, "allowed_nodes": 2}
STATES = 7


def run(artifact, device, k, batch, pages, temperature, who):
    """Returns (rounds, accepted, output) of each prompt, and the number of preemptions."""
    prompts = [",".join(map(str, prompt)) for prompt in PROMPTS[:len(who)]]
    text = subprocess.run(
        ["grammar_host", artifact, device, str(k), str(batch), str(pages), str(temperature),
         who, *prompts], stdout=subprocess.PIPE, check=True).stdout.decode()
    *rows, preemptions = [list(map(int, line.split())) for line in text.splitlines()]
    return [(row[0], row[1], row[2:]) for row in rows], preemptions[0]


def allowed(state, token):
    return (token * 3 + state) % STATES < 4


def expected(prompt, temperature, has_grammar):
    tokens, state = list(prompt), len(prompt) % STATES
    while len(tokens) < len(prompt) + LENGTH:
        logits = logits_behind(tokens)
        if has_grammar:
            logits = [x if allowed(state, token) else float("-inf")
                      for token, x in enumerate(logits)]
        tokens.append(pick(logits, temperature, len(tokens) - 1))
        state = (state + tokens[-1]) % STATES
    return tokens[len(prompt):]


def check(method, artifact, device="cpu"):
    max_k = MAX_K[method]
    total = ahead = 0
    for temperature in (0, 1):
        model = {(i, guided): expected(prompt, temperature, guided)
                 for i, prompt in enumerate(PROMPTS) for guided in (False, True)}

        def compare(results, who, *where):
            for i, ((_, _, output), of) in enumerate(zip(results, who)):
                wanted = model[i, of in "ga"]
                assert output == wanted, (where, temperature, i, of, output, wanted)

        # The simulated GPU is slow.
        depths = range(max_k + 1) if device == "cpu" else (max_k,)
        batches = (1, 2, 3, 4) if device == "cpu" else (3,)
        for k, batch in itertools.product(depths, batches):
            for who in ("gngn", "agas"):
                results, _ = run(artifact, device, k, batch, 0, temperature, who)
                compare(results, who, k, batch)
                total += sum(accepted for _, accepted, _ in results)
        for k in depths:
            plain, _ = run(artifact, device, k, 4, 0, temperature, "nnnn")
            seen, _ = run(artifact, device, k, 4, 0, temperature, "snss")
            assert seen == plain, (k, temperature, seen, plain)
            compare(plain, "nnnn", k)
            results, preemptions = run(artifact, device, k, 4, 14, temperature, "gasn")
            assert preemptions > 0, (k, temperature)
            compare(results, "gasn", k, "tight")
            if k and device == "cpu":
                kept = [run(artifact, device, k, 4, 0, temperature, who * 4)[0]
                        for who in "ga"]
                ahead += (sum(row[1] for row in kept[1]) > sum(row[1] for row in kept[0]))
    assert total > 0
    # The tokens that may follow the anchor are known before the round, so drafts picked by the same
    # region may obey the grammar, too.
    assert (ahead > 0) == (method == "grammar" and device == "cpu"), ahead
    print(f"{method}: {total} drafts kept, as expected")


check(*sys.argv[1:])
