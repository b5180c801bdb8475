#!/usr/bin/env python3
"""Writes a checkpoint as a folder that `mtp-import --drafter` reads.

  export.py CKPT DIR [--data DATA]

DIR gets config.json and model.safetensors (bf16) in SafeAILab's layout of EAGLE-1, and the learning
curve loss.csv. With --data it also gets token_counts.txt, the counts of the tokens that the model
wrote, for `mtpc --draft-vocab`.
"""

import argparse
import os
import shutil
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..")]
import fit
import net as nets
import torch
from data import VOCAB, WIDTH, counts

CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "bias": True,
    "hidden_act": "silu",
    "hidden_size": WIDTH,
    "intermediate_size": nets.INTER,
    "num_attention_heads": nets.HEADS,
    "num_key_value_heads": nets.KV_HEADS,
    "num_hidden_layers": 1,
    "vocab_size": VOCAB,
    "rms_norm_eps": 1e-6,
    "rope_theta": nets.THETA,
    "max_position_embeddings": 8192,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
}
MOST = 16384  # lines of token_counts.txt


def main():
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("ckpt")
    ap.add_argument("dir")
    ap.add_argument("--data")
    a = ap.parse_args()
    fit.write(a.dir, CONFIG, nets.folded(torch.load(a.ckpt + ".pt")["net"]))
    shutil.copyfile(a.ckpt + ".csv", os.path.join(a.dir, "loss.csv"))
    if a.data:
        seen = counts(a.data, "train")
        order = sorted(range(len(seen)), key=lambda i: (-seen[i], i))[:MOST]
        with open(os.path.join(a.dir, "token_counts.txt"), "w", encoding="utf-8") as f:
            f.writelines(f"{i} {seen[i]}\n" for i in sorted(order))


if __name__ == "__main__":
    main()
