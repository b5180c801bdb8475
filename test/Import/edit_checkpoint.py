#!/usr/bin/env python3
"""Moves a checkpoint's tensors to other files, keys and types. Standard library only.

  edit_checkpoint.py FOLDER move PREFIX FILE   moves tensors from model.safetensors to FILE
  edit_checkpoint.py FOLDER index [PREFIX]     makes a shard of model.safetensors, with an index
                                               that omits tensors of PREFIX and all other files
  edit_checkpoint.py FOLDER strip PREFIX       removes PREFIX from the keys
  edit_checkpoint.py FOLDER type PATTERN TYPE  stores BF16 tensors with matching keys in TYPE
  edit_checkpoint.py FOLDER fp8 TYPE           stores projections as FP8 in blocks with scales of
                                               TYPE, each a power of two; `none` stores the values
                                               that they represent
"""
import array
import json
import os
import re
import struct
import sys

import edit_weights

BLOCK = 128
INDEX = "model.safetensors.index.json"
SHARD = "model-00001-of-00001.safetensors"


def widen(dtype, data):
    if dtype == "F32":
        return array.array("f", data)
    assert dtype == "BF16", dtype
    return array.array("f", b"".join(b"\0\0" + data[i:i + 2] for i in range(0, len(data), 2)))


def store(dtype, numbers):
    """Returns numbers as bytes of the type."""
    if dtype == "BF16":
        data = array.array("f", numbers).tobytes()
        return b"".join(data[i + 2:i + 4] for i in range(0, len(data), 4))
    if dtype == "F8_E8M0":
        return bytes(struct.unpack("<I", struct.pack("<f", x))[0] >> 23 for x in numbers)
    return struct.pack(f"<{len(numbers)}" + {"F32": "f", "F16": "e"}[dtype], *numbers)


def e4m3(code):
    exponent, mantissa = code >> 3 & 15, code & 7
    value = mantissa * 2.0 ** -9 if exponent == 0 else (8 + mantissa) * 2.0 ** (exponent - 10)
    return -value if code & 128 else value


CODES = sorted((e4m3(c), c) for c in range(0x7f))


def encode(x):
    """Returns the code of the nearest magnitude, by search."""
    code = min(CODES, key=lambda c: abs(c[0] - abs(x)))[1]
    return code | (128 if x < 0 else 0)


def quantize(tensors, scale_type):
    out, known = {}, {}
    for key, (dtype, shape, data) in tensors.items():
        if len(shape) != 2 or "_proj" not in key or "eh_proj" in key:
            out[key] = (dtype, shape, data)
            continue
        rows, cols = shape
        blocks = [-(-rows // BLOCK), -(-cols // BLOCK)]
        # Each block has another power of two.
        scales = [2.0 ** (-6 - i % 3) for i in range(blocks[0] * blocks[1])]
        at = [scales[i // cols // BLOCK * blocks[1] + i % cols // BLOCK]
              for i in range(rows * cols)]
        codes = []
        for x, scale in zip(widen(dtype, data), at):
            if x / scale not in known:
                known[x / scale] = encode(x / scale)
            codes.append(known[x / scale])
        if scale_type == "none":
            out[key] = ("BF16", shape, store("BF16", [e4m3(c) * s for c, s in zip(codes, at)]))
            continue
        out[key] = ("F8_E4M3", shape, bytes(codes))
        out[key + "_scale_inv"] = (scale_type, blocks, store(scale_type, scales))
    return out


def write_index(folder, omitted):
    os.rename(os.path.join(folder, "model.safetensors"), os.path.join(folder, SHARD))
    keys = edit_weights.read(os.path.join(folder, SHARD))
    weight_map = {key: SHARD for key in keys if not omitted or not key.startswith(omitted)}
    with open(os.path.join(folder, INDEX), "w", encoding="utf-8") as f:
        json.dump({"metadata": {}, "weight_map": weight_map}, f)


def main():
    folder, command, *rest = sys.argv[1:]
    path = os.path.join(folder, "model.safetensors")
    if command == "index":
        write_index(folder, rest[0] if rest else None)
        return
    tensors = edit_weights.read(path)
    if command == "move":
        moved = {key: t for key, t in tensors.items() if key.startswith(rest[0])}
        assert moved, rest
        edit_weights.write(os.path.join(folder, rest[1]), moved)
        tensors = {key: t for key, t in tensors.items() if key not in moved}
    elif command == "strip":
        tensors = {key.removeprefix(rest[0]): t for key, t in tensors.items()}
    elif command == "type":
        matching = [key for key in tensors if re.search(rest[0], key)]
        assert matching, rest
        for key in matching:
            dtype, shape, data = tensors[key]
            tensors[key] = (rest[1], shape, store(rest[1], widen(dtype, data)))
    elif command == "fp8":
        tensors = quantize(tensors, rest[0])
        config = os.path.join(folder, "config.json")
        with open(config, encoding="utf-8") as f:
            fields = json.load(f)
        if rest[0] != "none":
            fields["quantization_config"] = {"quant_method": "fp8", "fmt": "e4m3",
                                             "weight_block_size": [BLOCK, BLOCK]}
        with open(config, "w", encoding="utf-8") as f:
            json.dump(fields, f)
    edit_weights.write(path, tensors)


if __name__ == "__main__":
    main()
