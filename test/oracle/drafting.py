"""Rounds of drafting and greedy verification by drafters.py, one after the other.

Topologies are built from one question to the drafter, its logits after a path:

  chain:K                    the likeliest token, K times
  confident:K,PERCENT        a chain that ends before the first draft with a lower confidence (DSpark)
  likely:K,PERCENT           a chain that ends before the first draft with a lower probability, its
                             share of the softmax that it is picked by
  block:K                    a chain of a block with only the rows of K drafts (DFlash, DSpark)
  static                     paths of ranks, as the authors' lists: [0, 1] is the second likeliest
                             child of the likeliest token
  dynamic:DEPTH,WIDTH,NODES  EAGLE-2 (arXiv 2406.16858): a beam of WIDTH, DEPTH times; the NODES
                             likeliest of all candidates are kept. With a fourth number P a node's
                             WIDTH children share it by the P-th power of their probabilities

A topology with @T is for a text sampled at temperature T. The target's token at a position has the
largest sum of logit / T and the position's Gumbel noise, and so has the drafter's (`Drawn`).

Node 0 is the anchor, and nodes follow their parents. Ties go to the lower token, then to the
earlier candidate. The target's own text decides what is accepted, so verification needs no second
forward.
"""
import functools, math

import torch

SEED = 11


def philox(counter, key):
    """Returns Philox4x32-10 (Salmon et al., SC 2011)."""
    c, k, mask = list(counter), list(key), 0xFFFFFFFF
    for _ in range(10):
        left, right = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(right >> 32) ^ c[1] ^ k[0], right & mask, (left >> 32) ^ c[3] ^ k[1], left & mask]
        k = [(k[0] + 0x9E3779B9) & mask, (k[1] + 0xBB67AE85) & mask]
    return c


