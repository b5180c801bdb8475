#!/usr/bin/env python3
"""Writes the weights of hybrid.mlir.

  hybrid.py FILE.safetensors

Gates begin like those of published models (`A_log`, and `dt_bias` of steps from a thousandth to a
tenth), so that some heads remember thousands of tokens and some only a few. States this small would
be overwritten by then. So in the former heads beta is small: the first column is equal for all
tokens and acts as a bias. Weights that end in `_keys` are for a model whose heads have a gate for
each key. The head decides by the last token alone, like the embedding of the drafter's rows; the
layers' contribution changes the choice now and then. Standard library only.
"""

import math
import random
import sys

import tensor_file

HIDDEN, VOCAB, HEADS, WINDOW = 64, 96, 4, 4
COLUMNS = 2 * 2 * 16 + HEADS * 16


def noise(rng, scale, *shape):
    count = math.prod(shape)
    return list(shape), [rng.gauss(0, scale) for _ in range(count)]


def recurrent(rng):
    yield "norm", noise(rng, 0.05, HIDDEN)
    yield "in_proj_qkv", noise(rng, 0.12, COLUMNS, HIDDEN)
    yield "in_proj_z", noise(rng, 0.12, HIDDEN, HIDDEN)
    yield "in_proj_a", noise(rng, 0.05, HEADS, HIDDEN)
    shape, gates = noise(rng, 0.12, HEADS, HIDDEN)
    for head, weight in enumerate((-2.2, -1.4)):
        gates[head * HIDDEN] = weight
    yield "in_proj_b", (shape, gates)
    yield "conv1d", noise(rng, 0.4, COLUMNS, 1, WINDOW)
    yield "A_log", ([HEADS], [math.log(a) for a in (0.5, 1, 4, 12)])
    yield "dt_bias", ([HEADS], [math.log(math.expm1(dt)) for dt in (0.001, 0.003, 0.02, 0.1)])
    yield "out_norm", ([16], [1.0] * 16)
    yield "out_proj", noise(rng, 0.05, HIDDEN, HIDDEN)


def gates_by_key(rng):
    """In each head some keys remember longer than others."""
    count = HEADS * 16
    yield "in_proj_a_keys", noise(rng, 0.05, count, HIDDEN)
    yield "A_log_keys", ([count], [math.log(0.5 + i % 16) for i in range(count)])
    yield "dt_bias_keys", ([count], [math.log(math.expm1(0.001 * (1 + i // 16 * 8)))
                                     for i in range(count)])


def attention(rng):
    yield "norm", noise(rng, 0.05, HIDDEN)
    for name, rows in (("q", 64), ("gate", 64), ("k", 32), ("v", 32)):
        yield name, noise(rng, 0.12, rows, HIDDEN)
    yield "o", noise(rng, 0.05, HIDDEN, 64)


def tensors():
    rng = random.Random(5)
    for name, scale, first in (("embed", 1.0, 2.5), ("head", 0.4, 0.0)):
        shape, table = noise(rng, scale, VOCAB, HIDDEN)
        table[::HIDDEN] = [first] * VOCAB
        yield name, (shape, table)
    for layer, make in enumerate((recurrent, attention, recurrent)):
        for name, tensor in make(rng):
            yield f"layers.{layer}.{name}", tensor
        if make is recurrent:
            for name, tensor in gates_by_key(random.Random(layer)):
                yield f"layers.{layer}.{name}", tensor
    # For an embedding and a hidden state: nearly the embedding.
    shape, fuse = noise(rng, 0.01, HIDDEN, 2 * HIDDEN)
    for row in range(HIDDEN):
        fuse[row * 2 * HIDDEN + row] += 1
    yield "fuse", (shape, fuse)


tensor_file.write(sys.argv[1], ((name, *tensor) for name, tensor in tensors()))
