#!/usr/bin/env python3
"""Writes tiny seeded models in Hugging Face's layout. Standard library only.

  python3 tiny.py --list
  python3 tiny.py NAME -o DIR [--dtype f32|bf16] [--seed N]
  python3 tiny.py --all -o DIR        one folder per model and type: DIR/NAME.f32, DIR/NAME.bf16

Each weight is a function of seed, tensor name and element index:

  key  = fnv1a64(name as UTF-8) ^ splitmix64(seed)
  bits = splitmix64(key + index)                       (64-bit wrapping)
  u    = (bits >> 40) / 2^23 - 1                       in [-1, 1), exact in binary32
  w    = binary32(offset + amplitude * u)              computed in binary64

  splitmix64(x): x += 0x9E3779B97F4A7C15; x = (x ^ x>>30) * 0xBF58476D1CE4E5B9;
                 x = (x ^ x>>27) * 0x94D049BB133111EB; x ^ x>>31

The tensor's kind determines offset and amplitude (see `kind`). bf16 rounds the binary32 value to
nearest even; e_score_correction_bias stays in binary32.
"""
import argparse, array, json, math, os, sys

from tiny_models import (BIAS, CHAIN_HEAD, CHAIN_PROJ, CHAINED, DUPLICATES, GEMMAS, HYBRIDS, KEYS,
                         MODELS, SEEDS, SHARDED, STORED_HEADS, TREES)

MASK = (1 << 64) - 1


def splitmix64(x):
    x = (x + 0x9E3779B97F4A7C15) & MASK
    x = ((x ^ x >> 30) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ x >> 27) * 0x94D049BB133111EB) & MASK
    return x ^ x >> 31


def fnv1a64(s):
    h = 0xCBF29CE484222325
    for b in s.encode():
        h = ((h ^ b) * 0x100000001B3) & MASK
    return h


def fill(name, count, offset, amplitude, seed):
    key = fnv1a64(name) ^ splitmix64(seed)
    out = array.array("f", bytes(4 * count))
    for i in range(count):
        x = (key + i + 0x9E3779B97F4A7C15) & MASK
        x = ((x ^ x >> 30) * 0xBF58476D1CE4E5B9) & MASK
        x = ((x ^ x >> 27) * 0x94D049BB133111EB) & MASK
        x ^= x >> 31
        out[i] = offset + amplitude * ((x >> 40) / 8388608.0 - 1.0)
    return out


def kind(name, shape, tied=False, centred=False):
    """Returns (offset, amplitude) of a tensor's uniform distribution. centred: norms are added to
    1."""
    if name.endswith(("A_log", "dt_bias")):
        return 0.0, 1.0   # gates() converts these values
    if name.endswith("conv1d.weight"):
        return 0.0, 0.8
    if name.endswith("linear_attn.norm.weight"):
        return 1.0, 0.25
    if "norm" in name and centred:
        return 0.0, 0.25
    if name.endswith(("e_score_correction_bias", "expert_bias")):
        return 0.0, 0.25
    if name.endswith(".bias"):
        return 0.0, 0.2
    if "norm" in name:
        return 1.0, 0.25
    std = 1 / math.sqrt(shape[-1])
    if "embed_tokens" in name:
        std = 0.3 if tied else 1.0
        if tied and centred:   # Gemma 3 multiplies embeddings by the root of the width
            std = 0.07
    elif "lm_head" in name or "shared_head.head" in name:
        std *= 2.5
    elif "in_proj_ba" in name or name.endswith(("in_proj_a.weight", "in_proj_b.weight")):
        std *= 0.5
    elif name.endswith(("mlp.gate.weight", "moe.gate.weight", "router.gate.weight")):
        std *= 2.0
    elif any(k in name for k in ("q_proj", "k_proj", "q_b_proj", "kv_b_proj")):
        std *= 1.5
    return 0.0, math.sqrt(3.0) * std