@functools.lru_cache(maxsize=None)
def noise(position, vocab):
    """Returns the noise of all tokens at a position, as defined in runtime/schema/FORMAT.md."""
    words = [w for block in range((vocab + 3) // 4) for w in philox((position, 1, block, 0), (SEED, 0))]
    return torch.tensor([-math.log(-math.log((w + 0.5) / 2 ** 32)) for w in words[:vocab]])


class Drawn:
    """A drafter whose logits are divided by the temperature and have the noise of the drafted
    position."""

    def __init__(self, drafter, temperature):
        self.drafter, self.temperature = drafter, temperature
        self.target, self.begin = drafter.target, drafter.begin

    def logits(self, n, path):
        z = self.drafter.logits(n, path)
        return z / self.temperature + noise(n + 1 + len(path), len(z))


class Margin:
    """The least distance between a choice and the next. Other arithmetic may change a smaller one.
    """

    def __init__(self):
        self.least = float("inf")

    def best(self, scores, count):
        """Returns the indices of the `count` largest scores, ties to the lower index."""
        order = torch.sort(scores, descending=True, stable=True)
        count = min(count, len(scores))
        gaps = (order[0][:count] - order[0][1:count + 1]) if count < len(scores) else order[0][:count - 1] - order[0][1:count]
        if len(gaps):
            self.least = min(self.least, float(gaps.min()))
        return order[1][:count].tolist()


def chain(drafter, n, anchor, margin, k):
    tokens, parents = [anchor], [-1]
    for i in range(k):
        tokens.append(margin.best(drafter.logits(n, tokens[1:]), 1)[0])
        parents.append(i)
    return tokens, parents


def confident(drafter, n, anchor, margin, k, percent):
    tokens, parents = chain(drafter, n, anchor, margin, k)
    for i in range(k):
        above = float(torch.sigmoid(drafter.confidence(n, tokens[1:i + 1]))) - percent / 100
        margin.least = min(margin.least, abs(above))
        if above < 0:
            return tokens[:i + 1], parents[:i + 1]
    return tokens, parents


def likely(drafter, n, anchor, margin, k, percent):
    tokens, parents = chain(drafter, n, anchor, margin, k)
    for i in range(k):
        p = torch.softmax(drafter.logits(n, tokens[1:i + 1]).double(), -1)
        above = float(p[tokens[i + 1]]) - percent / 100
        margin.least = min(margin.least, abs(above))
        if above < 0:
            return tokens[:i + 1], parents[:i + 1]
    return tokens, parents


def block(drafter, n, anchor, margin, k):
    drafter.drafts = k
    return chain(drafter, n, anchor, margin, k)


def static(drafter, n, anchor, margin, paths):
    """Builds a static tree. paths: lists of ranks; nodes are sorted by depth, then by ranks."""
    paths = sorted((tuple(p) for p in paths), key=lambda p: (len(p), p))
    width = {}   # the number of children that each node needs
    for p in paths:
        width[p[:-1]] = max(width.get(p[:-1], 0), p[-1] + 1)
    tokens, parents, index, drafted, children = [anchor], [-1], {(): 0}, {(): ()}, {}
    for p in paths:
        up = p[:-1]
        if up not in children:
            children[up] = margin.best(drafter.logits(n, list(drafted[up])), width[up])
        token = children[up][p[-1]]
        index[p], drafted[p] = len(tokens), drafted[up] + (token,)
        tokens.append(token)
        parents.append(index[up])
    return tokens, parents


def dynamic(drafter, n, anchor, margin, depth, width, nodes, power=None):
    """Builds a dynamic tree. depth: the number of expansions; nodes: the number of drafted nodes.
    """
    def children(path, score, parent):
        p = torch.log_softmax(drafter.logits(n, list(path)), -1)
        best = margin.best(p, width)
        logs = p[best] if power is None else torch.log_softmax(power * p[best].double(), -1)
        return [(path + (t,), score + float(log), parent) for t, log in zip(best, logs)]

    all_ = children((), 0.0, -1)
    beam = list(range(len(all_)))
    for _ in range(depth):
        level = []
        for i in beam:
            level += children(all_[i][0], all_[i][1], i)
        first = len(all_)
        all_ += level
        scores = torch.tensor([s for _, s, _ in level], dtype=torch.float64)
        beam = [first + i for i in margin.best(scores, width)]
    scores = torch.tensor([s for _, s, _ in all_], dtype=torch.float64)
    kept = sorted(margin.best(scores, nodes))
    at = {i: k + 1 for k, i in enumerate(kept)}
    return [anchor] + [all_[i][0][-1] for i in kept], [-1] + [0 if all_[i][2] < 0 else at[all_[i][2]] for i in kept]


def build(drafter, n, anchor, margin, topology):
    if isinstance(topology, list):
        return static(drafter, n, anchor, margin, topology)
    kind, numbers = topology.split("@")[0].split(":")
    numbers = [int(i) for i in numbers.split(",")]
    return {"chain": chain, "confident": confident, "likely": likely, "block": block, "dynamic": dynamic}[kind](drafter, n, anchor, margin, *numbers)


def walk(tokens, parents, following):
    """Returns the nodes that agree with the target's own text `following`, from the anchor on."""
    path, node = [], 0
    for wanted in following:
        node = next((i for i, p in enumerate(parents) if p == node and tokens[i] == wanted), None)
        if node is None:
            break
        path.append(node)
    return path


def temperature_of(topology):
    return float(topology.split("@")[1]) if "@" in topology else 0.0


def rounds(drafter, ids, prompt, end, topology, margin):
    """Returns the rounds on the target's text ids (longer than `end` by the topology's depth) after
    a prompt of `prompt` tokens, until `end` tokens are known. drafter.target has the target's
    states of all rows."""
    drafter.begin()
    if temperature_of(topology):
        drafter = Drawn(drafter, temperature_of(topology))
    n, out = prompt, []
    while n < end - 1:
        tokens, parents = build(drafter, n, ids[n], margin, topology)
        path = walk(tokens, parents, ids[n + 1:])
        emitted = ids[n + 1:n + 2 + len(path)]
        out.append({"position": n, "tokens": tokens, "parents": parents, "path": path, "emitted": emitted})
        n += len(emitted)
    return out
