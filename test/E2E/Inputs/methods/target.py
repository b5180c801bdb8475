"""The methods' target, its noise and its picks, in double precision.

If two choices are too close for rounding, a pick raises an error. Standard library only.
"""

import functools
import math
from operator import mul

import weights

SEED = 11
HEADS, KV_HEADS, WIDTH = 4, 2, 8
WEIGHTS = dict(weights.tensors())
# Least margin of a decision; f32 and f64 may disagree below it.
LEAST_MARGIN = 2e-5


def decided(margin, what):
    assert abs(margin) > LEAST_MARGIN, f"the model cannot tell: {what} by {margin}"


# The target.


def product(matrix, x):
    return [sum(map(mul, row, x)) for row in matrix]


def rotate(x, position):
    out = list(x)
    for head in range(0, len(x), WIDTH):
        for i in range(WIDTH // 2):
            angle = position * 10000.0 ** (-2 * i / WIDTH)
            a, b = x[head + i], x[head + i + WIDTH // 2]
            out[head + i] = a * math.cos(angle) - b * math.sin(angle)
            out[head + i + WIDTH // 2] = b * math.cos(angle) + a * math.sin(angle)
    return out


def attend(q, entries):
    out = []
    for head in range(HEADS):
        own = q[head * WIDTH:(head + 1) * WIDTH]
        at = head // (HEADS // KV_HEADS) * WIDTH
        scores = [sum(map(mul, own, k[at:at + WIDTH])) * WIDTH ** -0.5 for k, _ in entries]
        shares = softmax(scores)
        columns = zip(*(v[at:at + WIDTH] for _, v in entries))
        out += [sum(map(mul, shares, column)) for column in columns]
    return out


def softmax(logits, temperature=1.0):
    top = max(logits)
    parts = [math.exp((x - top) / temperature) for x in logits]
    total = sum(parts)
    return [x / total for x in parts]


def normed(x):
    scale = (sum(map(mul, x, x)) / len(x) + 1e-6) ** -0.5
    return [a * scale for a in x]


def entry(x, position, number):
    """Returns keys and values of x in layer `number`."""
    k, v = (product(WEIGHTS[f"layers.{number}.{name}"], normed(x)) for name in "kv")
    return rotate(k, position), v


def attended(x, position, entries, number):
    """Returns the attention of layer `number` for x, which sees these entries."""
    q, o = (WEIGHTS[f"layers.{number}.{name}"] for name in "qo")
    q = rotate(product(q, normed(x)), position)
    return [a + b for a, b in zip(x, product(o, attend(q, entries)))]


def layer(x, position, entries, number):
    """Returns the output of layer `number` for x, and the entries with x's added."""
    entries = entries + [entry(x, position, number)]
    return attended(x, position, entries, number), entries


@functools.lru_cache(maxsize=None)
def target(tokens):
    """Returns logits after `tokens`, the cache entries of each layer, and each layer's output for
    the last token."""
    before = target(tokens[:-1])[1] if len(tokens) > 1 else ([], [])
    x = WEIGHTS["embed"][tokens[-1]]
    caches, made = [], []
    for number, entries in enumerate(before):
        x, entries = layer(x, len(tokens) - 1, entries, number)
        caches.append(entries)
        made.append(x)
    return product(WEIGHTS["head"], x), tuple(caches), made


def logits_behind(tokens):
    return target(tuple(tokens))[0]


def hidden_behind(tokens):
    return target(tuple(tokens))[2][-1]


# Noise (runtime/schema/FORMAT.md).


@functools.lru_cache(maxsize=None)
def philox(counter, key):
    c, k = list(counter), list(key)
    mask = 0xFFFFFFFF
    for _ in range(10):
        left, right = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(right >> 32) ^ c[1] ^ k[0], right & mask, (left >> 32) ^ c[3] ^ k[1], left & mask]
        k = [(k[0] + 0x9E3779B9) & mask, (k[1] + 0xBB67AE85) & mask]
    return c


@functools.lru_cache(maxsize=None)
def gumbel(position, token, number=-1):
    word = philox((position, 1, token // 4, number + 1), (SEED, 0))[token % 4]
    return -math.log(-math.log((word + 0.5) / 2 ** 32))


def uniform(position, number):
    """Returns the number of a row's position; the row picks the token of the next position."""
    return (philox((position, 2, number, 0), (SEED, 0))[0] >> 8) / 2 ** 24


def pick(logits, temperature, row, tokens=None, without=(), number=-1):
    """Returns the token that a row at position `row` picks, from all tokens or from `tokens`.
    `number` selects one of several picks at this position."""
    keys = {}
    for token in range(len(logits)) if tokens is None else tokens:
        if token not in without:
            noise = gumbel(row + 1, token, number) if temperature else 0
            keys[token] = logits[token] / (temperature or 1) + noise
    first, second = sorted(keys, key=keys.get)[-1:-3:-1]
    decided(keys[first] - keys[second], "a pick")
    return first