def tensors(name, c):
    """Returns [(tensor name, shape)] in file order."""
    if "text_config" in c:
        inner = tensors(name, c["text_config"])
        return [(n.replace("model.", trunk_of(c), 1), s) for n, s in inner] + [
            ("model.visual.blocks.0.attn.qkv.weight", [24, 8])]
    out = []
    H, V = c["hidden_size"], c["vocab_size"]
    mt = c["model_type"]

    def w(n, *shape):
        out.append((n, list(shape)))

    def mlp(p, inter):
        w(p + "gate_proj.weight", inter, H)
        w(p + "up_proj.weight", inter, H)
        w(p + "down_proj.weight", H, inter)

    def attention(p):
        nh = c["num_attention_heads"]
        if "kv_lora_rank" in c:
            qd = c["qk_nope_head_dim"] + c["qk_rope_head_dim"]
            if c["q_lora_rank"]:
                w(p + "q_a_proj.weight", c["q_lora_rank"], H)
                w(p + "q_a_layernorm.weight", c["q_lora_rank"])
                w(p + "q_b_proj.weight", nh * qd, c["q_lora_rank"])
            else:
                w(p + "q_proj.weight", nh * qd, H)
            w(p + "kv_a_proj_with_mqa.weight", c["kv_lora_rank"] + c["qk_rope_head_dim"], H)
            w(p + "kv_a_layernorm.weight", c["kv_lora_rank"])
            w(p + "kv_b_proj.weight", nh * (c["qk_nope_head_dim"] + c["v_head_dim"]), c["kv_lora_rank"])
            w(p + "o_proj.weight", H, nh * c["v_head_dim"])
            return
        d = c.get("head_dim") or H // nh
        bias = mt in ("qwen2", "seed_oss") or c.get("attention_bias")
        kvh = c["num_key_value_heads"] or nh
        for n, heads in (("q_proj", nh), ("k_proj", kvh), ("v_proj", kvh)):
            w(p + n + ".weight", heads * d, H)
            if bias:
                w(p + n + ".bias", heads * d)
        w(p + "o_proj.weight", H, nh * d)
        if c.get("attention_out_bias") or (mt == "dots1" and bias):
            w(p + "o_proj.bias", H)
        if mt == "minimax_m2":
            w(p + "q_norm.weight", nh * d)
            w(p + "k_norm.weight", kvh * d)
        elif mt in ("qwen3", "qwen3_moe", "dots1", "hy_v3", "gemma3_text") or c.get("use_qk_norm"):
            w(p + "q_norm.weight", d)
            w(p + "k_norm.weight", d)

    def recurrence(p):
        keys = c["linear_num_key_heads"] * c["linear_key_head_dim"]
        heads = c["linear_num_value_heads"]
        values = heads * c["linear_value_head_dim"]
        if mt == "qwen3_next":
            w(p + "in_proj_qkvz.weight", 2 * keys + 2 * values, H)
            w(p + "in_proj_ba.weight", 2 * heads, H)
        else:
            w(p + "in_proj_qkv.weight", 2 * keys + values, H)
            w(p + "in_proj_z.weight", values, H)
            w(p + "in_proj_a.weight", heads, H)
            w(p + "in_proj_b.weight", heads, H)
        w(p + "conv1d.weight", 2 * keys + values, 1, c["linear_conv_kernel_dim"])
        w(p + "A_log", heads)
        w(p + "dt_bias", heads)
        w(p + "norm.weight", c["linear_value_head_dim"])
        w(p + "out_proj.weight", H, values)

    def hybrid_block(p, recurrent):
        nh, kvh, d = c["num_attention_heads"], c["num_key_value_heads"], c["head_dim"]
        w(p + "input_layernorm.weight", H)
        if recurrent:
            recurrence(p + "linear_attn.")
        else:
            w(p + "self_attn.q_proj.weight", 2 * nh * d, H)
            w(p + "self_attn.k_proj.weight", kvh * d, H)
            w(p + "self_attn.v_proj.weight", kvh * d, H)
            w(p + "self_attn.o_proj.weight", H, nh * d)
            w(p + "self_attn.q_norm.weight", d)
            w(p + "self_attn.k_norm.weight", d)
        w(p + "post_attention_layernorm.weight", H)
        p += "mlp."
        if "num_experts" not in c:
            return mlp(p, c["intermediate_size"])
        n, width = c["num_experts"], c["moe_intermediate_size"]
        w(p + "gate.weight", n, H)
        if mt == "qwen3_next":
            for e in range(n):
                mlp(p + f"experts.{e}.", width)
        else:
            w(p + "experts.gate_up_proj", n, 2 * width, H)
            w(p + "experts.down_proj", n, H, width)
        mlp(p + "shared_expert.", c["shared_expert_intermediate_size"])
        w(p + "shared_expert_gate.weight", 1, H)

    def named_experts(p):
        """Yields the experts of families that have their own names for them."""
        n = c.get("moe_num_experts") or c.get("num_local_experts") or c["num_experts"]
        if mt == "minimax_m2":
            p += "block_sparse_moe."
            w(p + "gate.weight", n, H)
            w(p + "e_score_correction_bias", n)
            for e in range(n):
                w(p + f"experts.{e}.w1.weight", c["intermediate_size"], H)
                w(p + f"experts.{e}.w2.weight", H, c["intermediate_size"])
                w(p + f"experts.{e}.w3.weight", c["intermediate_size"], H)
            return
        p += "mlp."
        width = c["moe_intermediate_size"]
        if mt == "hy_v3":
            w(p + "router.gate.weight", n, H)
            w(p + "expert_bias", n)
            mlp(p + "shared_mlp.", width * c["num_shared_experts"])
        else:
            w(p + "gate.weight", n, H)
            w(p + "moe_statics.e_score_correction_bias", 1, n)
            mlp(p + "shared_experts.", width * c["moe_num_shared_experts"])
        for e in range(n):
            mlp(p + f"experts.{e}.", width)

    def block(p, dense):
        w(p + "input_layernorm.weight", H)
        attention(p + "self_attn.")
        w(p + "post_attention_layernorm.weight", H)
        if mt == "gemma3_text":
            w(p + "pre_feedforward_layernorm.weight", H)
            w(p + "post_feedforward_layernorm.weight", H)
        if dense:
            mlp(p + "mlp.", c["intermediate_size"])
            return
        if mt in ("ernie4_5_moe", "minimax_m2", "hy_v3"):
            return named_experts(p)
        n = c.get("num_local_experts") or c.get("n_routed_experts") or c["num_experts"]
        w(p + "mlp.gate.weight", n, H)
        if mt != "qwen3_moe":
            w(p + "mlp.gate.e_score_correction_bias", n)
            mlp(p + "mlp.shared_experts.", c["moe_intermediate_size"] * c.get("n_shared_experts", 1))
        for e in range(n):
            mlp(p + f"mlp.experts.{e}.", c["moe_intermediate_size"])

    dense_layers = {"deepseek_v3": c.get("first_k_dense_replace"), "glm4_moe": c.get("first_k_dense_replace"),
                    "dots1": c.get("first_k_dense_replace"), "glm4_moe_lite": 1, "qwen3_moe": 0, "minimax_m2": 0,
                    "hy_v3": 1, "ernie4_5_moe": 1}.get(mt, 1 << 30)
    last_moe = c.get("moe_layer_end_index", 1 << 30)
    w("model.embed_tokens.weight", V, H)
    for i in range(c["num_hidden_layers"]):
        if name in HYBRIDS:
            hybrid_block(f"model.layers.{i}.", (i + 1) % c["full_attention_interval"] != 0)
            continue
        block(f"model.layers.{i}.", i < dense_layers or i > last_moe)
    w("model.norm.weight", H)
    if not c["tie_word_embeddings"] or name in STORED_HEADS:
        w("lm_head.weight", V, H)
    if name in HYBRIDS:
        w("mtp.fc.weight", H, 2 * H)
        for n in ("pre_fc_norm_embedding", "pre_fc_norm_hidden", "norm"):
            w(f"mtp.{n}.weight", H)
        hybrid_block("mtp.layers.0.", False)
    for d in range(c.get("num_nextn_predict_layers", 0)):
        if mt == "mimo":
            p = f"model.mtp_layers.{d}."
            w(p + "token_layernorm.weight", H)
            w(p + "hidden_layernorm.weight", H)
            w(p + "input_proj.weight", H, 2 * H)
            w(p + "final_layernorm.weight", H)
            block(p, True)
        else:
            p = f"model.layers.{c['num_hidden_layers'] + d}."
            w(p + "enorm.weight", H)
            w(p + "hnorm.weight", H)
            w(p + "eh_proj.weight", H, 2 * H)
            w(p + ("final_layernorm.weight" if mt == "hy_v3" else "shared_head.norm.weight"), H)
            if name in DUPLICATES:
                w(p + "embed_tokens.weight", V, H)
                w(p + "shared_head.head.weight", V, H)
            block(p, False)
    return out


