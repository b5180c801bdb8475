#!/usr/bin/env python3
"""Edits model.safetensors of a folder in place. Standard library only.

  edit_weights.py FOLDER EDIT...

EDIT is FROM=TO (a copy), FROM=TO*NUMBER (a copy times a number, f32 only) or -KEY (drops a tensor).
"""
import array, json, os, struct, sys


def read(path):
    data = open(path, "rb").read()
    size, = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + size])
    header.pop("__metadata__", None)
    body = data[8 + size:]
    return {key: (e["dtype"], e["shape"], body[e["data_offsets"][0]:e["data_offsets"][1]])
            for key, e in header.items()}


def write(path, tensors):
    header, at = {}, 0
    for key, (dtype, shape, data) in tensors.items():
        header[key] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + len(data)]}
        at += len(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + b"".join(t[2] for t in tensors.values()))


def main():
    path = os.path.join(sys.argv[1], "model.safetensors")
    tensors = read(path)
    for edit in sys.argv[2:]:
        if edit.startswith("-"):
            del tensors[edit[1:]]
            continue
        source, target = edit.split("=")
        target, _, factor = target.partition("*")
        dtype, shape, data = tensors[source]
        if factor:
            assert dtype == "F32", dtype
            data = array.array("f", (float(factor) * x for x in array.array("f", data))).tobytes()
        tensors[target] = (dtype, shape, data)
    write(path, tensors)


if __name__ == "__main__":
    main()
