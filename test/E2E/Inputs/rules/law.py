#!/usr/bin/env python3
"""Runs the models of models.py: law.py RULE ARTIFACT [FLAGS..]

A lossless rule must output the target's distribution: 200,000 tokens, by the two tokens before
each, by chi-square. A mistake must fail the test. With rules of logits in the request the target's
distribution is that of the changed logits. Each rule must output one text per seed, for any
batch, threads and chunks, and after preemption.
"""

import collections
import itertools
import json
import os
import subprocess
import sys

import models

DRAWS, LENGTH = 200_000, 25_000
# The cube root of chi-square is nearly normal; allows 4 standard deviations.
DEVIATIONS = 4.0
SETTINGS = [(1.0, 0, 1.0, 0.0), (0.7, 5, 0.9, 0.05)]
MISTAKES = ("block_by_position", "softmax_of_best")


def run(artifact, prompts, k, setting, seed, *flags, count=LENGTH):
    temperature, top_k, top_p, min_p = setting
    threads = () if "--threads" in flags else ("--threads", "1")
    command = ["mtp-run", artifact, "--json", *threads, "-k", str(k), "-n", str(count),
               "--seed", str(seed),
               "--temperature", str(temperature), "--top-k", str(top_k), "--top-p", str(top_p),
               "--min-p", str(min_p), *flags]
    for prompt in prompts:
        command += ["--ids", ",".join(map(str, prompt))]
    result = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(result.stdout)


def deviations(artifact, setting, flags, target, count=DRAWS):
    """Returns the deviation of the tokens from the distribution of a table of logits, in standard
    deviations, and AL."""
    counts, before = collections.Counter(), collections.Counter()
    rounds = tokens = 0
    for seed in range(count // LENGTH):
        got = run(artifact, [[seed % models.COLUMNS]], 3, setting, seed, *flags)["sequences"][0]
        ids = [seed % models.COLUMNS] + got["output_ids"]
        rounds, tokens = rounds + got["rounds"], tokens + len(ids) - 2
        for triple in zip(ids, ids[1:], ids[2:]):
            counts[triple] += 1
            before[triple[:2]] += 1
    law = [models.distribution(row, *setting) for row in target]
    square = degrees = 0
    for (a, b), total in before.items():
        parts = [(total * share, counts[a, b, c]) for c, share in enumerate(law[b])]
        assert all(n == 0 for share, n in parts if share == 0), (a, b, "a token that is filtered")
        # Rare values count together.
        some = [(share, n) for share, n in parts if share >= 5]
        rest = [part for part in parts if part[0] < 5]
        if sum(share for share, _ in rest) >= 5:
            some.append((sum(share for share, _ in rest), sum(n for _, n in rest)))
        square += sum((n - share) ** 2 / share for share, n in some)
        degrees += max(len(some) - 1, 0)
    spread = 2 / (9 * degrees)
    return ((square / degrees) ** (1 / 3) - (1 - spread)) / spread ** 0.5, tokens / rounds


def check_law(name, artifact, flags):
    target = models.TARGET
    if name in models.RULED:
        target = [models.ruled(row) for row in target]
        flags = flags + models.RULE_FLAGS
    lengths = []
    for setting in SETTINGS:
        far, length = deviations(artifact, setting, flags, target)
        lengths.append(length)
        if name not in MISTAKES:
            assert far < DEVIATIONS, (name, setting, far)
    if name in MISTAKES:
        assert far > 3 * DEVIATIONS, (name, "expected to be found out", far)
        return f"{name}: found out"
    # Drafts that are the best of their logits do not know the rules of the request.
    assert min(lengths) > (1.05 if name in models.RULED else 1.2), (name, lengths)
    # At temperature 0 all rules except lossy ones are exact.
    greedy = [[1] + run(artifact, [[1]], k, (0, 0, 1.0, 0.0), 1, *flags,
                        count=50)["sequences"][0]["output_ids"] for k in range(4)]
    assert all(ids == greedy[0] for ids in greedy), (name, greedy)
    # The penalty changes while a text does not have all tokens.
    if name not in models.RULED:
        for a, b in zip(greedy[0], greedy[0][1:]):
            assert b == target[a].index(max(target[a])), (name, greedy[0])
    return f"{name}: the law is the target's"


PROMPTS = [[1, 2, 3, 4, 5], [6] * 40, [2, 7, 1], [5, 3] * 10]


def check_lossy(name, artifact, flags):
    """Checks that a lossy rule is marked so, and accepts more than a lossless one."""
    far, _ = deviations(artifact, SETTINGS[0], flags, models.TARGET, count=LENGTH)
    assert far > DEVIATIONS, (name, far)
    return f"{name}: not the target's law"


def check_same(name, artifact, flags):
    """Checks that a seed gives one text in any run. On a simulated GPU only in part."""
    is_device = any("device" in flag for flag in flags)
    count = 16 if is_device else 120
    settings = [SETTINGS[1]] if is_device else [(0, 0, 1.0, 0.0), SETTINGS[1]]
    ways = [["--rounds-per-launch", "5"]]
    if not is_device:
        ways += [["--threads", "2"], ["--max-batch", "2"]]
    for k, setting in itertools.product((3,) if is_device else range(4), settings):
        def texts(prompts, *more):
            got = run(artifact, prompts, k, setting, 9, *flags, *more, count=count)
            return [s["output_ids"] for s in got["sequences"]], got

        alone = [texts([prompt])[0][0] for prompt in PROMPTS]
        for batch in (4,) if is_device else (2, 3, 4):
            assert texts(PROMPTS[:batch])[0] == alone[:batch], (name, k, batch)
        for way in ways:
            assert texts(PROMPTS, *way)[0] == alone, (name, k, way)
        tight, got = texts(PROMPTS, "--kv-pages", "8" if is_device else "24")
        assert tight == alone, (name, k, "preempted")
        assert got["preemptions"] > 0, (name, k)


def main(name, artifact, *flags):
    flags = list(flags)
    only_same = "--same" in flags
    if only_same:
        flags.remove("--same")
    is_lossy = "mtp.lossy" in models.RULES[models.RULED.get(name, name)][1]
    said = "" if only_same else (check_lossy if is_lossy else check_law)(name, artifact, flags)
    if name in models.RULED:
        flags += models.RULE_FLAGS + ["--frequency-penalty=0.2"]
    if name not in MISTAKES:
        check_same(name, artifact, flags)
    print(said or f"{name}: the same")


if __name__ == "__main__":
    if sys.argv[1] == "--write":
        models.write_weights(os.path.join(sys.argv[2], "tables.safetensors"))
        for rule in [*models.RULES, *models.RULED]:
            with open(os.path.join(sys.argv[2], f"{rule}.mlir"), "w", encoding="utf-8") as out:
                out.write(models.text(rule, *sys.argv[3:]))
    else:
        main(*sys.argv[1:])
