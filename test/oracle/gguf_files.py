#!/usr/bin/env python3
"""Writes tiny GGUF files. Standard library only, and independent of the importer.

  python3 gguf_files.py types -o FILE --folder FOLDER [--seed N]
      a llama with random blocks of every type, and its values as a Hugging Face folder
"""
import argparse, array, json, os, random, struct

F16, BF16, F32 = "F16", "BF16", "F32"
# Number, elements and bytes of a block.
TYPES = {F32: (0, 1, 4), F16: (1, 1, 2), "Q4_0": (2, 32, 18), "Q4_1": (3, 32, 20), "Q5_0": (6, 32, 22),
         "Q5_1": (7, 32, 24), "Q8_0": (8, 32, 34), "Q2_K": (10, 256, 84), "Q3_K": (11, 256, 110),
         "Q4_K": (12, 256, 144), "Q5_K": (13, 256, 176), "Q6_K": (14, 256, 210), "IQ4_NL": (20, 32, 18),
         "IQ4_XS": (23, 256, 136), BF16: (30, 1, 2), "MXFP4": (39, 32, 17), "NVFP4": (40, 64, 36),
         "I64": (27, 1, 8)}
# Offsets of the f16 numbers in a block.
HALVES = {"Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0], "Q2_K": [80, 82],
          "Q3_K": [108], "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208], "IQ4_NL": [0], "IQ4_XS": [0]}
CURVE = [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113]
E2M1 = [0, .5, 1, 1.5, 2, 3, 4, 6, 0, -.5, -1, -1.5, -2, -3, -4, -6]


def half(b, at=0):
    return struct.unpack_from("<e", b, at)[0]


def nibbles(b):
    """Low nibbles, then high ones."""
    return [x & 15 for x in b] + [x >> 4 for x in b]


def bits(b):
    return [x >> i & 1 for x in b for i in range(8)]


def twos(b):
    """Two bits of each byte: all lowest ones, then the next."""
    return [x >> s & 3 for s in (0, 2, 4, 6) for x in b]


def pairs(s):
    """The scales and minima of Q4_K and Q5_K: 6 bits each in 12 bytes."""
    scales = [s[j] & 63 for j in range(4)] + [s[8 + j] & 15 | s[j] >> 6 << 4 for j in range(4)]
    mins = [s[4 + j] & 63 for j in range(4)] + [s[8 + j] >> 4 | s[4 + j] >> 6 << 4 for j in range(4)]
    return scales, mins


def by_group(b, size):
    """The nibbles of groups of 32: a run of `size` bytes has two groups."""
    return [n for at in range(0, len(b), size) for n in nibbles(b[at:at + size])]


def e4m3(x):
    e, m = x >> 3 & 15, x & 7
    if x & 127 == 127:
        return 0.0
    return m * 2.0**-9 if e == 0 else (1 + m / 8) * 2.0**(e - 7)


def decode(kind, b):
    """Returns the values of a block, as exact as binary64."""
    if kind in ("Q4_0", "IQ4_NL"):
        table = CURVE if kind == "IQ4_NL" else range(-8, 8)
        return [table[n] * half(b) for n in nibbles(b[2:])]
    if kind == "Q4_1":
        return [n * half(b) + half(b, 2) for n in nibbles(b[4:])]
    if kind == "Q5_0":
        return [(n + 16 * h - 16) * half(b) for n, h in zip(nibbles(b[6:]), bits(b[2:6]))]
    if kind == "Q5_1":
        return [(n + 16 * h) * half(b) + half(b, 2) for n, h in zip(nibbles(b[8:]), bits(b[4:8]))]
    if kind == "Q8_0":
        return [n * half(b) for n in struct.unpack("<32b", b[2:])]
    if kind == "MXFP4":
        return [E2M1[n] * 2.0**(b[0] - 127) for n in nibbles(b[1:])]
    if kind == "NVFP4":
        return [E2M1[n] * e4m3(b[s]) for s in range(4) for n in nibbles(b[4 + 8 * s:12 + 8 * s])]
    d = half(b)
    if kind == "Q4_K":
        scales, mins = pairs(b[4:16])
        return [d * scales[i // 32] * n - half(b, 2) * mins[i // 32] for i, n in enumerate(by_group(b[16:], 32))]
    if kind == "Q5_K":
        scales, mins = pairs(b[4:16])
        return [d * scales[i // 32] * (n + 16 * (b[16 + i % 32] >> i // 32 & 1)) - half(b, 2) * mins[i // 32]
                for i, n in enumerate(by_group(b[48:], 32))]
    if kind == "Q2_K":
        q = twos(b[16:48]) + twos(b[48:80])
        return [half(b, 80) * (b[i // 16] & 15) * n - half(b, 82) * (b[i // 16] >> 4) for i, n in enumerate(q)]
    if kind == "Q3_K":
        q, s = twos(b[32:64]) + twos(b[64:96]), b[96:108]
        low = nibbles(s[:8])
        scales = [low[i] | (s[8 + i % 4] >> 2 * (i // 4) & 3) << 4 for i in range(16)]
        return [half(b, 108) * (scales[i // 16] - 32) * (n - 4 + 4 * (b[i % 32] >> i // 32 & 1))
                for i, n in enumerate(q)]
    if kind == "Q6_K":
        out = []
        for h in range(2):
            low, high = by_group(b[64 * h:64 * h + 64], 64), twos(b[128 + 32 * h:160 + 32 * h])
            out += [n + 16 * t - 32 for n, t in zip(low, high)]
        scales = struct.unpack("<16b", b[192:208])
        return [half(b, 208) * scales[i // 16] * n for i, n in enumerate(out)]
    assert kind == "IQ4_XS"
    highs = struct.unpack_from("<H", b, 2)[0]
    low = [n for x in b[4:8] for n in (x & 15, x >> 4)]
    scales = [low[g] + 16 * (highs >> 2 * g & 3) - 32 for g in range(8)]
    return [d * scales[i // 32] * CURVE[n] for i, n in enumerate(by_group(b[8:], 16))]


def dequantise(kind, data, factor=1.0):
    size = TYPES[kind][2]
    out = array.array("f")
    for at in range(0, len(data), size):
        out.extend(x * factor for x in decode(kind, data[at:at + size]))
    return out


def random_blocks(kind, count, rng):
    """Random bytes with finite scales, small and large."""
    number, elements, size = TYPES[kind]
    data = bytearray(rng.randbytes(count // elements * size))
    for at in range(0, len(data), size):
        for offset in HALVES.get(kind, []):
            scale = rng.choice([1.0, -0.25, 2.0**-15, 2.0**-24]) * rng.uniform(0.5, 1.0)
            struct.pack_into("<e", data, at + offset, scale)
        if kind == "MXFP4":
            data[at] = rng.choice([0, 1, 2, 3, 100, 126, 127, 128])
        if kind == "NVFP4":
            data[at:at + 4] = bytes(rng.randrange(127) for _ in range(4))
    return bytes(data)


# Values of metadata: the format's type and the packed bytes.
def text(s):
    s = s if isinstance(s, bytes) else s.encode()
    return 8, struct.pack("<Q", len(s)) + s


def u32(n):
    return 4, struct.pack("<I", n)


def u16(n):
    return 2, struct.pack("<H", n)


def i32(n):
    return 5, struct.pack("<i", n)


def f32(x):
    return 6, struct.pack("<f", x)


def flag(x):
    return 7, struct.pack("<?", x)


def listed(values):
    return 9, struct.pack("<IQ", values[0][0], len(values)) + b"".join(v for _, v in values)


def write_gguf(path, keys, tensors, alignment=32):
    """tensors: [(name, type, shape with the slowest extent first, bytes)]."""
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(keys))
    for key, (kind, data) in keys.items():
        head += text(key)[1] + struct.pack("<I", kind) + data
    at = 0
    for name, kind, shape, data in tensors:
        extents = list(reversed(shape))
        head += text(name)[1] + struct.pack(f"<I{len(extents)}QIQ", len(extents), *extents, TYPES[kind][0], at)
        at += len(data) + -len(data) % alignment
    with open(path, "wb") as f:
        f.write(head + bytes(-len(head) % alignment))
        for _, _, _, data in tensors:
            f.write(data + bytes(-len(data) % alignment))


def read_safetensors(folder):
    out = {}
    for file in sorted(os.listdir(folder)):
        if not file.endswith(".safetensors"):
            continue
        b = open(os.path.join(folder, file), "rb").read()
        size = struct.unpack_from("<Q", b)[0]
        for name, t in json.loads(b[8:8 + size]).items():
            if name != "__metadata__":
                begin, end = t["data_offsets"]
                out[name] = t["dtype"], t["shape"], b[8 + size + begin:8 + size + end]
    return out


def write_types(path, folder, seed):
    """Writes a llama of two layers whose 14 matrices have the 14 types with blocks."""
    import gguf_models
    import tiny
    import tiny_models
    rng = random.Random(seed)
    c = tiny_models.cfg("LlamaForCausalLM", "llama", hidden_size=256, num_hidden_layers=2, num_attention_heads=4,
                 num_key_value_heads=1, head_dim=64, intermediate_size=256, rms_norm_eps=1e-5)
    heads = {"attn_q": c["num_attention_heads"], "attn_k": c["num_key_value_heads"]}
    kinds = [k for k, (_, elements, _) in TYPES.items() if elements > 1]
    os.makedirs(folder, exist_ok=True)
    tokenizer = tiny.tokenizer(c["vocab_size"])
    keys = {**gguf_models.config_keys(c), **gguf_models.tokenizer_keys(tokenizer)}
    tensors, entries = [], []
    for name, shape in tiny.tensors("types", c):
        count = shape[0] * (shape[1] if len(shape) > 1 else 1)
        own = gguf_models.gguf_name(name, "llama")
        values = tiny.fill(name, count, 1.0 if "norm" in name else 0.0, 0.5, seed)
        kind = {"token_embd.weight": BF16, "output.weight": F16}.get(own, F32)
        if kind == F32 and len(shape) > 1:
            kind = kinds.pop(0)
            data = random_blocks(kind, count, rng)
            factor = 0.7100000381469727 if kind == "NVFP4" else 1.0
            values = dequantise(kind, data, factor)
            if factor != 1.0:
                tensors.append((own.replace(".weight", ".scale"), F32, [1], struct.pack("<f", factor)))
            tensors.append((own, kind, shape, data))
            of = heads.get(own.split(".")[2])
            # The blocks hold rows as GGUF orders them; the folder has the usual order.
            stored = unpair_rows(values.tobytes(), shape[0], of) if of else values.tobytes()
            entries.append((name, F32, shape, array.array("f", stored)))
            continue
        data = {F32: lambda: values.tobytes(), BF16: lambda: tiny.bf16(values).tobytes(),
                F16: lambda: struct.pack(f"<{count}e", *values)}[kind]()
        tensors.append((own, kind, shape, data))
        entries.append((name, kind, shape, array.array("f" if kind == F32 else "H", data)))
    assert not kinds
    write_gguf(path, keys, tensors)
    tiny.write_safetensors(os.path.join(folder, "model.safetensors"), entries)
    tiny.write_json(os.path.join(folder, "config.json"), {**c, "torch_dtype": "float32"})
    tiny.write_json(os.path.join(folder, "tokenizer.json"), tokenizer)
    tiny.write_json(os.path.join(folder, "tokenizer_config.json"),
                    {"bos_token": "<|endoftext|>", "eos_token": "<|endoftext|>"})


def unpair_rows(data, rows, heads):
    size, dim = len(data) // rows, rows // heads
    row = [data[i * size:i * size + size] for i in range(rows)]
    return b"".join(row[h * dim + 2 * j + i] for h in range(heads) for i in (0, 1) for j in range(dim // 2))


if __name__ == "__main__":
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("what", choices=["types"])
    p.add_argument("-o", "--output", required=True)
    p.add_argument("--folder", required=True)
    p.add_argument("--seed", type=int, default=0)
    a = p.parse_args()
    write_types(a.output, a.folder, a.seed)
