#!/usr/bin/env python3
"""Writes weights, inputs and results for quantize.mlir: quantized.py BITS FOLDER

Weights and inputs are multiples of a power of two that BITS bits represent exactly, and each group
contains the extreme value that determines its scale. So quantising changes nothing, and a
projection's result is exact.
"""

import math
import random
import struct
import sys

import tensor_file

ROWS, K, N, INTER, EXPERTS, TOP = 5, 200, 70, 75, 3, 2
STEP, X_STEP = 2.0 ** -8, 2.0 ** -5
BITS, FOLDER = int(sys.argv[1]), sys.argv[2]
GROUP = 32  # the test also uses 64, which has an extreme in each half
LEAST, MOST = (-127, 127) if BITS == 8 else (-8, 7)
rng = random.Random(BITS)


def integers(rows, cols, least, most, extreme):
    """Returns a matrix with `extreme` once in each group of each row."""
    values = [[rng.randint(least, most) for _ in range(cols)] for _ in range(rows)]
    for row in values:
        for first in range(0, cols, GROUP):
            row[rng.randrange(first, min(first + GROUP, cols))] = extreme
    return values


def scaled(matrix, step):
    return [[step * value for value in row] for row in matrix]


def weight(rows, cols):
    return scaled(integers(rows, cols, LEAST, MOST, LEAST), STEP)


def apply(x, w):
    return [[sum(a * b for a, b in zip(row, out)) for out in w] for row in x]


def gated(x, gate, up):
    return [[g / (1 + math.exp(-g)) * u for g, u in zip(a, b)]
            for a, b in zip(apply(x, gate), apply(x, up))]


def rounded(x, group):
    """Returns rows quantised as in the kernels."""
    result = []
    for row in x:
        out = []
        for first in range(0, len(row), group):
            part = row[first:first + group]
            scale = max(abs(v) for v in part) / 127
            out += [round(v / scale) * scale for v in part]
        result.append(out)
    return result


def write_npy(name, matrix, kind="<f4"):
    columns = f"{len(matrix[0])}, " if isinstance(matrix[0], list) else ""
    flat = [v for row in matrix for v in row] if columns else matrix
    header = (f"{{'descr': '{kind}', 'fortran_order': False, "
              f"'shape': ({len(matrix)}, {columns}), }}").encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    with open(f"{FOLDER}/{name}.npy", "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)
        file.write(struct.pack(f"<{len(flat)}{'f' if kind == '<f4' else 'i'}", *flat))


def main():
    tensors = {name: weight(N, K) for name in ("w", "gate", "up", "table")}
    for e in range(EXPERTS):
        tensors[f"e.{e}.gate"] = weight(INTER, K)
        tensors[f"e.{e}.up"] = weight(INTER, K)
        tensors[f"e.{e}.down"] = weight(K, INTER)
    tensor_file.write(f"{FOLDER}/weights.safetensors",
                      ((name, [len(matrix), len(matrix[0])], [v for row in matrix for v in row])
                       for name, matrix in tensors.items()))

    x = scaled(integers(ROWS, K, -127, 127, 127), X_STEP)
    write_npy("x", x)
    write_npy("linear", apply(x, tensors["w"]))
    small = scaled(x, 1 / 64)
    write_npy("small", small)
    write_npy("swiglu", gated(small, tensors["gate"], tensors["up"]))

    tokens = [0, N - 1, 31, 32, 33]
    write_npy("tokens", tokens, "<i4")
    write_npy("embed", [tensors["table"][token] for token in tokens])

    # Row r goes to experts r and r + 1 with equal weights.
    logits = [[float(e in (r % EXPERTS, (r + 1) % EXPERTS)) for e in range(EXPERTS)]
              for r in range(ROWS)]
    write_npy("logits", logits)
    write_npy("positions", list(range(ROWS)), "<i4")
    for group in (32, 64):
        y = []
        for r in range(ROWS):
            total = [0.0] * K
            for e in (r % EXPERTS, (r + 1) % EXPERTS):
                act = gated([small[r]], tensors[f"e.{e}.gate"], tensors[f"e.{e}.up"])
                part = apply(rounded(act, group), tensors[f"e.{e}.down"])[0]
                total = [a + b / 2 for a, b in zip(total, part)]
            y.append(total)
        write_npy(f"experts{group}", y)


main()
