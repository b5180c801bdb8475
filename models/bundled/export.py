#!/usr/bin/env python3
"""Writes the trained weights in Hugging Face's layout with DeepSeek-V3's tensor names.

  python3 export.py WORK_DIR [--average] [-o hf]     from WORK_DIR/ckpt.pt

--average uses the exponential average of the weights (before the learning rate has decayed). All
weights are in bf16, except e_score_correction_bias in f32. Embedding and head are stored once.
"""
import argparse, json, os, shutil, sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import torch
from safetensors.torch import save_file
from model import CONFIG, Model


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("work")
    ap.add_argument("--average", action="store_true")
    ap.add_argument("-o", "--out", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "hf"))
    a = ap.parse_args()
    s = torch.load(os.path.join(a.work, "ckpt.pt"))
    flat = s["EMA" if a.average else "P"]
    m, off = Model(), 0
    for p in m.parameters():
        p.data = flat[off:off + p.numel()].view(p.shape)
        off += p.numel()
    moes = [x for x in m.modules() if hasattr(x, "w13")]
    for x, b in zip(moes, s["B"]):
        # A constant added to all experts' biases changes no choice.
        x.bias = (b - b.mean()).clone()
    os.makedirs(a.out, exist_ok=True)
    t = {k: v.detach().contiguous().to(torch.float32 if k.endswith("correction_bias") else torch.bfloat16).clone()
         for k, v in m.hf_tensors().items()}
    save_file(t, os.path.join(a.out, "model.safetensors"), metadata={"format": "pt"})

    def js(name, x):
        with open(os.path.join(a.out, name), "w") as f:
            json.dump(x, f, indent=2)
            f.write("\n")

    js("config.json", CONFIG)
    js("generation_config.json", {"bos_token_id": 0, "eos_token_id": 0, "pad_token_id": 1, "do_sample": False})
    js("tokenizer_config.json", {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<|endoftext|>",
                                 "eos_token": "<|endoftext|>", "pad_token": "<|pad|>", "add_bos_token": False,
                                 "add_eos_token": False, "clean_up_tokenization_spaces": False,
                                 "model_max_length": CONFIG["max_position_embeddings"]})
    shutil.copyfile(os.path.join(a.work, "tokenizer.json"), os.path.join(a.out, "tokenizer.json"))
    size = sum(os.path.getsize(os.path.join(a.out, f)) for f in os.listdir(a.out))
    print("step", s["step"], "parameters", off, "bytes", size)


if __name__ == "__main__":
    main()
