#!/usr/bin/env python3
"""Writes quantised Hugging Face folders and the values that their formats define. Standard library
only, and independent of the importer.

  quantized_folders.py FOLDER KIND -o OUT --plain PLAIN [--only PATTERN] [--seed N]

FOLDER is one that tiny.py wrote. The projections get random codes and scales. OUT has them as the
format stores them, and PLAIN has their values in f32. KIND:

  mixed     every format that needs no config, in turn: compressed-tensors, FP8, modelopt, AWQ
  gptq      GPTQ v1 of several bits, with and without an order of the columns
  gptq_v2   the same integers in v2
"""
import argparse, json, os, random, re, shutil, struct, sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "Import"))
import edit_weights  # noqa: E402

E2M1 = [0., .5, 1., 1.5, 2., 3., 4., 6., -0., -.5, -1., -1.5, -2., -3., -4., -6.]
AWQ_ORDER = [0, 2, 4, 6, 1, 3, 5, 7]


def f32(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]


def e4m3(code):
    exponent, mantissa = code >> 3 & 15, code & 7
    value = mantissa * 2.0 ** -9 if exponent == 0 else (8 + mantissa) * 2.0 ** (exponent - 10)
    return -value if code & 128 else value


def number(dtype, rng):
    """Returns a random positive number of a type: its bytes and its value."""
    if dtype == "F32":
        value = f32(rng.uniform(0.01, 0.1))
        return struct.pack("<f", value), value
    if dtype == "F16":
        bits = struct.pack("<e", rng.uniform(0.01, 0.1))
        return bits, struct.unpack("<e", bits)[0]
    if dtype == "BF16":
        bits = struct.pack("<f", rng.uniform(0.01, 0.1))[2:]
        return bits, struct.unpack("<f", b"\0\0" + bits)[0]
    if dtype == "F8_E4M3":
        code = rng.randrange(1, 0x7f)
        return bytes([code]), e4m3(code)
    assert dtype in ("U8", "F8_E8M0"), dtype
    code = rng.choice([0, 1, 90, 120, 121, 122, 123, 124])
    return bytes([code]), 2.0 ** (code - 127)


