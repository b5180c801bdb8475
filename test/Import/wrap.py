#!/usr/bin/env python3
"""Wraps the model of a folder like Kimi-K2.5's text model. Standard library only.

  wrap.py FROM TO TRUNK HEAD

TRUNK replaces the prefix "model." of the weights' keys, and HEAD is the head's key. A weight of an
image part is added.
"""
import json, os, shutil, sys

from edit_weights import read, write


def main():
    source, target, trunk, head = sys.argv[1:]
    shutil.copytree(source, target, dirs_exist_ok=True)
    path = os.path.join(target, "config.json")
    with open(path) as f:
        inner = json.load(f)
    outer = {"architectures": ["KimiK25ForConditionalGeneration"], "model_type": "kimi_k25",
             "tie_word_embeddings": inner["tie_word_embeddings"],
             "text_config": {**inner, "model_type": "kimi_k2"}, "vision_config": {"hidden_size": 8}}
    with open(path, "w") as f:
        json.dump(outer, f)
    path = os.path.join(target, "model.safetensors")
    tensors = {}
    for key, tensor in read(path).items():
        tensors[head if key == "lm_head.weight" else trunk + key.removeprefix("model.")] = tensor
    tensors["vision_tower.layers.0.patch.weight"] = ("BF16", [1, 4], bytes(8))
    write(path, tensors)


if __name__ == "__main__":
    main()