def bf16(a):
    """Converts a binary32 array to bf16 words, rounded to nearest even."""
    bits = array.array("I", a.tobytes())
    return array.array("H", [(b + 0x7FFF + (b >> 16 & 1)) >> 16 for b in bits])


def write_safetensors(path, entries):
    header, off = {"__metadata__": {"format": "pt"}}, 0
    for n, dtype, shape, data in entries:
        size = len(data) * data.itemsize
        header[n] = {"dtype": dtype, "shape": shape, "data_offsets": [off, off + size]}
        off += size
    h = json.dumps(header, separators=(",", ":")).encode()
    h += b" " * (-len(h) % 8)
    with open(path, "wb") as f:
        f.write(len(h).to_bytes(8, "little") + h)
        for _, _, _, data in entries:
            if sys.byteorder == "big":
                data = array.array(data.typecode, data)
                data.byteswap()
            f.write(data.tobytes())
    return off


MERGES = ["t h", "h e", "Ġ t", "i n", "Ġ a", "e r", "o n", "Ġt he", "n d", "r e", "a n", "Ġ s", "Ġa nd", "e n", "o u"]


def tokenizer(size):
    """Returns a byte-level BPE tokenizer over printable ASCII, space and newline: 1 special + 96 +
    15 merges = 112. Further tokens up to `size` occur in no text, so that the vocabulary is not
    padded."""
    chars = [chr(i) for i in range(33, 127)] + ["Ġ", "Ċ"]
    vocab = {"<|endoftext|>": 0}
    for t in chars + [m.replace(" ", "") for m in MERGES]:
        vocab[t] = len(vocab)
    while len(vocab) < size:
        vocab[f"<{len(vocab)}>"] = len(vocab)
    return {"version": "1.0", "truncation": None, "padding": None,
            "added_tokens": [{"id": 0, "content": "<|endoftext|>", "single_word": False, "lstrip": False,
                              "rstrip": False, "normalized": False, "special": True}],
            "normalizer": None,
            "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
            "post_processor": None,
            "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
            "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
                      "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False,
                      "ignore_merges": False, "vocab": vocab, "merges": MERGES}}


