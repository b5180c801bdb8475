#!/usr/bin/env python3
"""Makes one folder in Meta's format of a model and its heads.

  inline_heads.py MODEL HEADS OUT

MODEL is a Llama in Hugging Face's format, in f32; HEADS has extra_heads. The result has Llama's own
names, and the order of rows of q and k makes neighbours rotate. Standard library only.
"""
import json
import os
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).parents[2] / "Import"))
from edit_weights import read, write  # noqa: E402

NAMES = {"self_attn.q_proj": "attention.wq", "self_attn.k_proj": "attention.wk",
         "self_attn.v_proj": "attention.wv", "self_attn.o_proj": "attention.wo",
         "input_layernorm": "attention_norm", "post_attention_layernorm": "ffn_norm",
         "mlp.gate_proj": "feed_forward.w1", "mlp.up_proj": "feed_forward.w3",
         "mlp.down_proj": "feed_forward.w2"}
WHOLE = {"model.embed_tokens.weight": "tok_embeddings.weight", "model.norm.weight": "norm.weight",
         "lm_head.weight": "output.weight"}


def weights_of(folder):
    return os.path.join(folder, "model.safetensors")


def side_by_side(tensor, dim):
    """Moves rows i and dim / 2 + i of a head to 2 i and 2 i + 1."""
    dtype, shape, data = tensor
    width = len(data) // shape[0]
    rows = [data[i * width:(i + 1) * width] for i in range(shape[0])]
    order = [head * dim + half * dim // 2 + i for head in range(shape[0] // dim)
             for i in range(dim // 2) for half in (0, 1)]
    return dtype, shape, b"".join(rows[i] for i in order)


def main():
    model, heads, out = sys.argv[1:]
    with open(os.path.join(model, "config.json"), encoding="utf8") as file:
        config = json.load(file)
    dim = config["hidden_size"] // config["num_attention_heads"]
    tensors = read(weights_of(heads))
    for key, tensor in read(weights_of(model)).items():
        part = key.removeprefix("model.layers.").partition(".")
        if key in WHOLE:
            tensors[WHOLE[key]] = tensor
            continue
        usual = part[2].removesuffix(".weight")
        if usual.endswith(("q_proj", "k_proj")):
            tensor = side_by_side(tensor, dim)
        tensors[f"layers.{part[0]}.{NAMES[usual]}.weight"] = tensor
    os.makedirs(out)
    write(weights_of(out), tensors)
    with open(os.path.join(heads, "params.json"), encoding="utf8") as file:
        params = json.load(file)
    params["hidden_dim"] = config["intermediate_size"]
    params["n_layers"] += params["n_future_tokens"] - 1
    with open(os.path.join(out, "params.json"), "w", encoding="utf8") as file:
        json.dump(params, file)


if __name__ == "__main__":
    main()
