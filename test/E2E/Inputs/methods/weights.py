#!/usr/bin/env python3
"""Writes the weights of the methods' target: weights.py FILE.safetensors

The table of bigrams is the target's output for a single token, so it is right often but not always.
Standard library only.
"""

import pathlib
import random
import sys

sys.path.append(str(pathlib.Path(__file__).parents[1]))
import tensor_file  # noqa: E402

HIDDEN, VOCAB = 32, 64
# The tokens that the drafter of reduced.mlir can draft: its head has a row for each.
REDUCED = [t for t in range(VOCAB) if t % 5 in (0, 2, 3)][:30]


def matrix(rng, rows, columns, scale):
    return [[rng.gauss(0, scale) for _ in range(columns)] for _ in range(rows)]


def tensors():
    rng = random.Random(7)
    embed = matrix(rng, VOCAB, HIDDEN, 1.0)
    head = matrix(rng, VOCAB, HIDDEN, 0.5)
    yield "embed", embed
    yield "head", head
    yield "reduced", [head[token] for token in REDUCED]
    yield "bigrams", [[sum(e * h for e, h in zip(row, out)) for out in head] for row in embed]
    for layer in range(2):
        for name, rows in (("q", 32), ("k", 16), ("v", 16), ("o", 32)):
            yield f"layers.{layer}.{name}", matrix(rng, rows, HIDDEN, 0.14)
        yield f"layers.{layer}.norm", [[1.0] * HIDDEN]
    # For an embedding and a hidden state: nearly the embedding.
    fuse = matrix(rng, HIDDEN, 2 * HIDDEN, 0.05)
    yield "fuse", [[x + (row == column) for column, x in enumerate(line)]
                   for row, line in enumerate(fuse)]
    yield "probe", matrix(rng, 2, HIDDEN, 0.3)
    # The block drafter's projection of the states of both layers.
    yield "taps", matrix(rng, HIDDEN, 2 * HIDDEN, 0.14)
    for head in range(3):
        yield f"heads.{head}.up", matrix(rng, HIDDEN, HIDDEN, 0.5)


def main():
    tensor_file.write(sys.argv[1], (
        (key, [len(rows), len(rows[0])] if len(rows) > 1 else [len(rows[0])],
         [x for row in rows for x in row]) for key, rows in tensors()))


if __name__ == "__main__":
    main()
