#!/usr/bin/env python3
"""Compares picks with rules with an oracle of vLLM's formulas. Standard library only.

  logit_rules.py MODEL.bin
  logit_rules.py MODEL.bin --drafts

The model's own logits come from prompt_logits, which has no rules. The oracle applies the rules in
the order of vLLM's sampler, with every operation rounded to f32: end tokens are masked, the bias is
added, then come the repetition, frequency and presence penalties. Each greedy token must be the
best of the oracle's logits, at k = 0 and with drafts. With --drafts, compares the drafts with the
biases of the request instead, for a drafter with a vocabulary of its own.
"""

import json
import math
import pathlib
import struct
import subprocess
import sys
import tempfile

ROWS = 32  # of prompt_logits: the chunk of the artifact
PROMPT = [5, 9, 2, 5, 9, 40, 41]
LENGTH = 24


def f32(value):
    return struct.unpack("f", struct.pack("f", value))[0]


def penalized(logits, prompt, output, rules):
    """Returns the logits of the row after prompt and output."""
    result = list(logits)
    if len(output) < rules.get("min", 0):
        for token in rules["stop"]:
            result[token] = -math.inf
    for token, bias in rules.get("bias", {}).items():
        result[token] = f32(result[token] + f32(bias))
    repetition, frequency, presence = (
        f32(rules.get(name, neutral))
        for name, neutral in (("repetition", 1), ("frequency", 0), ("presence", 0)))
    for token in set(prompt) | set(output):
        logit = result[token]
        result[token] = f32(logit / repetition if logit > 0 else logit * repetition)
    for token in set(output):
        result[token] = f32(result[token] - f32(frequency * output.count(token)))
        result[token] = f32(result[token] - presence)
    return result


def flags_of(rules):
    flags = []
    for name in ("repetition", "frequency", "presence"):
        if name in rules:
            flags.append(f"--{name}-penalty={rules[name]}")
    for token, bias in rules.get("bias", {}).items():
        flags.append(f"--logit-bias={token}={bias}")
    if "min" in rules:
        flags += [f"--min-tokens={rules['min']}",
                  "--stop-id=" + ",".join(map(str, rules["stop"]))]
    return flags


def run(artifact, k, rules, prompt=PROMPT, length=LENGTH, more=()):
    command = ["mtp-run", artifact, "--json", "-k", str(k), "-n", str(length), "--ignore-eos",
               "--temperature=0", "--threads=1", "--ids", ",".join(map(str, prompt)),
               *flags_of(rules), *more]
    result = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    return json.loads(result.stdout)["sequences"][0]


def generate(artifact, k, rules):
    return run(artifact, k, rules)["output_ids"]


def count_accepted(artifact):
    """Returns the number of accepted drafts of texts that do not depend on k. Rows that do not
    count the drafts on their paths make three of these texts differ."""
    accepted = 0
    for number in range(12):
        prompt = [(number * 17 + i * 5) % 112 for i in range(6 + number)]
        for rules in ({"frequency": -0.5}, {"frequency": 0.6}, {"repetition": 1.6},
                      {"presence": 1.5}):
            plain, drafted = (run(artifact, k, rules, prompt, 45) for k in (0, 3))
            assert plain["output_ids"] == drafted["output_ids"], (prompt, rules)
            accepted += sum(drafted["accepted"])
    return accepted


def raw_logits(artifact, text):
    """Returns the model's logits after each token of a text."""
    padding = ROWS - len(text)
    inputs = [text + [0] * padding, [0] * ROWS, list(range(len(text))) + [-1] * padding]
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "logits.npy"
        subprocess.run(["mtp-run", artifact, "--function=@prompt_logits",
                        *(f"--input={ROWS}xi32={numbers}" for numbers in inputs),
                        f"--output=@{path}"], check=True, stdout=subprocess.DEVNULL)
        data = path.read_bytes()
    begin = 10 + struct.unpack_from("<H", data, 8)[0]
    values = struct.unpack_from(f"<{(len(data) - begin) // 4}f", data, begin)
    width = len(values) // ROWS
    return [values[row * width:(row + 1) * width] for row in range(len(text))]


def check(artifact, rules):
    """Returns the number of tokens that the rules changed."""
    tokens = generate(artifact, 0, rules)
    assert tokens == generate(artifact, 3, rules), rules
    logits = raw_logits(artifact, PROMPT + tokens)
    changed = 0
    for i, token in enumerate(tokens):
        row = logits[len(PROMPT) + i - 1]
        own = penalized(row, PROMPT, tokens[:i], rules)
        best = own.index(max(own))
        assert token == best, (rules, i, token, best, own[token], own[best])
        changed += best != row.index(max(row))
    return changed


def check_drafts(artifact):
    """Returns the number of drafts that follow the biases of their tokens."""
    count = 0
    for bias, allows in (({token: -math.inf for token in range(112) if token // 2 % 2 == 0},
                          lambda token: token // 2 % 2 == 1),
                         ({6: 50.0}, lambda token: token == 6)):
        plain = run(artifact, 0, {"bias": bias})
        drafted = run(artifact, 3, {"bias": bias}, more=("--draft-rounds",))
        assert plain["output_ids"] == drafted["output_ids"], bias
        drafts = [token for r in drafted["draft_rounds"] for token in r["drafts"]]
        assert all(allows(token) for token in drafts), (bias, drafts)
        count += len(drafts)
    return count


def main():
    if "--drafts" in sys.argv:
        print(f"{check_drafts(sys.argv[1])} drafts as biased")
        return
    total = 0
    for rules in (
            {"repetition": 1.5}, {"repetition": 0.8}, {"frequency": 0.7}, {"presence": 1.9},
            {"frequency": -0.3, "presence": 0.6, "repetition": 1.1},
            {"bias": {3: 2.5, 17: "-inf", 40: -1.25}},
            {"bias": {7: 1.5, 9: 0.5}, "repetition": 1.3, "frequency": 0.25},
            {"min": 9, "stop": list(range(0, 112, 2)), "presence": 0.5}):
        rules = {**rules, "bias": {t: float(b) for t, b in rules.get("bias", {}).items()}}
        total += check(sys.argv[1], rules)
    print(f"{total} tokens changed, all as the formulas say")
    print(f"{count_accepted(sys.argv[1])} drafts accepted, and no text changed")


if __name__ == "__main__":
    main()
