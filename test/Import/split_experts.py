#!/usr/bin/env python3
"""Splits stacked experts into one tensor per expert, as in Qwen3-Next. Standard library only.

  split_experts.py FOLDER PREFIX

Changes the keys in model.safetensors of FOLDER that begin with PREFIX.
"""
import os, sys

from edit_weights import read, write


def main():
    folder, prefix = sys.argv[1:]
    path = os.path.join(folder, "model.safetensors")
    tensors = {}
    for key, (dtype, shape, data) in read(path).items():
        if not key.startswith(prefix) or len(shape) != 3 or ".experts." not in key:
            tensors[key] = (dtype, shape, data)
            continue
        base, name = key.rsplit(".", 1)
        names = ["gate_proj", "up_proj"] if name == "gate_up_proj" else [name]
        count, rows = shape[0] * len(names), shape[1] // len(names)
        each = len(data) // count
        for i in range(count):
            part = f"{base}.{i // len(names)}.{names[i % len(names)]}.weight"
            tensors[part] = (dtype, [rows, shape[2]], data[i * each:(i + 1) * each])
    write(path, tensors)


if __name__ == "__main__":
    main()