class Grid:
    """Random scales for blocks of rows and columns."""

    def __init__(self, rng, dtype, n, k, rows, cols, rank=2):
        self.rows, self.cols = rows or n, cols or k
        self.shape = [-(-n // self.rows), -(-k // self.cols)]
        pairs = [number(dtype, rng) for _ in range(self.shape[0] * self.shape[1])]
        self.tensor = (dtype, self.shape if rank == 2 else self.shape[:rank],
                       b"".join(p[0] for p in pairs))
        self.values = [p[1] for p in pairs]

    def block(self, k):
        return k // self.cols

    def at(self, n, block):
        return self.values[n // self.rows * self.shape[1] + block]

    def columns(self):
        """Returns the tensor with a row for each group."""
        dtype, (n, g), data = self.tensor
        size = len(data) // (n * g)
        parts = [data[size * (i * g + j):][:size] for j in range(g) for i in range(n)]
        return (dtype, [g, n], b"".join(parts))


def words(integers, bits):
    """Packs unsigned integers as a stream of bits in words of 32 bits."""
    stream = 0
    for i, value in enumerate(integers):
        stream |= value << i * bits
    return [stream >> 32 * i & 0xffffffff for i in range(-(-len(integers) * bits // 32))]


def i32(rows):
    """Returns rows of words as a tensor."""
    return ("I32", [len(rows), len(rows[0])],
            b"".join(struct.pack(f"<{len(row)}I", *row) for row in rows))


def transposed(rows):
    return [list(column) for column in zip(*rows)]


def integers(rng, n, k, bits):
    return [[rng.randrange(1 << bits) for _ in range(k)] for _ in range(n)]


def nibbles(codes):
    return bytes(row[i] | row[i + 1] << 4 for row in codes for i in range(0, len(row), 2))


def packed(rng, n, k, bits=4, group=32, dtype="BF16", zeros=False, order=False):
    """pack-quantized."""
    q, grid = integers(rng, n, k, bits), Grid(rng, dtype, n, k, 1, group)
    groups = grid.shape[1]
    out = {".weight_packed": i32([words(row, bits) for row in q]), ".weight_scale": grid.tensor,
           ".weight_shape": ("I64", [2], struct.pack("<2q", n, k))}
    z = [[1 << bits - 1] * groups for _ in range(n)]
    if zeros:
        z = integers(rng, n, groups, bits)
        out[".weight_zero_point"] = i32(transposed([words(c, bits) for c in transposed(z)]))
    index = [grid.block(j) for j in range(k)]
    if order:
        rng.shuffle(index)
        out[".weight_g_idx"] = ("I32", [k], struct.pack(f"<{k}i", *index))
    return out, [(q[i][j] - z[i][index[j]]) * grid.at(i, index[j])
                 for i in range(n) for j in range(k)]


def int8(rng, n, k, rows=1, group=None, zeros=False):
    """int-quantized."""
    q, grid = integers(rng, n, k, 8), Grid(rng, "F32", n, k, rows, group)
    out = {".weight": ("I8", [n, k], bytes(x ^ 128 for row in q for x in row)),
           ".weight_scale": grid.tensor, ".input_scale": ("F32", [1], bytes(4))}
    z = [0] * len(grid.values)
    if zeros:
        z = [rng.randrange(-9, 9) for _ in z]
        out[".weight_zero_point"] = ("I8", grid.shape, struct.pack(f"<{len(z)}b", *z))
    at = lambda i, j: i // grid.rows * grid.shape[1] + grid.block(j)
    return out, [(q[i][j] - 128 - z[at(i, j)]) * grid.at(i, grid.block(j))
                 for i in range(n) for j in range(k)]


def float8(rng, n, k, name=".weight_scale", dtype="F32", rows=None, cols=None, rank=2):
    """FP8 with scales of any blocks."""
    codes = [rng.randrange(0x7f) | rng.randrange(2) << 7 for _ in range(n * k)]
    grid = Grid(rng, dtype, n, k, rows, cols, rank)
    return ({".weight": ("F8_E4M3", [n, k], bytes(codes)), name: grid.tensor,
             ".k_scale": ("F32", [], bytes(4))},
            [e4m3(codes[i * k + j]) * grid.at(i, grid.block(j))
             for i in range(n) for j in range(k)])


def float4(rng, n, k, codes=".weight_packed", kind="U8", scale=".weight_scale", dtype="U8",
           group=32, factor=None, divides=False):
    """MXFP4 and NVFP4."""
    q, grid = integers(rng, n, k, 4), Grid(rng, dtype, n, k, 1, group)
    out = {codes: (kind, [n, k // 2], nibbles(q)), scale: grid.tensor}
    f = 1.0
    if factor:
        f = f32(rng.uniform(300, 900) if divides else rng.uniform(0.001, 0.002))
        out[factor] = ("F32", [1] if divides else [], struct.pack("<f", f))
    s = [f32(x / f if divides else x * f) for x in grid.values]
    return out, [E2M1[q[i][j]] * s[i * grid.shape[1] + grid.block(j)]
                 for i in range(n) for j in range(k)]


def awq(rng, n, k, group=32):
    def rows(lines):
        return i32([[sum(line[c + AWQ_ORDER[i]] << 4 * i for i in range(8))
                     for c in range(0, n, 8)] for line in lines])
    q, grid = integers(rng, n, k, 4), Grid(rng, "F16", n, k, 1, group)
    z = integers(rng, n, grid.shape[1], 4)
    return ({".qweight": rows(transposed(q)), ".qzeros": rows(transposed(z)),
             ".scales": grid.columns()},
            [(q[i][j] - z[i][grid.block(j)]) * grid.at(i, grid.block(j))
             for i in range(n) for j in range(k)])


def gptq(rng, n, k, v2, bits=4, group=32, symmetric=False, order=None, bias=False):
    if n * bits % 32 or k * bits % 32:  # The format has whole words only.
        bits = 4
    q, grid = integers(rng, n, k, bits), Grid(rng, "F16", n, k, 1, group)
    z = integers(rng, n, grid.shape[1], bits)
    if symmetric:
        z = [[1 << bits - 1] * grid.shape[1] for _ in range(n)]
    stored = [[x if v2 else (x - 1) % (1 << bits) for x in row] for row in z]
    out = {".qweight": i32(transposed([words(row, bits) for row in q])),
           ".qzeros": i32([words(row, bits) for row in transposed(stored)]),
           ".scales": grid.columns()}
    index = [grid.block(j) for j in range(k)]
    if order == "shuffled":
        rng.shuffle(index)
    if order:
        out[".g_idx"] = ("I32", [k], struct.pack(f"<{k}i", *index))
    if bias:
        out[".bias"] = ("F16", [n], bytes(2 * n))
    return out, [(q[i][j] - z[i][index[j]]) * grid.at(i, index[j])
                 for i in range(n) for j in range(k)]


MIXED = [
    (packed, {}),
    (packed, {"zeros": True, "dtype": "F16"}),
    (packed, {"zeros": True, "group": None, "dtype": "F32"}),
    (packed, {"bits": 3}),
    (packed, {"bits": 5, "group": 16, "zeros": True}),
    (packed, {"bits": 8}),
    (packed, {"order": True, "zeros": True}),
    (packed, {"bits": 7}),
    (int8, {}),
    (int8, {"rows": None, "zeros": True}),
    (int8, {"group": 32}),
    (float8, {"rank": 1}),
    (float8, {"dtype": "BF16", "rows": 1}),
    (float8, {"rows": 48, "cols": 24}),
    (float8, {"rows": 48, "cols": 24, "name": ".weight_scale_inv", "dtype": "F8_E8M0"}),
    (float4, {"dtype": "F8_E4M3", "group": 16, "factor": ".weight_global_scale", "divides": True}),
    (float4, {}),
    (float4, {"codes": ".weight", "dtype": "F8_E4M3", "group": 16, "factor": ".weight_scale_2"}),
    (float8, {"dtype": "U8", "rows": 1, "cols": 32}),
    (awq, {}),
    (float4, {"codes": ".weight", "kind": "I8", "scale": ".scale", "dtype": "F8_E8M0"}),
]
GPTQ = [
    {"symmetric": True, "order": "positions", "bias": True}, {}, {"bits": 2}, {"bits": 3},
    {"bits": 8}, {"order": "shuffled"}, {"group": None},
]


def config_of(kind):
    if kind == "mixed":
        groups = {f"group_{b}": {"targets": ["Linear"], "weights": {
            "num_bits": b, "group_size": g, "block_structure": block}}
            for b, g, block in ((4, 32, [48, 24]), (3, 16, None), (5, -1, None), (8, None, None),
                                (7, 32, None))}
        return {"quant_method": "compressed-tensors", "format": "mixed-precision",
                "config_groups": groups, "ignore": ["lm_head"]}
    return {"quant_method": "gptq", "bits": 4, "group_size": 32, "desc_act": True, "sym": False,
            "checkpoint_format": kind, "dynamic": {"+:.*": {"bits": 8, "group_size": -1}}}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("kind", choices=["mixed", "gptq", "gptq_v2"])
    parser.add_argument("-o", "--out", required=True)
    parser.add_argument("--plain", required=True)
    parser.add_argument("--only", default="_proj")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    rng = random.Random(args.seed)
    formats = MIXED if args.kind == "mixed" else [
        (gptq, {"v2": args.kind == "gptq_v2", **options}) for options in GPTQ]
    stored, plain, count = {}, {}, 0
    tensors = edit_weights.read(os.path.join(args.folder, "model.safetensors"))
    for key, tensor in tensors.items():
        stem = key.removesuffix(".weight")
        if stem == key or len(tensor[1]) != 2 or not re.search(args.only, stem):
            stored[key] = plain[key] = tensor
            continue
        make, options = formats[count % len(formats)]
        n, k = tensor[1]
        parts, values = make(rng, n, k, **options)
        stored.update({stem + suffix: part for suffix, part in parts.items()})
        plain[key] = ("F32", [n, k], struct.pack(f"<{n * k}f", *values))
        count += 1
    for out, weights in ((args.out, stored), (args.plain, plain)):
        shutil.copytree(args.folder, out, dirs_exist_ok=True)
        edit_weights.write(os.path.join(out, "model.safetensors"), weights)
    path = os.path.join(args.out, "config.json")
    with open(path, encoding="utf-8") as f:
        config = json.load(f)
    config["quantization_config"] = config_of(args.kind)
    with open(path, "w", encoding="utf-8") as f:
        json.dump(config, f)


if __name__ == "__main__":
    main()
