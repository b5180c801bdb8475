#!/usr/bin/env python3
"""Converts a llama2.c checkpoint, compiles it and compares its greedy text with the known one.
Standard library only.

  stories260k.py --tools BIN --source ROOT --out DIR

The checkpoint is $MTP_SHARED_DATA/stories260K/{stories260K,tok512}.bin; the default of
MTP_SHARED_DATA is ROOT/../shared/data. Without it the test is skipped (status 77).
"""

import argparse
import array
import json
import os
import pathlib
import struct
import subprocess
import sys

BOS = 1
TEXT = ("Once upon a time, there was a little girl named Lily. She loved to play outside in the "
        "park. One day, she saw a big, red ball. She wanted to play with it, but it was too high.")
SKIPPED = 77


def half_layout(rows, heads, size, width):
    """Converts rows of q or k from interleaved pairs (2i, 2i+1) to (i, i + size/2)."""
    out = array.array("f")
    for head in range(heads):
        for first in (0, 1):
            for row in range(first, size, 2):
                begin = (head * size + row) * width
                out += rows[begin:begin + width]
    return out


def read_checkpoint(path):
    """Returns the config, and the tensors by their names in Hugging Face's layout."""
    data = path.read_bytes()
    dim, hidden, layers, heads, kv_heads, vocab, context = struct.unpack_from("<7i", data)
    floats = array.array("f", data[28:])
    size = dim // heads
    kv_dim = kv_heads * size
    place = 0

    def take(count):
        nonlocal place
        place += count
        return floats[place - count:place]

    tensors = {"model.embed_tokens.weight": ((abs(vocab), dim), take(abs(vocab) * dim))}
    # The file is ordered by kind of matrix, then by layer.
    kinds = [("input_layernorm", (dim,)), ("self_attn.q_proj", (dim, dim)),
             ("self_attn.k_proj", (kv_dim, dim)), ("self_attn.v_proj", (kv_dim, dim)),
             ("self_attn.o_proj", (dim, dim)), ("post_attention_layernorm", (dim,)),
             ("mlp.gate_proj", (hidden, dim)), ("mlp.down_proj", (dim, hidden)),
             ("mlp.up_proj", (hidden, dim))]
    for name, shape in kinds:
        for layer in range(layers):
            values = take(shape[0] * (shape[1] if len(shape) > 1 else 1))
            if name.endswith(("q_proj", "k_proj")):
                values = half_layout(values, shape[0] // size, size, dim)
            tensors[f"model.layers.{layer}.{name}.weight"] = (shape, values)
    tensors["model.norm.weight"] = ((dim,), take(dim))
    config = {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": dim,
        "intermediate_size": hidden, "num_hidden_layers": layers, "num_attention_heads": heads,
        "num_key_value_heads": kv_heads, "head_dim": size, "vocab_size": abs(vocab),
        "max_position_embeddings": context, "rms_norm_eps": 1e-5, "rope_theta": 10000.0,
        "hidden_act": "silu", "tie_word_embeddings": vocab > 0, "torch_dtype": "float32",
        "bos_token_id": BOS, "eos_token_id": 2, "attention_bias": False, "mlp_bias": False,
    }
    return config, tensors


def write_checkpoint(folder, config, tensors):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    header, body = {}, b""
    for name, (shape, values) in tensors.items():
        data = values.tobytes()
        header[name] = {"dtype": "F32", "shape": list(shape),
                        "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + body)


def read_pieces(path):
    data, place, pieces = path.read_bytes(), 4, []
    while place < len(data):
        _, length = struct.unpack_from("<fi", data, place)
        pieces.append(data[place + 8:place + 8 + length])
        place += 8 + length
    return pieces


def decode(ids, pieces):
    text = b""
    for token in ids:
        piece = pieces[token]
        if piece.startswith(b"<0x"):
            piece = bytes([int(piece[3:5], 16)])
        text += piece
    # The leading space belongs to the tokenizer, not to the text.
    return text.decode().removeprefix(" ")


def run(*command):
    done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"stories260k: error: {command[0]} failed")
    return done.stdout


def main():
    parser = argparse.ArgumentParser()
    for name in ("--tools", "--source", "--out"):
        parser.add_argument(name, type=pathlib.Path, required=True)
    args = parser.parse_args()
    shared = os.environ.get("MTP_SHARED_DATA", args.source / "../shared/data")
    data = pathlib.Path(shared) / "stories260K"
    if not data.exists():
        print(f"skipped: no {data}")
        return SKIPPED
    folder = args.out / "stories260k"
    write_checkpoint(folder, *read_checkpoint(data / "stories260K.bin"))
    module, artifact = args.out / "stories260k.mlir", args.out / "stories260k.bin"
    run(args.tools / "mtp-import", folder, "-o", module, "--max-batch=1", "--max-context=256",
        "--prefill-chunk=8")
    run(args.tools / "mtpc", module, "-o", artifact)
    pieces = read_pieces(data / "tok512.bin")
    out = run(args.tools / "mtp-run", artifact, "--ids", BOS, "-n", 80, "--print-ids",
              "--no-special", "-t", 1)
    ids = [int(token) for token in out.replace(",", " ").split()]
    text = decode(ids, pieces)
    if not text.startswith(TEXT):
        print(f"expected: {TEXT}\ngot:      {text}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
