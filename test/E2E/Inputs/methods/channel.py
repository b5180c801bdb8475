#!/usr/bin/env python3
"""Runs the method whose requests bring a bias, and ask for numbers of each token and of each round,
and compares it with a model.

  channel.py ARTIFACT

Each prompt has its own bias, and one has none. Tokens, rounds and accepted drafts must be those of
a target and a drafter whose heads have that bias, at any batch, with preemption, and with reused
prefixes. Only requests with equal bias share prefixes.
"""

import itertools
import random
import sys

from check import LENGTH, PROMPTS, run
from target import WEIGHTS, hidden_behind, logits_behind, pick, product

MAX_K = 3
PARENTS = [-1, 0, 0, 1]
rng = random.Random(5)
# A strong bias, one that forbids even tokens, and none.
BIASES = [[rng.gauss(0, 2.0) for _ in range(64)],
          [-1000.0 * (token % 2 == 0) for token in range(64)], None,
          [rng.gauss(0, 0.5) for _ in range(64)]]


def biased(logits, bias):
    return [a + b for a, b in zip(logits, bias)] if bias else logits


def play(tokens, k, temperature, bias):
    """Returns the result of a round after `tokens`, the last of which is the anchor."""
    def draft(token, row, without=()):
        return pick(biased(WEIGHTS["bigrams"][token], bias), temperature, row,
                    without=without)
    row = len(tokens) - 1
    first = draft(tokens[-1], row)
    drafts = [None, first, draft(tokens[-1], row, [first]), draft(first, row + 1)]
    node, given = 0, []
    while True:
        given.append(pick(biased(logits_behind(tokens + given), bias), temperature,
                          row + len(given)))
        fits = [child for child in range(1, k + 1)
                if PARENTS[child] == node and drafts[child] == given[-1]]
        if not fits:
            return given
        node = fits[0]


def expected(prompt, k, temperature, bias):
    tokens = prompt + [pick(biased(logits_behind(prompt), bias), temperature,
                            len(prompt) - 1)]
    kept = []
    while len(tokens) < len(prompt) + LENGTH:
        given = play(tokens, k, temperature, bias)
        kept.append(len(given) - 1)
        tokens += given
    return tokens[len(prompt):][:LENGTH], kept


def literal(bias):
    return "64xf32=[" + ",".join(map(repr, bias)) + "]"


def inputs(prompts):
    flags = []
    for index, prompt in enumerate(prompts):
        if (bias := BIASES[PROMPTS.index(prompt)]):
            flags += ["--request-input", f"{index}:bias={literal(bias)}"]
    return flags


ASKED = ["--request-output", "kept", "--request-output", "probe"]


def check_outputs(prompt, result, kept):
    """Checks outputs. A prefill has none, and the last round may have more than are returned."""
    rounds, probe = result["outputs"]
    assert (rounds["name"], probe["name"]) == ("kept", "probe"), result
    output = result["output_ids"]
    assert rounds["rows"] == kept, (result, kept)
    put_out = [count + 1 for count in kept]
    put_out[-1] -= sum(put_out) - (LENGTH - 1)
    assert rounds["tokens"] == put_out, (result, kept)
    assert len(probe["rows"]) == LENGTH - 1, result
    for i, row in enumerate(probe["rows"]):
        wanted = product(WEIGHTS["probe"], hidden_behind(prompt + output[:i + 1]))
        assert all(abs(a - b) < 1e-3 for a, b in zip(row, wanted)), (i, row, wanted)


def check(artifact):
    total = 0
    for temperature, k in itertools.product((0, 1), range(MAX_K + 1)):
        model = [expected(prompt, k, temperature, bias)
                 for prompt, bias in zip(PROMPTS, BIASES)]
        outputs = [output for output, _ in model]
        for batch in (1, 2, 3, 4):
            prompts = PROMPTS[:batch]
            for asked in ([], ASKED):
                got = run(artifact, prompts, k, temperature, *inputs(prompts), *asked)
                for prompt, result, (output, kept) in zip(prompts, got["sequences"], model):
                    assert result["output_ids"] == output, (temperature, k, result, output)
                    assert (result["rounds"], sum(result["accepted"])) == (
                        len(kept), sum(kept)), (temperature, k, result, kept)
                    assert bool(asked) == ("outputs" in result), result
                    if asked:
                        check_outputs(prompt, result, kept)
                    total += sum(kept)
        tight = run(artifact, PROMPTS, k, temperature, "--kv-pages", "14", *inputs(PROMPTS),
                    *ASKED)
        assert tight["preemptions"] > 0, tight
        for prompt, result, (output, kept) in zip(PROMPTS, tight["sequences"], model):
            assert result["output_ids"] == output, (temperature, k, result, output)
            check_outputs(prompt, result, kept)
        check_reuse(artifact, k, temperature)
    print(f"channel: {total} drafts kept, as expected")


def check_reuse(artifact, k, temperature):
    """Runs one prompt three times: with a bias, without, and with that bias again."""
    prompt, bias = PROMPTS[2], BIASES[0]
    flags = []
    for index in (0, 2):
        flags += ["--request-input", f"{index}:bias={literal(bias)}"]
    got = run(artifact, [prompt] * 3, k, temperature, "--max-batch", "1", *flags)
    for result, own in zip(got["sequences"], (bias, None, bias)):
        assert result["output_ids"] == expected(prompt, k, temperature, own)[0], result
    cached = [sequence["cached_tokens"] for sequence in got["sequences"]]
    assert cached[0] == cached[1] == 0 < cached[2], cached


if __name__ == "__main__":
    check(*sys.argv[1:])
