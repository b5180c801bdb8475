#!/usr/bin/env python3
"""Writes a checkpoint of MiMo's architecture with random weights, for measuring.

  random_mimo.py DIR [--hidden 1024] [--layers 24] ...

Random weights accept no drafts, so what such a model shows is the time of a round
(R, the time of a round over that of a plain step), at a size that does not fit the
caches. Standard library only; the same seed gives the same bytes.
"""

import argparse
import json
import os
import random
import struct


def tensors(o):
    """Names and shapes, in the order of the file."""
    yield "model.embed_tokens.weight", (o.vocab, o.hidden)
    for i in range(o.layers):
        yield from layer(o, f"model.layers.{i}.")
    module = "model.mtp_layers.0."
    yield from layer(o, module)
    yield module + "input_proj.weight", (o.hidden, 2 * o.hidden)
    for norm in ("token_layernorm", "hidden_layernorm", "final_layernorm"):
        yield f"{module}{norm}.weight", (o.hidden,)
    yield "model.norm.weight", (o.hidden,)
    yield "lm_head.weight", (o.vocab, o.hidden)


def layer(o, prefix):
    attention = prefix + "self_attn."
    for part, heads in (("q", o.heads), ("k", o.kv_heads), ("v", o.kv_heads)):
        yield f"{attention}{part}_proj.weight", (heads * o.head_dim, o.hidden)
        yield f"{attention}{part}_proj.bias", (heads * o.head_dim,)
    yield attention + "o_proj.weight", (o.hidden, o.heads * o.head_dim)
    yield prefix + "mlp.gate_proj.weight", (o.inner, o.hidden)
    yield prefix + "mlp.up_proj.weight", (o.inner, o.hidden)
    yield prefix + "mlp.down_proj.weight", (o.hidden, o.inner)
    yield prefix + "input_layernorm.weight", (o.hidden,)
    yield prefix + "post_attention_layernorm.weight", (o.hidden,)


def values(name, count, source):
    """bf16: norms are one, biases zero, matrices +-(0.0078 to 0.031)."""
    if name.endswith(".bias"):
        return bytes(2 * count)
    if "norm" in name:
        return struct.pack("<H", 0x3F80) * count
    # The high byte is the sign and most of the exponent, the low byte random.
    signs = bytes(0x3C if b < 128 else 0xBC for b in range(256))
    data = bytearray(2 * count)
    data[0::2] = source.randbytes(count)
    data[1::2] = source.randbytes(count).translate(signs)
    return bytes(data)


def config(o):
    return {
        "architectures": ["MiMoForCausalLM"], "model_type": "mimo",
        "num_hidden_layers": o.layers, "hidden_size": o.hidden,
        "num_attention_heads": o.heads, "num_key_value_heads": o.kv_heads,
        "head_dim": o.head_dim, "intermediate_size": o.inner,
        "vocab_size": o.vocab, "max_position_embeddings": 4096,
        "rope_theta": 640000, "rms_norm_eps": 1e-5, "hidden_act": "silu",
        "attention_bias": True, "use_sliding_window": False,
        "num_nextn_predict_layers": 1, "tie_word_embeddings": False,
        "torch_dtype": "bfloat16", "bos_token_id": 1, "eos_token_id": 2,
    }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    for name, default in (("hidden", 1024), ("inner", 4096), ("layers", 24),
                          ("heads", 16), ("kv-heads", 4), ("head-dim", 64),
                          ("vocab", 32000), ("seed", 1)):
        parser.add_argument("--" + name, type=int, default=default)
    options = parser.parse_args()
    os.makedirs(options.folder, exist_ok=True)
    with open(os.path.join(options.folder, "config.json"), "w") as file:
        json.dump(config(options), file, indent=1)
    header, end = {}, 0
    for name, shape in tensors(options):
        size = 2
        for dim in shape:
            size *= dim
        header[name] = {"dtype": "BF16", "shape": shape,
                        "data_offsets": [end, end + size]}
        end += size
    text = json.dumps(header).encode()
    source = random.Random(options.seed)
    with open(os.path.join(options.folder, "model.safetensors"), "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for name, entry in header.items():
            begin, stop = entry["data_offsets"]
            file.write(values(name, (stop - begin) // 2, source))


if __name__ == "__main__":
    main()