def write_json(path, x):
    with open(path, "w", encoding="utf8") as f:
        json.dump(x, f, indent=1, ensure_ascii=False)
        f.write("\n")


def trunk_of(c):
    return "model.language_model." if "text_config" in c else "model."


def gates(n, data):
    """Sets gates as Gated DeltaNet initialises them: decay rates up to 16, and steps of 0.001 to
    0.1 with a uniform logarithm. Some heads then remember a thousand tokens. With steps of 1, as in
    transformers, they forget at once."""
    out = array.array("f", data)
    for i, u in enumerate(data):
        if n.endswith("A_log"):
            out[i] = math.log(0.01 + (u + 1) / 2 * 15.99)
        else:
            step = 0.001 * 100 ** ((u + 1) / 2)
            out[i] = step + math.log(-math.expm1(-step))
    return out


def values(name, c, n, shape, seed):
    source = n   # stored copies of the shared embedding and head
    if n.endswith(".shared_head.head.weight"):
        source = "lm_head.weight"
    elif n.endswith(".embed_tokens.weight") and n != trunk_of(c) + "embed_tokens.weight":
        source = trunk_of(c) + "embed_tokens.weight"
    offset, amplitude = kind(source, shape, c["tie_word_embeddings"], name in HYBRIDS | GEMMAS)
    if n.endswith("e_score_correction_bias"):
        offset += BIAS.get(name, 0.0)
    data = fill(source, math.prod(shape), offset, amplitude, seed)
    if n.endswith(("A_log", "dt_bias")):
        return gates(n, data)
    if name in CHAINED and n == "lm_head.weight":
        e = values(name, c, trunk_of(c) + "embed_tokens.weight", shape, seed)
        V, H = shape
        for j in range(V):
            for k in range(H):
                data[j * H + k] += CHAIN_HEAD * e[(j - 7) % V * H + k]
    if name in CHAINED - TREES and n.endswith(("eh_proj.weight", "mtp.fc.weight")):
        for k in range(shape[0]):
            data[k * shape[1] + k] += CHAIN_PROJ
    return data


