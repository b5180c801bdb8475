#!/usr/bin/env python3
"""Writes tiny seeded drafters of the tiny model `llama-chain`, each in its authors' layout.
Standard library only.

  python3 tiny_drafters.py --list
  python3 tiny_drafters.py NAME -o DIR [--dtype f32|bf16] [--seed N]
  python3 tiny_drafters.py --all -o DIR      one folder per drafter and type: DIR/NAME.f32,
                                             DIR/NAME.bf16

Values are tiny.py's functions of seed, tensor name and index. Some tensors get an addition (see
`ADD`), the identity or rows of the target's embedding, so that the drafter continues t with t + 7,
as the target mostly does.
"""
import array, math, os, sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tiny

TARGET = "llama-chain"
T = tiny.MODELS[TARGET]
H, V, L = T["hidden_size"], T["vocab_size"], T["num_hidden_layers"]
INTER, HEADS, KV, D, SMALL = 80, 4, 2, 16, 40
KEPT = [i for i in range(V) if i % 8 != 3][5:5 + 84]   # the draft vocabulary, ascending target ids
MASK, BLOCK, RANK, HEADS_COUNT = 111, 5, 24, 4

LLAMA = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu", "hidden_size": H,
         "intermediate_size": INTER, "num_attention_heads": HEADS, "num_key_value_heads": KV, "head_dim": D,
         "num_hidden_layers": 1, "vocab_size": V, "rms_norm_eps": 1e-5, "rope_theta": 10000.0,
         "max_position_embeddings": 512, "attention_bias": False, "tie_word_embeddings": False,
         "bos_token_id": 0, "eos_token_id": 0}
LM = {**LLAMA, "mlp_bias": False, "num_hidden_layers": 2, "tie_word_embeddings": False}
QWEN = {**LLAMA, "model_type": "qwen3", "num_hidden_layers": 2, "block_size": BLOCK, "num_target_layers": L}
BLOCK_LLAMA = {**LLAMA, "num_hidden_layers": 2}
EAGLE3 = {**LLAMA, "architectures": ["LlamaForCausalLMEagle3"], "draft_vocab_size": len(KEPT)}


def speculators(kind, arch, layers=LLAMA, **kw):
    return {"architectures": [arch], "speculators_model_type": kind, "speculators_version": "0.5.0",
            "draft_vocab_size": len(KEPT), "target_hidden_size": H, **kw,
            "transformer_layer_config": {k: v for k, v in layers.items()},
            "speculators_config": {"algorithm": kind, "default_proposal_method": "greedy", "proposal_methods": [
                {"proposal_type": "greedy", "speculative_tokens": 3, "verifier_accept_k": 1, "accept_tolerance": 0.0}],
                "verifier": {"name_or_path": TARGET, "architectures": T["architectures"]}}}


DRAFTERS = {
    "eagle1": {**LLAMA, "bias": True},
    # The authors' file: default taps, full names `midlayer.*`.
    "eagle3": EAGLE3,
    # speculators' file: its own taps, residual from the normed state, names `layers.0.*`, all
    # tokens drafted.
    "eagle3-speculators": speculators("eagle3", "Eagle3Speculator", draft_vocab_size=V, norm_before_residual=True,
                                      eagle_aux_hidden_state_layer_ids=[1, 4, 8]),
    "p-eagle": speculators("peagle", "PEagleSpeculator", {**LLAMA, "num_hidden_layers": 2}, norm_before_residual=False,
                           mask_token_id=MASK, num_depths=4, eagle_aux_hidden_state_layer_ids=[2, 4, 5]),
    "medusa": {"model_type": "medusa", "medusa_num_heads": HEADS_COUNT, "medusa_num_layers": 1, "hidden_size": H,
               "vocab_size": V, "base_model_name_or_path": TARGET},
    "heads": {"dim": H, "n_layers": L, "n_heads": HEADS, "n_kv_heads": KV, "hidden_dim": INTER, "vocab_size": V,
              "norm_eps": 1e-5, "rope_theta": 10000.0, "n_future_tokens": 4},
    "draft-model": LM,
    "pard": {**LM, "spd_type": "pard", "pard_token": MASK},
    "dflash": {**QWEN, "architectures": ["DFlashDraftModel"],
               "dflash_config": {"target_layer_ids": [1, 3, 6], "mask_token_id": MASK}},
    "dspark": {**QWEN, "architectures": ["Qwen3DSparkModel"], "target_layer_ids": [0, 3, 7], "mask_token_id": MASK,
               "markov_rank": RANK, "markov_head_type": "vanilla", "enable_confidence_head": True,
               "confidence_head_with_markov": True},
    # The largest number of rows of a round.
    "dflash-wide": {**QWEN, "architectures": ["DFlashDraftModel"], "block_size": 16,
                    "dflash_config": {"target_layer_ids": [1, 3, 6], "mask_token_id": MASK}},
    # DeepSpec's own DFlash: its DSpark without the two heads.
    "dflash-deepspec": {**QWEN, "architectures": ["Qwen3DSparkModel"], "target_layer_ids": [-1, 4], "mask_token_id": MASK,
                        "markov_rank": 0, "enable_confidence_head": False},
    # speculators' files: taps by entered layer, 84 tokens drafted, a Llama's layers without head
    # norms. DSpark's rows draft their own positions, and the anchor's row drafts nothing.
    "dflash-speculators": speculators("dflash", "DFlashDraftModel", BLOCK_LLAMA, block_size=BLOCK, mask_token_id=MASK,
                                      aux_hidden_state_layer_ids=[2, 4, 8]),
    "dspark-speculators": speculators("dspark", "DSparkDraftModel", BLOCK_LLAMA, block_size=4, mask_token_id=MASK,
                                      sample_from_anchor=False,
                                      aux_hidden_state_layer_ids=[1, 5], markov_rank=RANK, markov_head_type="vanilla",
                                      enable_confidence_head=True, confidence_head_with_markov=False),
}
# Chosen so that no choice is nearly a tie and some drafts are accepted.
SEEDS = {"eagle1": 0, "eagle3": 2, "eagle3-speculators": 6, "p-eagle": 3, "medusa": 3, "heads": 2, "dflash": 9, "dspark": 2, "dflash-wide": 9,
         "dflash-deepspec": 5, "dspark-speculators": 5}
