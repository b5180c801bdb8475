"""Writes sources that are too long to check in: hostile_sources.py DIR."""
import os, sys

DEPTH = 200_000
SOURCES = {
    "regions.mlir": b"module {" * DEPTH + b"}" * DEPTH,
    "attributes.mlir": b"module attributes {a = " + b"[" * DEPTH + b"]" * DEPTH + b"} {}",
    "types.mlir": b"func.func private @f(" + b"tuple<" * DEPTH + b">" * DEPTH + b")",
    "binary.mlir": bytes(range(128, 256)) * 16,
    "bytecode.mlir": b"ML\xefR" + b"\xff" * 64,
}
for name, text in SOURCES.items():
    with open(os.path.join(sys.argv[1], name), "wb") as f:
        f.write(text)
