#!/usr/bin/env python3
"""Runs a method and compares it with a model.

  check.py METHOD ARTIFACT

The output must be that of k = 0 at any k, batch and temperature, with preemption and with reused
prefixes. So the output is known, and a few lines of Python compute what each round drafts and
accepts. Acceptance must match exactly.
"""

import functools
import itertools
import json
import subprocess
import sys

import drafters
import target
import weights
import weightless

MAX_K = {"lookup": 4, "ngram": 4, "suffix": 5, "lookup_eagle": 4,
         "branches": 4, "siblings": 5, "reduced": 3, "walked": 3,
         "eagle": 4, "eagle26": 4, "eagle_tree": 10, "eagle2": 16, "dflash": 5, "heads": 3,
         "heads_tree": 3, "lookup_tree": 3, "head_layers": 2,
         "early": 4, "early_tree": 5, "latest": 4, "between": 4, "wide": 3, "topology": 4,
         "lookahead": 10, "random_tree": 5}
# Only some k for a deep tree.
SOME_K = {"lookahead": (1, 4, 10)}
# Pages for little more than one of the sequences, and a round's nodes.
PAGES = {"lookahead": 22}
LENGTH = 40
# The largest number of tokens of a sequence, from all methods' envelopes.
CONTEXT = 96
PARENTS = [-1, 0, 0, 1, 2]
SMALL_TREE = [-1, 0, 0, 1]
PROMPTS = [[5, 9, 2, 5, 9], [1], list(range(30, 51)), [7, 7, 7, 3] * 5]


def run(artifact, prompts, k, temperature, *options, length=LENGTH):
    """Runs prompts by one thread, because lit runs a test on each processor, or by two threads if
    the number of pages is limited."""
    threads = "2" if "--kv-pages" in options else "1"
    command = ["mtp-run", artifact, "--json", "-k", str(k), "-n", str(length), "--seed", "11",
               "--threads", threads, "--temperature", str(temperature), *options]
    for prompt in prompts:
        command += ["--ids", ",".join(map(str, prompt))]
    result = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    return json.loads(result.stdout)


def lookup_round(tokens, n, k, temperature):
    """Returns the number of accepted drafts and of drafts after tokens[n], the last known token.
    There is no draft if the anchor occurs for the first time."""
    seen = max((p for p in range(n) if tokens[p] == tokens[n]), default=n)
    period = max(n - seen, 1)
    drafts = [tokens[p] if (p := seen + 1 + j % period) <= n else None for j in range(k)]
    kept = 0
    while kept < k and n + 1 + kept < len(tokens) and drafts[kept] == tokens[n + 1 + kept]:
        kept += 1
    return kept, 0 if seen == n else k


def kept_of(drafts, tokens, n):
    """Returns the number of a chain's drafts that match the text."""
    kept = 0
    while kept < min(len(drafts), len(tokens) - n - 1) and (
            drafts[kept] == tokens[n + 1 + kept]):
        kept += 1
    return kept


def found_round(draft):
    """Returns a round with the drafts that `draft` finds after the known tokens."""
    def play(tokens, n, k, temperature):
        drafts = draft(tokens[:n + 1], k)
        return kept_of(drafts, tokens, n), len(drafts)
    return play


def lookup_eagle_round(tokens, n, k, temperature):
    """EAGLE's chain, if lookup finds nothing."""
    known = tokens[:n + 1]
    drafts = weightless.lookup(known, k, 2, 3) or drafters.eagle(tuple(known), k, temperature)
    return kept_of(drafts, tokens, n), len(drafts)


def lookup_tree_round(tokens, n, k, temperature):
    """The heads' tree if lookup finds nothing, else its drafts in a row."""
    known = tokens[:n + 1]
    found = weightless.lookup(known, k, 2, 3)
    if found:
        return kept_of(found, tokens, n), len(found)
    drafts, parents = drafters.heads_tree(tuple(known), k, temperature)
    return deepest(drafts, parents, tokens, n), k


def depths_of(parents):
    depths = [0]
    for parent in parents[1:]:
        depths.append(depths[parent] + 1)
    return depths


def depth(parents, k):
    """Returns the largest number of drafts on a path in a tree's first k + 1 nodes."""
    return max(depths_of(parents[:k + 1]))