FILES = {"medusa": "medusa_lm_head.safetensors"}
CONFIGS = {"heads": "params.json"}


def layer(p, qkv_in=H, norms=("input_layernorm", "post_attention_layernorm"), head_norms=False):
    a, m = p + "self_attn.", p + "mlp."
    out = [(p + n + ".weight", [H]) for n in norms]
    out += [(a + "q_proj.weight", [HEADS * D, qkv_in]), (a + "k_proj.weight", [KV * D, qkv_in]),
            (a + "v_proj.weight", [KV * D, qkv_in]), (a + "o_proj.weight", [H, HEADS * D])]
    out += [(a + n + "_norm.weight", [D]) for n in "qk"] if head_norms else []
    return out + [(m + "gate_proj.weight", [INTER, H]), (m + "up_proj.weight", [INTER, H]),
                  (m + "down_proj.weight", [H, INTER])]


def tensors(name):
    """Returns [(tensor name, shape)] in file order."""
    c = DRAFTERS[name]
    if name == "eagle1":
        return [("embed_tokens.weight", [V, H]), ("fc.weight", [H, 2 * H]), ("fc.bias", [H])] + \
            layer("layers.0.", norms=("post_attention_layernorm",))
    if name in ("eagle3", "eagle3-speculators", "p-eagle"):
        size, own = c["draft_vocab_size"], name != "eagle3"
        out = [("fc.weight", [H, 3 * H])] + layer("layers.0." if own else "midlayer.", 2 * H, (
            "hidden_norm", "input_layernorm", "post_attention_layernorm"))
        out += layer("layers.1.") if name == "p-eagle" else []
        out += [("norm.weight", [H]), ("lm_head.weight", [size, H])]
        out += [("embed_tokens.weight", [V, H])] if own else []
        out += [("d2t", [size]), ("t2d", [V])] if size < V else []
        return out + ([("mask_hidden", [1, 1, 3 * H])] if name == "p-eagle" else [])
    if name == "medusa":
        return [t for i in range(HEADS_COUNT) for t in (
            (f"{i}.0.linear.weight", [H, H]), (f"{i}.0.linear.bias", [H]), (f"{i}.1.weight", [V, H]))]
    if name == "heads":
        return [t for i in range(c["n_future_tokens"] - 1) for p in [f"extra_heads.{i}."] for t in (
            (p + "attention.wq.weight", [HEADS * D, H]), (p + "attention.wk.weight", [KV * D, H]),
            (p + "attention.wv.weight", [KV * D, H]), (p + "attention.wo.weight", [H, HEADS * D]),
            (p + "feed_forward.w1.weight", [INTER, H]), (p + "feed_forward.w2.weight", [H, INTER]),
            (p + "feed_forward.w3.weight", [INTER, H]), (p + "attention_norm.weight", [H]), (p + "ffn_norm.weight", [H]))]
    if name in ("draft-model", "pard"):
        body = [t for i in range(2) for t in layer(f"model.layers.{i}.")]
        return [("model.embed_tokens.weight", [V, H])] + body + [("model.norm.weight", [H]), ("lm_head.weight", [V, H])]
    own, taps = c.get("dflash_config", c), ("target_layer_ids", "aux_hidden_state_layer_ids")
    width = next(len(own[k]) for k in taps if k in own) * H
    out = [("fc.weight", [H, width]), ("hidden_norm.weight", [H]), ("norm.weight", [H])]
    out += [t for i in range(2) for t in layer(f"layers.{i}.", head_norms="speculators" not in name)]
    size = c.get("draft_vocab_size", V)
    if name not in ("dflash", "dflash-wide"):
        out += [("embed_tokens.weight", [V, H]), ("lm_head.weight", [size, H])]
    out += [("d2t", [size]), ("t2d", [V])] if size < V else []
    if name.startswith("dspark"):
        read = H + RANK if c["confidence_head_with_markov"] else H
        out += [("markov_head.markov_w1.weight", [V, RANK]), ("markov_head.markov_w2.weight", [size, RANK]),
                ("confidence_head.proj.weight", [1, read]), ("confidence_head.proj.bias", [1])]
    return out