def write(name, folder, dtype="f32", seed=None):
    c = MODELS[name]
    seed = SEEDS.get(name, 0) if seed is None else seed
    os.makedirs(folder, exist_ok=True)
    stored = "bfloat16" if dtype == "bf16" else "float32"
    if "text_config" in c:
        c = {**c, "text_config": {**c["text_config"], "dtype": stored}}
    else:
        c = {**c, "torch_dtype": stored}
    write_json(os.path.join(folder, "config.json"), c)
    text = c.get("text_config", c)
    write_json(os.path.join(folder, "generation_config.json"),
               {"bos_token_id": 0, "eos_token_id": 0, "do_sample": False})
    write_json(os.path.join(folder, "tokenizer.json"), tokenizer(text["vocab_size"]))
    write_json(os.path.join(folder, "tokenizer_config.json"),
               {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<|endoftext|>",
                "eos_token": "<|endoftext|>", "add_bos_token": False, "clean_up_tokenization_spaces": False,
                "model_max_length": text["max_position_embeddings"]})
    entries = []
    for n, shape in tensors(name, c):
        data = values(name, c, n, shape, seed)
        stays = ("e_score_correction_bias", "expert_bias")
        if "text_config" in c:   # as released Qwen3.5 models have it
            stays += ("A_log", "linear_attn.norm.weight")
        if dtype == "bf16" and not n.endswith(stays):
            entries.append((n, "BF16", shape, bf16(data)))
        else:
            entries.append((n, "F32", shape, data))
    for old in os.listdir(folder):
        if ".safetensors" in old:
            os.unlink(os.path.join(folder, old))
    if name not in SHARDED:
        write_safetensors(os.path.join(folder, "model.safetensors"), entries)
        return
    half = len(entries) // 2
    index, total = {}, 0
    for k, part in enumerate((entries[:half], entries[half:])):
        file = f"model-{k + 1:05d}-of-00002.safetensors"
        total += write_safetensors(os.path.join(folder, file), part)
        index.update({e[0]: file for e in part})
    write_json(os.path.join(folder, "model.safetensors.index.json"),
               {"metadata": {"total_size": total}, "weight_map": index})


def run(doc, names, write):
    """Runs the command line of a script that writes the models in `names`."""
    ap = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("name", nargs="?", choices=sorted(names))
    ap.add_argument("-o", "--out")
    ap.add_argument("--dtype", choices=["f32", "bf16"], default="f32")
    ap.add_argument("--seed", type=int, help="another seed than its own")
    ap.add_argument("--list", action="store_true")
    ap.add_argument("--all", action="store_true")
    a = ap.parse_args()
    if a.list:
        print("\n".join(names))
    elif a.out and a.all:
        for n in names:
            for t in ("f32", "bf16"):
                write(n, os.path.join(a.out, f"{n}.{t}"), t, a.seed)
    elif a.out and a.name:
        write(a.name, a.out, a.dtype, a.seed)
    else:
        ap.error("NAME and -o DIR, or --list")


if __name__ == "__main__":
    run(__doc__, MODELS, write)