def best(row, without=None):
    return max((t for t in range(len(row)) if t != without), key=lambda t: (row[t], -t))


BIGRAMS = dict(weights.tensors())["bigrams"]


def branches_round(tokens, n, k, temperature):
    first = best(BIGRAMS[tokens[n]])
    second = best(BIGRAMS[tokens[n]], without=first)
    drafts = [None, first, second, best(BIGRAMS[first]), best(BIGRAMS[second])][:k + 1]
    node, kept = 0, 0
    for child in range(1, k + 1):
        position = n + 1 + kept
        if (PARENTS[child] == node and position < len(tokens)
                and drafts[child] == tokens[position]):
            node, kept = child, kept + 1
    return kept, depth(PARENTS, k)


def small_tree_round(vocabulary):
    def play(tokens, n, k, temperature):
        def draft(token, row, without=()):
            return target.pick(BIGRAMS[token], temperature, row, vocabulary, without)
        first = draft(tokens[n], n)
        drafts = [None, first, draft(tokens[n], n, [first]), draft(first, n + 1)][:k + 1]
        node, kept = 0, 0
        for child in range(1, k + 1):
            position = n + 1 + kept
            if (SMALL_TREE[child] == node and position < len(tokens)
                    and drafts[child] == tokens[position]):
                node, kept = child, kept + 1
        return kept, depth(SMALL_TREE, k)
    return play


def between_drafts(known, k, temperature):
    drafts, token = [], known[-1]
    for d in range(k):
        token = target.pick(BIGRAMS[token], temperature, len(known) - 1 + d, without=[token])
        drafts.append(token)
    if k > 2:
        drafts[2] = min(drafts[2] + 1, len(BIGRAMS) - 1)
    return drafts


def chain_round(draft):
    """Returns a round with a chain of drafts that `draft` makes from the known tokens."""
    def play(tokens, n, k, temperature):
        kept = 0
        for token in draft(tuple(tokens[:n + 1]), k, temperature):
            if n + 1 + kept == len(tokens) or tokens[n + 1 + kept] != token:
                break
            kept += 1
        return kept, k
    return play


EAGLE_TREE = [-1, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 3, 3, 4, 5, 5, 5, 6, 6, 7, 8, 15, 15, 16, 20]


def eagle26_round(tokens, n, k, temperature):
    """A round of the tree of depth k, with all nodes that are no deeper."""
    nodes = sum(of <= k for of in depths_of(EAGLE_TREE))
    ahead = tuple(tokens[n + 1:n + 1 + k])
    return drafters.eagle26(tuple(tokens[:n + 1]), ahead, EAGLE_TREE[:nodes], temperature), k


class Lookahead:
    """Follows the rounds of one sequence: a round needs what the preceding ones learnt."""

    def __init__(self, window, size, guesses):
        self.sizes, self.text = (window, size, guesses), None
        self.most_k = window + size - 3

    def __call__(self, tokens, n, k, temperature):
        if self.text is not tokens:
            self.text, self.own = tokens, weightless.Lookahead(*self.sizes)
        known, parents = tokens[:n + 1], self.own.parents
        drafts = self.own.draft(known)
        kept, live, paths = {0: 0}, {0: 0}, {0: known}
        # No node has a place beyond the context.
        for node in range(1, min(len(parents) - self.most_k + k, CONTEXT - n)):
            parent = parents[node]
            if drafts[node] < 0 or live.get(parent, k) == k:
                continue
            live[node] = live[parent] + 1
            paths[node] = paths[parent] + [drafts[node]]
            position = n + live[node]
            if parent in kept and position < len(tokens) and drafts[node] == tokens[position]:
                kept[node] = live[node]
        # The pick of a padding row is token 0.
        self.own.learn(drafts, lambda node: target.pick(
            target.logits_behind(paths[node]), 0, 0) if node in paths else 0, k)
        self.own.accepted = max(kept.values())
        return self.own.accepted, max(live.values())


def deepest(drafts, parents, tokens, n):
    """Returns the depth of the deepest node whose whole path matches the text."""
    kept = {0: 0}
    for node in range(1, len(drafts)):
        above = kept.get(parents[node])
        position = n + 1 + above if above is not None else len(tokens)
        if position < len(tokens) and drafts[node] == tokens[position]:
            kept[node] = above + 1
    return max(kept.values())


