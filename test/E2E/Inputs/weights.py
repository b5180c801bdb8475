#!/usr/bin/env python3
"""Writes the weights of the hand-written modules here: weights.py FILE.safetensors

Weights whose results are computed by hand are small integers, the others are pseudo-random.
"""

import random
import sys

import tensor_file

HIDDEN, VOCAB, HEADS, KV_HEADS, HEAD = 32, 64, 4, 2, 8


def tensors():
    yield "norm", [4], [1, 2, 0.5, -1]
    yield "matrix", [3, 4], [1, 2, 3, 4, -1, 0, 1, 0, 0.5, 0.5, 0.5, 0.5]
    yield "bias", [3], [10, 20, 30]
    yield "table", [4, 2], [0, 1, 10, 11, 20, 21, 30, 31]
    rng = random.Random(1)

    def noise(name, *shape):
        count = 1
        for size in shape:
            count *= size
        return name, shape, [rng.uniform(-0.4, 0.4) for _ in range(count)]

    yield noise("embed", VOCAB, HIDDEN)
    for layer in range(2):
        for name, rows in (("q", HEADS * HEAD), ("k", KV_HEADS * HEAD), ("v", KV_HEADS * HEAD)):
            yield noise(f"layers.{layer}.{name}", rows, HIDDEN)
        yield noise(f"layers.{layer}.o", HIDDEN, HEADS * HEAD)
        yield f"layers.{layer}.norm", [HIDDEN], [1] * HIDDEN
    yield "ones", [HIDDEN], [1] * HIDDEN
    yield noise("join", HIDDEN, 2 * HIDDEN)


tensor_file.write(sys.argv[1], tensors())