def target_values(name):
    return tiny.values(TARGET, T, name, [V, H], tiny.SEEDS.get(TARGET, 0))


def add_identity(data, columns, scale, rows, first=0):
    for i in range(rows):
        data[i * columns + first + i] += scale


def add_rows(data, columns, table, scale, shift, ids=range(V)):
    """Adds to row j scale x the table's row of the token `shift` before ids[j]."""
    for j, token in enumerate(ids):
        for k in range(columns):
            data[j * columns + k] += scale * table[(token - shift) % V * columns + k]


def add_copy_of_token(n, data, columns):
    """Makes attention, whose first inputs are the normed embedding, mostly see and pass on its own
    row."""
    kind = n.split(".")[-2]
    if kind in ("q_proj", "k_proj"):
        add_identity(data, columns, 3.0, KV * D)
    elif kind == "v_proj":
        add_identity(data, columns, 4.0, KV * D)
    elif kind == "o_proj":   # query heads 0, 1 read the first KV head, 2, 3 the second
        for head in (0, 2):
            for i in range(D):
                data[(head // 2 * D + i) * columns + head * D + i] += 4.0


def values(name, n, shape, seed):
    if n == "embed_tokens.weight" or n == "model.embed_tokens.weight":
        e = target_values("model.embed_tokens.weight")
        if name == "p-eagle":   # the mask's row is trained
            e[MASK * H:(MASK + 1) * H] = tiny.fill("mask", H, 0.0, 1.0, seed)
        return e
    if name.startswith(("dflash", "dspark")) and n == "lm_head.weight":   # a copy of the target's rows
        z = target_values(n)
        return z if shape[0] == V else array.array("f", [x for t in KEPT for x in z[t * H:(t + 1) * H]])
    count, columns = math.prod(shape), shape[-1]
    offset, amplitude = tiny.kind(n, shape)
    data = tiny.fill(n, count, offset, amplitude, seed)
    embed = lambda: target_values("model.embed_tokens.weight")
    if n == "fc.weight":   # the embedding's half, or the first tap
        add_identity(data, columns, 0.7 if name == "eagle1" else 0.5, H)
    if name == "eagle1" and n.split(".")[-2] in ("fc", "o_proj", "down_proj"):
        for i in range(count):   # No norm precedes the head. Without this one token has all the probability.
            data[i] *= 0.25
    elif name.startswith(("eagle3", "p-eagle")) and "self_attn" in n and not n.startswith("layers.1."):
        add_copy_of_token(n, data, columns)
    elif name.startswith(("eagle3", "p-eagle")) and n == "lm_head.weight":
        ids = KEPT if shape[0] < V else range(V)
        add_rows(data, columns, embed(), 0.5, 7, ids)
    elif name == "medusa" and n.endswith(".1.weight"):
        add_rows(data, columns, embed(), 0.8, 7 * (2 + int(n[0])))
    elif name.startswith(("dflash", "dspark")) and n.endswith("o_proj.weight"):
        for i in range(count):   # otherwise only the mask's embedding decides
            data[i] *= 4.0
    elif name in ("draft-model", "pard") and n == "lm_head.weight":
        add_rows(data, columns, embed(), 0.5, 7)
    elif n == "markov_head.markov_w2.weight":
        w1 = values(name, "markov_head.markov_w1.weight", [V, columns], seed)
        add_rows(data, columns, w1, 1.5, 7, KEPT if shape[0] < V else range(V))
    return data


def write(name, folder, dtype="f32", seed=None):
    c = DRAFTERS[name]
    seed = SEEDS.get(name, 0) if seed is None else seed
    os.makedirs(folder, exist_ok=True)
    tiny.write_json(os.path.join(folder, CONFIGS.get(name, "config.json")),
                    {**c, "torch_dtype": "bfloat16" if dtype == "bf16" else "float32"})
    entries = []
    for n, shape in tensors(name):
        if n == "d2t":
            entries.append((n, "I64", shape, array.array("q", [t - i for i, t in enumerate(KEPT)])))
        elif n == "t2d":
            entries.append((n, "BOOL", shape, array.array("B", [int(i in KEPT) for i in range(V)])))
        elif dtype == "bf16":
            entries.append((n, "BF16", shape, tiny.bf16(values(name, n, shape, seed))))
        else:
            entries.append((n, "F32", shape, values(name, n, shape, seed)))
    tiny.write_safetensors(os.path.join(folder, FILES.get(name, "model.safetensors")), entries)


if __name__ == "__main__":
    tiny.run(__doc__, DRAFTERS, write)