def tree_round(draft):
    """Returns a round with a tree that `draft` makes from the known tokens."""
    def play(tokens, n, k, temperature):
        drafts, parents = draft(tuple(tokens[:n + 1]), k, temperature)
        return deepest(drafts, parents, tokens, n), depth(parents, k)
    return play


def tree_of_depth(draft):
    """Returns a round with a tree of depth k."""
    def play(tokens, n, k, temperature):
        drafts, parents = draft(tuple(tokens[:n + 1]), k, temperature)
        return deepest(drafts, parents, tokens, n), k
    return play


SHAPES = [[-1, 0, 1, 2, 3], [-1, 0, 0, 0, 0], [-1] * 5, [-1, 0, 0, 1, 2]]


def topology_round(tokens, n, k, temperature):
    def draft(token, row, without=()):
        return target.pick(BIGRAMS[token], temperature, row, None, without)
    shape = (tokens[n] + n) % len(SHAPES)
    parents = SHAPES[shape]
    if shape == 2:
        return 0, 0
    best = draft(tokens[n], n)
    drafts = [tokens[n], best]
    if shape == 1:
        while len(drafts) <= k:
            drafts.append(draft(tokens[n], n, drafts[1:]))
    elif shape == 0:
        while len(drafts) <= k:
            drafts.append(draft(drafts[-1], n + len(drafts) - 1))
    else:
        likelier = draft(best, n + 1)
        drafts += [best, draft(best, n + 1, [likelier]), likelier]
    return deepest(drafts[:k + 1], parents, tokens, n), depth(parents, k)


class RandomTree:
    """Nodes after the anchor with random parents, and the shapes that occurred."""
    NODES, MAX_K = 24, 5

    def __init__(self):
        self.shapes, self.kept_of_depth = set(), [0] * (self.MAX_K + 1)
        self.missing = {"not before": 0, "dead": 0, "too deep": 0, "no draft": 0}

    def draft(self, anchor, n):
        """Returns drafts and parents of all nodes, as in the module."""
        tokens, drafts, parents = [anchor], [None], [-1]
        for node in range(1, self.NODES):
            def draw(number, count):
                whole = int(target.uniform(n, anchor * 512 + node * 8 + number) * 2 ** 24)
                return whole * count >> 24
            before, any_number = draw(0, node), draw(1, 64) - 20
            parents.append(any_number if draw(2, 8) == 0 else before)
            row = BIGRAMS[tokens[before]]
            ranked = sorted(range(len(row)), key=lambda t: (-row[t], t))
            tokens.append(ranked[max(2 - draw(3, 8), 0)])
            drafts.append(-1 if draw(4, 20) == 0 else tokens[-1])
        return drafts, parents

    def __call__(self, tokens, n, k, temperature):
        drafts, parents = self.draft(tokens[n], n)
        self.shapes.add(tuple(parents))
        kept, depths = {0: 0}, {0: 0}
        # A smaller k leaves out the last nodes, and no node has a place beyond the context.
        for node in range(1, min(self.NODES - self.MAX_K + k, CONTEXT - n)):
            parent, position = parents[node], n + 1 + depths.get(parents[node], 0)
            reason = ("not before" if not 0 <= parent < node else
                      "dead" if parent not in depths else
                      "too deep" if depths[parent] == k else
                      "no draft" if drafts[node] < 0 else None)
            if reason:
                self.missing[reason] += 1
                continue
            depths[node] = depths[parent] + 1
            if parent in kept and position < len(tokens) and drafts[node] == tokens[position]:
                kept[node] = depths[node]
        deep = max(kept.values())
        self.kept_of_depth[deep] += 1
        return deep, max(depths.values())

    def check(self):
        """Checks that all shapes of a tree occurred."""
        assert len(self.shapes) > 100, len(self.shapes)
        assert all(self.missing.values()), self.missing
        assert all(self.kept_of_depth[:4]), self.kept_of_depth


