#!/usr/bin/env python3
"""Converts PyTorch's .bin, .pt and .pth files to safetensors, for mtp-import.

  convert_torch.py FOLDER [-o FOLDER]

Reads pytorch_model.bin, the shards of pytorch_model.bin.index.json, medusa_lm_head.pt
or consolidated.00.pth, and writes model.safetensors beside it, or to the folder that -o
names, with config.json or params.json. Files are read with weights_only=True, which runs
none of their code; a value that is not a tensor is an error. Needs only torch.
"""

import argparse
import json
import pathlib
import shutil
import struct
import sys

NAMES = ["pytorch_model.bin", "medusa_lm_head.pt", "consolidated.00.pth"]
CONFIGS = ["config.json", "params.json"]
INDEX = "pytorch_model.bin.index.json"


def fail(text):
    sys.exit(f"convert_torch: error: {text}")


def find_files(folder):
    if (folder / "consolidated.01.pth").is_file():
        fail(f"expected one consolidated file in '{folder}', got consolidated.01.pth, a part "
             "of each tensor")
    for name in NAMES:
        if (folder / name).is_file():
            return [folder / name]
    if not (folder / INDEX).is_file():
        fail(f"expected {', '.join(NAMES)} or {INDEX} in '{folder}', got none")
    names = sorted(set(json.loads((folder / INDEX).read_text())["weight_map"].values()))
    for name in names:
        if pathlib.PurePath(name).name != name:
            fail(f"'{folder / INDEX}': expected a file of the folder, got '{name}'")
    return [folder / name for name in names]


def load(torch, files):
    """Returns all tensors by key, contiguous, on the CPU."""
    tensors = {}
    for path in files:
        try:
            loaded = torch.load(path, map_location="cpu", weights_only=True)
        except Exception as error:  # pylint: disable=broad-exception-caught
            fail(f"'{path}': expected tensors alone, got {type(error).__name__}")
        for key, tensor in loaded.items():
            if not isinstance(tensor, torch.Tensor):
                fail(f"'{path}': expected a tensor at \"{key}\", got {type(tensor).__name__}")
            if key in tensors:
                fail(f"'{path}': expected every key once, got \"{key}\" again")
            tensors[key] = tensor.detach().contiguous()
    return tensors


def type_names(torch):
    return {torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16",
            torch.int64: "I64", torch.int32: "I32", torch.bool: "BOOL", torch.uint8: "U8"}


def write(torch, path, tensors):
    """Writes a safetensors file: a JSON header, and the bytes of all tensors."""
    names, header, at = type_names(torch), {}, 0
    for key, tensor in tensors.items():
        if tensor.dtype not in names:
            fail(f"expected \"{key}\" in one of {', '.join(names.values())}, got {tensor.dtype}")
        size = tensor.numel() * tensor.element_size()
        header[key] = {"dtype": names[tensor.dtype], "shape": list(tensor.shape),
                       "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for tensor in tensors.values():
            if tensor.numel():
                file.write(tensor.reshape(-1).view(torch.uint8).numpy().tobytes())


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("-o", dest="out", type=pathlib.Path)
    options = parser.parse_args()
    files, out = find_files(options.folder), options.out or options.folder
    try:
        import torch  # pylint: disable=import-outside-toplevel
    except ImportError:
        fail("expected the Python package torch, got none; pip install torch")
    out.mkdir(parents=True, exist_ok=True)
    write(torch, out / "model.safetensors", load(torch, files))
    for name in CONFIGS:
        if out != options.folder and (options.folder / name).is_file():
            shutil.copy(options.folder / name, out)
    print(out / "model.safetensors")


if __name__ == "__main__":
    main()