@functools.lru_cache(maxsize=None)
def expected(method, prompt, output, k, temperature):
    """Returns the number of rounds of a sequence, of accepted drafts (the last round may accept
    more than are output), and of drafts by position. A sequence is in several batches."""
    tokens, rounds, kept, made = list(prompt + output), 0, 0, [0] * k
    n = len(prompt)  # the anchor: the first token of the output
    while n + 1 < len(prompt) + LENGTH:
        accepted, drafts = method(tokens, n, k, temperature)
        rounds, kept = rounds + 1, kept + accepted
        made = [count + (place < drafts) for place, count in enumerate(made)]
        n += accepted + 1
    return rounds, kept, made


def check(name, artifact):
    # A module's drafts need a model.
    method = {"lookup": lookup_round,
              "ngram": found_round(lambda known, k: weightless.lookup(known, k, 2, 3)),
              "suffix": found_round(lambda known, k: weightless.suffix(known, k, 6, 30)),
              "lookup_eagle": lookup_eagle_round,
              "lookup_tree": lookup_tree_round,
              "branches": branches_round, "siblings": None,
              "reduced": small_tree_round(weights.REDUCED),
              "walked": small_tree_round(None),
              "eagle": chain_round(drafters.eagle),
              "eagle26": eagle26_round,
              "lookahead": Lookahead(8, 5, 8),
              "random_tree": RandomTree(),
              "eagle_tree": tree_round(drafters.eagle_tree),
              "eagle2": tree_round(drafters.eagle2),
              "heads": chain_round(drafters.heads),
              "heads_tree": tree_of_depth(drafters.heads_tree),
              "head_layers": chain_round(drafters.head_layers),
              "dflash": chain_round(drafters.dflash),
              "wide": chain_round(drafters.wide),
              "early": chain_round(drafters.early_exit),
              "early_tree": tree_round(drafters.early_tree),
              "latest": found_round(weightless.latest),
              "between": chain_round(between_drafts),
              "topology": topology_round}[name]
    total, rounds_of = 0, {}
    for temperature, batch in itertools.product((0, 1), (1, 2, 3, 4)):
        prompts = PROMPTS[:batch]
        plain = run(artifact, prompts, 0, temperature, length=LENGTH + MAX_K[name])
        longer = [s["output_ids"] for s in plain["sequences"]]
        outputs = [output[:LENGTH] for output in longer]
        for k in SOME_K.get(name, range(1, MAX_K[name] + 1)):
            got = run(artifact, prompts, k, temperature)
            assert [s["output_ids"] for s in got["sequences"]] == outputs, (temperature, batch, k)
            tight = run(artifact, prompts, k, temperature, "--kv-pages",
                        str(PAGES.get(name, 14)))
            assert [s["output_ids"] for s in tight["sequences"]] == outputs, (temperature, batch, k)
            if batch == 4:
                assert tight["preemptions"] > 0, tight
            # A cached prefix: one prompt twice, one after the other.
            twice = run(artifact, prompts[-1:] * 2, k, temperature, "--max-batch", "1")
            for sequence in twice["sequences"]:
                assert sequence["output_ids"] == outputs[batch - 1], (temperature, batch, k)
            if len(prompts[-1]) > 16:
                assert twice["sequences"][1]["cached_tokens"] > 0, twice
            rounds_of[temperature, batch, k] = sum(s["rounds"] for s in got["sequences"])
            # At a temperature, branches samples its drafts with the target's noise.
            if not method or (temperature and name == "branches"):
                total += sum(got["accepted"])
                continue
            for prompt, output, result in zip(prompts, longer, got["sequences"]):
                rounds, kept, made = expected(
                    method, tuple(prompt), tuple(output), k, temperature)
                assert (result["rounds"], sum(result["accepted"]), result["drafted"]) == (
                    rounds, kept, made), (temperature, batch, k, result, rounds, kept, made)
                total += kept
            assert twice["sequences"][0]["accepted"] == twice["sequences"][1]["accepted"], twice
    assert total > 100, total
    if name == "random_tree":
        method.check()
    if name == "siblings":
        # A second child, and children of the first, save rounds.
        assert rounds_of[0, 4, 5] < rounds_of[0, 4, 2] < rounds_of[0, 4, 1], rounds_of
    print(f"{name}: {total} drafts kept, as expected")


if __name__ == "__main__":
    check(*sys.argv[1:])
