#!/usr/bin/env python3
"""Converts tiny models and drafters to GGUF as llama.cpp's converter does. Standard library only, and
independent of the importer.

  python3 gguf_models.py model FOLDER -o FILE [--type f16] [--files N] [--part all|trunk|modules]
                         [--fused] [--old]
      the model of a folder that tiny.py wrote, each matrix in its own type or in `type`. A part is
      the model with its MTP modules, without them, or the modules alone. --fused joins q, k, v and
      the experts' gates and ups. --old writes latent attention and projections by key head as older
      converters do
  python3 gguf_models.py drafter FOLDER --target FOLDER -o FILE
      a drafter that tiny_drafters.py wrote: EAGLE-3, DFlash or DSpark
"""
import argparse, array, json, math, os, struct

from gguf_files import BF16, F16, F32, f32, flag, i32, listed, read_safetensors, text, u16, u32, write_gguf

LEAVES = {"input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm", "self_attn.q_proj": "attn_q",
          "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output",
          "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm", "mlp.gate_proj": "ffn_gate",
          "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down", "mlp.gate": "ffn_gate_inp",
          "mlp.shared_experts.gate_proj": "ffn_gate_shexp", "mlp.shared_experts.up_proj": "ffn_up_shexp",
          "mlp.shared_experts.down_proj": "ffn_down_shexp", "eh_proj": "nextn.eh_proj", "enorm": "nextn.enorm",
          "hnorm": "nextn.hnorm", "embed_tokens": "nextn.embed_tokens", "shared_head.head": "nextn.shared_head_head",
          "shared_head.norm": "nextn.shared_head_norm",
          # Latent attention.
          "self_attn.q_a_proj": "attn_q_a", "self_attn.q_a_layernorm": "attn_q_a_norm", "self_attn.q_b_proj": "attn_q_b",
          "self_attn.kv_a_proj_with_mqa": "attn_kv_a_mqa", "self_attn.kv_a_layernorm": "attn_kv_a_norm",
          "self_attn.kv_b_proj": "attn_kv_b",
          # Hy3 and MiniMax.
          "mlp.router.gate": "ffn_gate_inp", "mlp.shared_mlp.gate_proj": "ffn_gate_shexp",
          "mlp.shared_mlp.up_proj": "ffn_up_shexp", "mlp.shared_mlp.down_proj": "ffn_down_shexp",
          "final_layernorm": "nextn.shared_head_norm", "block_sparse_moe.gate": "ffn_gate_inp",
          # Gemma 3.
          "pre_feedforward_layernorm": "ffn_norm", "post_feedforward_layernorm": "post_ffw_norm",
          # Recurrent layers.
          "linear_attn.in_proj_qkv": "attn_qkv", "linear_attn.in_proj_z": "attn_gate", "linear_attn.in_proj_a": "ssm_alpha",
          "linear_attn.in_proj_b": "ssm_beta", "linear_attn.in_proj_ba": "ssm_ba", "linear_attn.in_proj_qkvz": "ssm_in", "linear_attn.conv1d": "ssm_conv1d",
          "linear_attn.norm": "ssm_norm", "linear_attn.out_proj": "ssm_out", "mlp.shared_expert_gate": "ffn_gate_inp_shexp",
          "mlp.shared_expert.gate_proj": "ffn_gate_shexp", "mlp.shared_expert.up_proj": "ffn_up_shexp",
          "mlp.shared_expert.down_proj": "ffn_down_shexp"}
EXPERTS = {"gate_proj": "gate", "up_proj": "up", "down_proj": "down", "w1": "gate", "w3": "up", "w2": "down"}
# Names of whole tensors of a layer.
WHOLE = {"mlp.gate.e_score_correction_bias": "exp_probs_b.bias", "mlp.moe_statics.e_score_correction_bias": "exp_probs_b.bias",
         "block_sparse_moe.e_score_correction_bias": "exp_probs_b.bias", "mlp.expert_bias": "exp_probs_b",
         "linear_attn.A_log": "ssm_a", "linear_attn.dt_bias": "ssm_dt.bias"}
ARCHITECTURES = {"llama": "llama", "mistral": "llama", "ministral3": "mistral3", "qwen2": "qwen2", "qwen3": "qwen3", "qwen3_moe": "qwen3moe",
                 "glm4_moe": "glm4moe", "deepseek_v3": "deepseek2", "glm4_moe_lite": "deepseek2", "kimi_k2": "deepseek2",
                 "youtu": "deepseek2", "dots1": "dots1", "hy_v3": "hy_v3", "ernie4_5": "ernie4_5",
                 "ernie4_5_moe": "ernie4_5-moe", "minimax_m2": "minimax-m2", "seed_oss": "seed_oss",
                 "qwen3_next": "qwen3next", "qwen3_5_text": "qwen35", "qwen3_5_moe_text": "qwen35moe",
                 "gemma3_text": "gemma3"}
# Families that name the norm of the feed-forward part after attention, and one with a norm there.
POST_NORM = {"gemma3_text", "glm4_moe", "seed_oss", "qwen3_next", "qwen3_5_text", "qwen3_5_moe_text"}
HYBRIDS = {"qwen3_next", "qwen3_5_text", "qwen3_5_moe_text"}
PAIRED = {"llama", "mistral", "ministral3"}
LATENT = {"deepseek_v3", "glm4_moe_lite", "kimi_k2", "youtu"}


# Defaults of the configuration classes, which the converter reads too: theta and epsilon.
DEFAULTS = {"ernie4_5": (500000.0, 1e-5), "glm4_moe_lite": (10000.0, 1e-5), "hy_v3": (11158840.0, 1e-5),
            "minimax_m2": (5000000.0, 1e-6), "ministral3": (10000.0, 1e-5)}


def text_config(c):
    """The config of the text model within another one."""
    if "text_config" not in c:
        return c
    return {"tie_word_embeddings": c["tie_word_embeddings"], "bos_token_id": 0, "eos_token_id": 0, **c["text_config"]}


def gguf_name(name, model_type):
    whole = {"model.embed_tokens.weight": "token_embd.weight", "model.norm.weight": "output_norm.weight",
             "lm_head.weight": "output.weight"}
    if name in whole:
        return whole[name]
    _, _, layer, rest = name.split(".", 3)
    if rest in WHOLE:
        return f"blk.{layer}.{WHOLE[rest]}"
    leaf, extension = rest.rsplit(".", 1)
    if model_type in POST_NORM and leaf == "post_attention_layernorm":
        return f"blk.{layer}.post_attention_norm.weight"
    return f"blk.{layer}.{LEAVES[leaf]}.{extension}"


def usual_names(weights, c):
    """Names a text model's tensors as a model without images has them, and a module as a layer."""
    out, layers = {}, c["num_hidden_layers"]
    module = {"fc": "eh_proj", "pre_fc_norm_embedding": "enorm", "pre_fc_norm_hidden": "hnorm", "norm": "shared_head.norm"}
    for name, value in weights.items():
        name = name.replace("model.language_model.", "model.")
        if name.startswith("model.visual."):
            continue
        if name.startswith("mtp.layers."):
            _, _, number, rest = name.split(".", 3)
            name = f"model.layers.{layers + int(number)}.{rest}"
        elif name.startswith("mtp."):
            name = f"model.layers.{layers}.{module[name.split('.')[1]]}.weight"
        out[name] = value
    return out


def floats(value):
    kind, _, data = value
    if kind == F32:
        return array.array("f", data)
    return array.array("f", b"".join(b"\0\0" + data[i:i + 2] for i in range(0, len(data), 2)))


def rows_of(value):
    _, shape, data = value
    size = len(data) // shape[0]
    return [data[i:i + size] for i in range(0, len(data), size)]


def with_rows(value, rows):
    kind, shape, _ = value
    return kind, [len(rows), *shape[1:]], b"".join(rows)


def tile(items, groups, each, width):
    """Puts the first head of each group before the second one."""
    heads = [items[i:i + width] for i in range(0, len(items), width)]
    return [x for j in range(each) for g in range(groups) for x in heads[g * each + j]]


def tile_columns(value, groups, each, width):
    kind, shape, data = value
    size = 4 if kind == F32 else 2
    rows = []
    for row in rows_of(value):
        items = [row[i:i + size] for i in range(0, len(row), size)]
        rows.append(b"".join(tile(items, groups, each, width)))
    return with_rows(value, rows)


def transform_recurrent(weights, c, old):
    """The conversions of Qwen's hybrids: norms, decay rates, and the order of heads."""
    groups, heads = c["linear_num_key_heads"], c["linear_num_value_heads"]
    keys, width, each = groups * c["linear_key_head_dim"], c["linear_value_head_dim"], heads // groups
    tiles = c["model_type"] != "qwen3_next" and each > 1
    out = {}
    for name, value in weights.items():
        kind, shape, data = value
        if name.endswith("conv1d.weight"):
            value = kind, [shape[0], shape[2]], data
        if name.endswith("norm.weight") and "linear_attn.norm" not in name:
            value = F32, shape, array.array("f", [1 + x for x in floats(value)]).tobytes()
        elif name.endswith("A_log"):
            value = F32, shape, array.array("f", [-math.exp(x) for x in floats(value)]).tobytes()
        leaf = name.split("linear_attn.")[-1] if "linear_attn." in name else ""
        if tiles and leaf in ("in_proj_qkv.weight", "conv1d.weight"):
            rows = rows_of(value)
            value = with_rows(value, rows[:2 * keys] + tile(rows[2 * keys:], groups, each, width))
        elif tiles and leaf == "in_proj_z.weight":
            value = with_rows(value, tile(rows_of(value), groups, each, width))
        elif tiles and leaf in ("in_proj_a.weight", "in_proj_b.weight", "A_log", "dt_bias"):
            value = with_rows(value, tile(rows_of(value), groups, each, 1))
        elif tiles and leaf == "out_proj.weight":
            value = tile_columns(value, groups, each, width)
        elif leaf == "in_proj_qkvz.weight" and not old:
            # By key head: q, k, v and z of each.
            part = [c["linear_key_head_dim"]] * 2 + [each * width] * 2
            rows, parts = rows_of(value), ([], [], [], [])
            for at in range(0, len(rows), sum(part)):
                for p, n in zip(parts, part):
                    p += rows[at:at + n]
                    at += n
            front = name[:-len("in_proj_qkvz.weight")]
            out[front + "in_proj_qkv.weight"] = with_rows(value, parts[0] + parts[1] + parts[2])
            out[front + "in_proj_z.weight"] = with_rows(value, parts[3])
            continue
        out[name] = value
    return out


def split_latent(weights, c):
    """kv_b_proj as two stacks of matrices, one of each head; the one of the keys is transposed."""
    heads, nope, v = c["num_attention_heads"], c["qk_nope_head_dim"], c["v_head_dim"]
    out = {}
    for name, value in weights.items():
        if not name.endswith("self_attn.kv_b_proj.weight"):
            out[name] = value
            continue
        kind, (_, latent), _ = value
        size, rows = 4 if kind == F32 else 2, rows_of(value)
        k_b, v_b = [], []
        for h in range(heads):
            own = rows[h * (nope + v):(h + 1) * (nope + v)]
            k_b += [own[i][size * j:size * j + size] for j in range(latent) for i in range(nope)]
            v_b += own[nope:]
        layer = name.split(".")[2]
        out[f"blk.{layer}.attn_k_b.weight"] = kind, [heads, latent, nope], b"".join(k_b)
        out[f"blk.{layer}.attn_v_b.weight"] = kind, [heads, v, latent], b"".join(v_b)
    return out


def fuse(weights):
    """q, k and v as one matrix, and the experts' gates and ups as one stack."""
    out = {}
    for name, value in weights.items():
        front, leaf = name.rsplit(".", 2)[0], name.split(".")[-2]
        end = name.split(".")[-1]
        if leaf in ("attn_k", "attn_v", "ffn_up_exps"):
            continue
        if leaf == "attn_q":
            parts = [weights[f"{front}.attn_{x}.{end}"] for x in "qkv"]
            out[f"{front}.attn_qkv.{end}"] = with_rows(value, [r for p in parts for r in rows_of(p)])
        elif leaf == "ffn_gate_exps":
            up = weights[f"{front}.ffn_up_exps.{end}"]
            kind, shape, _ = value
            out[f"{front}.ffn_gate_up_exps.{end}"] = kind, [shape[0], 2 * shape[1], shape[2]], b"".join(
                a + b for a, b in zip(rows_of(value), rows_of(up)))
        else:
            out[name] = value
    return out


def pair_rows(data, rows, heads):
    """Interleaves the two halves of each head's rows."""
    size, dim = len(data) // rows, rows // heads
    row = [data[i * size:i * size + size] for i in range(rows)]
    return b"".join(row[h * dim + i * (dim // 2) + j] for h in range(heads) for j in range(dim // 2) for i in (0, 1))


def divisors(c):
    """The divisors of the frequencies in Llama 3's scaling."""
    r, dim = c["rope_scaling"], c["head_dim"]
    out = []
    for i in range(dim // 2):
        length = 2 * math.pi * c["rope_theta"]**(2 * i / dim)
        original = r["original_max_position_embeddings"]
        smooth = (original / length - r["low_freq_factor"]) / (r["high_freq_factor"] - r["low_freq_factor"])
        smooth = min(1.0, max(0.0, smooth))
        out.append(1 / ((1 - smooth) / r["factor"] + smooth))
    return struct.pack(f"<{len(out)}f", *out)


def tokenizer_keys(tokenizer, pre="gpt-2"):
    vocab = tokenizer["model"]["vocab"]
    special = {t["content"] for t in tokenizer["added_tokens"]}
    tokens = sorted(vocab, key=vocab.get)
    return {"tokenizer.ggml.model": text("gpt2"), "tokenizer.ggml.pre": text(pre),
            "tokenizer.ggml.tokens": listed([text(t) for t in tokens]),
            "tokenizer.ggml.token_type": listed([i32(3 if t in special else 1) for t in tokens]),
            "tokenizer.ggml.merges": listed([text(m) for m in tokenizer["model"]["merges"]])}


def config_keys(c, old=False):
    """The keys that llama.cpp's converter writes for a config."""
    arch, kind = ARCHITECTURES[c["model_type"]], c["model_type"]
    keys = {"general.architecture": text(arch)}

    def add(key, value):
        keys[f"{arch}.{key}"] = value

    def find(*names):
        return next((c[n] for n in names if c.get(n) is not None), None)

    modules = find("mtp_num_hidden_layers", "num_nextn_predict_layers") or (kind == "qwen3_next")
    add("block_count", u32(c["num_hidden_layers"] + modules))
    if modules:
        add("nextn_predict_layers", u32(modules))
    add("context_length", u32(c["max_position_embeddings"]))
    add("embedding_length", u32(c["hidden_size"]))
    if "intermediate_size" in c:
        add("feed_forward_length", u32(c["intermediate_size"]))
    heads, head_dim = c["num_attention_heads"], c.get("head_dim")
    kv_heads = c["num_key_value_heads"] or heads
    add("attention.head_count", u32(heads))
    add("attention.head_count_kv", u32(1 if kind in LATENT and not old else kv_heads))
    if head_dim:
        add("attention.key_length", u32(head_dim))
        add("attention.value_length", u32(head_dim))
    usual_theta, usual_eps = DEFAULTS.get(kind, (10000.0, 1e-6))
    add("attention.layer_norm_rms_epsilon", f32(c.get("rms_norm_eps", usual_eps)))
    rope = c.get("rope_parameters") or c.get("rope_scaling") or {}
    add("rope.freq_base", f32(find("rope_theta") or rope.get("rope_theta") or usual_theta))
    if (rope.get("rope_type") or rope.get("type")) in ("linear", "yarn"):
        add("rope.scaling.type", text(rope.get("rope_type") or rope["type"]))
        add("rope.scaling.factor", f32(rope["factor"]))
        if "original_max_position_embeddings" in rope:
            add("rope.scaling.original_context_length", u32(rope["original_max_position_embeddings"]))
        for beta in ("beta_fast", "beta_slow"):
            if beta in rope:
                add(f"rope.scaling.yarn_{beta}", f32(rope[beta]))
    if kind in LATENT:
        latent_keys(c, add, rope, old)
    else:
        width = head_dim or c["hidden_size"] // heads
        partial = find("partial_rotary_factor") or rope.get("partial_rotary_factor")
        if kind in HYBRIDS or kind == "glm4_moe":
            add("rope.dimension_count", u32(int(width * (partial or 0.25))))
        elif kind == "minimax_m2":
            add("rope.dimension_count", u32(c["rotary_dim"]))
        elif kind in PAIRED:
            add("rope.dimension_count", u32(width))
        if kind == "ministral3":
            add("rope.scaling.yarn_log_multiplier", f32(rope["mscale_all_dim"]))
            add("attention.temperature_scale", f32(rope["llama_4_scaling_beta"]))
    if kind in HYBRIDS:
        recurrent_keys(c, add, modules)
    if kind == "gemma3_text":
        add("attention.sliding_window", u32(c["sliding_window"]))
        add("attention.sliding_window_pattern", u32(c["sliding_window_pattern"]))
        add("rope.freq_base_swa", f32(c["rope_local_base_freq"]))
    if find("num_experts", "n_routed_experts", "num_local_experts", "moe_num_experts"):
        expert_keys(c, add, find)
    keys["tokenizer.ggml.bos_token_id"] = u32(c["bos_token_id"])
    keys["tokenizer.ggml.eos_token_id"] = u32(c["eos_token_id"])
    return keys


def latent_keys(c, add, rope, old):
    nope, rotating, v, rank = (c[k] for k in ("qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim", "kv_lora_rank"))
    if c["q_lora_rank"]:
        add("attention.q_lora_rank", u32(c["q_lora_rank"]))
    add("attention.kv_lora_rank", u32(rank))
    add("attention.key_length", u32(nope + rotating if old else rank + rotating))
    add("attention.value_length", u32(v if old else rank))
    if not old:
        add("attention.key_length_mla", u32(nope + rotating))
        add("attention.value_length_mla", u32(v))
    add("rope.dimension_count", u32(rotating))
    if "mscale_all_dim" in rope:
        add("rope.scaling.yarn_log_multiplier", f32(0.1 * rope["mscale_all_dim"]))


def recurrent_keys(c, add, modules):
    add("ssm.conv_kernel", u32(c["linear_conv_kernel_dim"]))
    add("ssm.state_size", u32(c["linear_key_head_dim"]))
    add("ssm.group_count", u32(c["linear_num_key_heads"]))
    add("ssm.time_step_rank", u32(c["linear_num_value_heads"]))
    add("ssm.inner_size", u32(c["linear_value_head_dim"] * c["linear_num_value_heads"]))
    if "layer_types" in c:
        recurrent = [t == "linear_attention" for t in c["layer_types"]] + [False] * modules
        add("attention.recurrent_layers", listed([flag(x) for x in recurrent]))
    add("full_attention_interval", u32(c.get("full_attention_interval", 4)))
    if c["model_type"] != "qwen3_next":
        add("rope.dimension_sections", listed([i32(n) for n in (11, 11, 10, 0)]))


def expert_keys(c, add, find):
    kind = c["model_type"]
    add("expert_count", u32(find("num_experts", "n_routed_experts", "num_local_experts", "moe_num_experts")))
    add("expert_used_count", u32(find("num_experts_per_tok", "moe_k")))
    width = c["intermediate_size"] if kind == "minimax_m2" else c["moe_intermediate_size"]
    add("expert_feed_forward_length", u32(width))
    if c.get("scoring_func") == "sigmoid" or kind in ("glm4_moe", "hy_v3"):
        add("expert_gating_func", u32(2))
    if "n_group" in c:
        add("expert_group_count", u32(c["n_group"]))
        add("expert_group_used_count", u32(c["topk_group"]))
    if kind in ("glm4_moe", "dots1") or kind in LATENT:
        add("expert_shared_count", u32(c.get("n_shared_experts", 0)))
        # glm4_moe_lite's one dense layer is its class's default.
        add("leading_dense_block_count", u32(c.get("first_k_dense_replace", kind == "glm4_moe_lite")))
        add("expert_weights_scale", f32(c.get("routed_scaling_factor", 1.8)))
        add("expert_weights_norm", flag(c.get("norm_topk_prob", False)))
    elif kind == "hy_v3":
        add("expert_shared_feed_forward_length", u32(width * c["num_shared_experts"]))
        add("expert_weights_norm", flag(c["route_norm"]))
        add("expert_weights_scale", f32(c["router_scaling_factor"]))
    elif kind == "ernie4_5_moe":
        add("interleave_moe_layer_step", u32(c["moe_layer_interval"]))
        add("leading_dense_block_count", u32(c["moe_layer_start_index"]))
        add("expert_shared_count", u32(c["moe_num_shared_experts"]))
        # The converter writes this value, which has no meaning.
        add("expert_shared_feed_forward_length", u32(c["intermediate_size"] // c["num_key_value_heads"]))
    elif "shared_expert_intermediate_size" in c:
        add("expert_shared_feed_forward_length", u32(c["shared_expert_intermediate_size"]))


def stack_experts(weights):
    """Joins the matrices of a layer's experts."""
    out, stacks = {}, {}
    for name, value in weights.items():
        front, is_expert, rest = name.partition(".experts.")
        if not is_expert:
            out[name] = value
            continue
        layer = front.split(".")[2]
        if rest == "down_proj":
            out[f"blk.{layer}.ffn_down_exps.weight"] = value
        elif rest == "gate_up_proj":
            kind, (count, rows, columns), _ = value
            halves = [(m[:len(m) // 2], m[len(m) // 2:]) for m in rows_of(value)]
            for i, leaf in enumerate(("gate", "up")):
                out[f"blk.{layer}.ffn_{leaf}_exps.weight"] = kind, [count, rows // 2, columns], b"".join(
                    h[i] for h in halves)
        else:
            number, leaf, _ = rest.split(".")
            stacks.setdefault(f"blk.{layer}.ffn_{EXPERTS[leaf]}_exps.weight", {})[int(number)] = value
    for name, parts in stacks.items():
        kind, shape, _ = parts[0]
        out[name] = kind, [len(parts), *shape], b"".join(parts[i][2] for i in range(len(parts)))
    return out


def shift_norms(weights):
    """Stores 1 + w for norms."""
    return {n: (F32, v[1], array.array("f", [1 + x for x in floats(v)]).tobytes()) if n.endswith("norm.weight") else v
            for n, v in weights.items()}


def pair_heads(weights, c):
    """Interleaves the rotary halves of q and k, which llama.cpp rotates in pairs."""
    heads = {"q_proj": c["num_attention_heads"], "k_proj": c["num_key_value_heads"] or c["num_attention_heads"]}
    out = {}
    for name, value in weights.items():
        of = heads.get(name.split(".")[-2]) if "." in name else None
        out[name] = (value[0], value[1], pair_rows(value[2], value[1][0], of)) if of else value
    return out


def select(name, part, layers):
    """True for tensors of a part of the model."""
    is_module = name.startswith("blk.") and int(name.split(".")[1]) >= layers
    return part == "all" or (part == "modules") == is_module or not name.startswith("blk.")


def convert(folder, path, kind, files, part="all", fused=False, old=False):
    c = text_config(json.load(open(os.path.join(folder, "config.json"))))
    keys = {**config_keys(c, old), **tokenizer_keys(json.load(open(os.path.join(folder, "tokenizer.json"))))}
    weights = usual_names(read_safetensors(folder), c)
    if c["model_type"] in PAIRED:
        weights = pair_heads(weights, c)
    if c["model_type"] in HYBRIDS:
        weights = transform_recurrent(weights, c, old)
    if c["model_type"] == "gemma3_text":
        weights = shift_norms(weights)
    if c["model_type"] in LATENT and not old:
        weights = split_latent(weights, c)
    weights = {n if n.startswith("blk.") else gguf_name(n, c["model_type"]): v for n, v in stack_experts(weights).items()}
    weights = {n: v for n, v in weights.items() if select(n, part, c["num_hidden_layers"])}
    if fused:
        weights = fuse(weights)
    tensors = []
    if (c.get("rope_scaling") or {}).get("rope_type") == "llama3":
        tensors.append(("rope_freqs.weight", F32, [c["head_dim"] // 2], divisors(c)))
    for name, (stored, shape, data) in weights.items():
        if name.endswith("exp_probs_b.bias"):
            shape = shape[-1:]
        if kind == F16 and stored == F32 and len(shape) > 1:
            values = array.array("f", data)
            stored, data = F16, struct.pack(f"<{len(values)}e", *values)
        tensors.append((name, stored, shape, data))
    if files == 1:
        return write_gguf(path, keys, tensors)
    stem = path.removesuffix(".gguf")
    for i in range(files):
        own = tensors[i * len(tensors) // files:(i + 1) * len(tensors) // files]
        split = {"split.no": u16(i), "split.count": u16(files), "split.tensors.count": i32(len(tensors))}
        write_gguf(f"{stem}-{i + 1:05d}-of-{files:05d}.gguf", {**(keys if i == 0 else {}), **split}, own)


def drafter_keys(c, arch, layers, target):
    keys = {"general.architecture": text(arch)}

    def add(key, value):
        keys[f"{arch}.{key}"] = value

    add("block_count", u32(layers["num_hidden_layers"]))
    add("context_length", u32(layers["max_position_embeddings"]))
    add("embedding_length", u32(layers["hidden_size"]))
    add("feed_forward_length", u32(layers["intermediate_size"]))
    add("attention.head_count", u32(layers["num_attention_heads"]))
    add("attention.head_count_kv", u32(layers["num_key_value_heads"]))
    add("attention.key_length", u32(layers["head_dim"]))
    add("attention.value_length", u32(layers["head_dim"]))
    add("attention.layer_norm_rms_epsilon", f32(layers["rms_norm_eps"]))
    add("rope.freq_base", f32(layers["rope_theta"]))
    add("vocab_size", u32(layers["vocab_size"]))
    own = {**c, **c.get("dflash_config", {})}
    depth = target["num_hidden_layers"]
    if arch == "eagle3":
        taps = c.get("eagle_aux_hidden_state_layer_ids") or [2, depth // 2, depth - 3]
        add("target_hidden_size", u32(target["hidden_size"]))
        add("norm_before_residual", flag(c.get("norm_before_residual", False)))
        add("norm_before_fc", flag(c.get("norm_before_fc", False)))
    else:
        taps = own.get("aux_hidden_state_layer_ids") or [i + 1 for i in own["target_layer_ids"]]
        add("block_size", u32(c["block_size"]))
        keys["tokenizer.ggml.mask_token_id"] = u32(own["mask_token_id"])
        if any("DSpark" in a for a in c["architectures"]):
            add("sample_from_anchor", flag(c.get("sample_from_anchor", "transformer_layer_config" not in c)))
            add("has_confidence_head", flag(c.get("enable_confidence_head", False)))
    add("target_layers", listed([i32(t) for t in taps]))
    return keys


def convert_drafter(folder, target, path):
    """Converts a drafter. Its map of tokens holds the tokens, not differences."""
    c = json.load(open(os.path.join(folder, "config.json")))
    t = json.load(open(os.path.join(target, "config.json")))
    layers = c.get("transformer_layer_config", c)
    weights = read_safetensors(folder)
    arch = "eagle3" if any("hidden_norm" in n and "layers" in n or "midlayer" in n for n in weights) else "dflash"
    keys = {**drafter_keys(c, arch, layers, t), **tokenizer_keys(json.load(open(os.path.join(target, "tokenizer.json"))))}
    keys["tokenizer.ggml.bos_token_id"] = keys["tokenizer.ggml.eos_token_id"] = u32(0)
    names = {"fc.weight": "fc.weight", "embed_tokens.weight": "token_embd.weight", "norm.weight": "output_norm.weight",
             "lm_head.weight": "output.weight", "input_norm.weight": "enc.output_norm.weight",
             "hidden_norm.weight": "enc.output_norm.weight", "markov_head.markov_w1.weight": "markov_w1.weight",
             "markov_head.markov_w2.weight": "markov_w2.weight", "confidence_head.proj.weight": "conf_proj.weight",
             "confidence_head.proj.bias": "conf_proj.bias"}
    if arch == "eagle3":
        weights = pair_heads(weights, layers)
    tensors = []
    for name, (kind, shape, data) in weights.items():
        if name == "t2d":
            continue
        if name == "d2t":
            offsets = array.array("q", data)
            data = array.array("q", [i + x for i, x in enumerate(offsets)]).tobytes()
            tensors.append(("d2t", "I64", shape, data))
            continue
        own = names.get(name)
        if not own:
            own = gguf_name("model." + name.replace("midlayer.", "layers.0."), "llama") if "hidden_norm" not in name \
                else "blk.0.attn_norm_2.weight"
        tensors.append((own, kind, shape, data))
    write_gguf(path, keys, tensors)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("what", choices=["model", "drafter"])
    p.add_argument("source")
    p.add_argument("-o", "--output", required=True)
    p.add_argument("--target")
    p.add_argument("--type", default="")
    p.add_argument("--files", type=int, default=1)
    p.add_argument("--part", choices=["all", "trunk", "modules"], default="all")
    p.add_argument("--fused", action="store_true")
    p.add_argument("--old", action="store_true")
    a = p.parse_args()
    if a.what == "model":
        convert(a.source, a.output, a.type.upper(), a.files, a.part, a.fused, a.old)
    else:
        convert_drafter(a.source, a.target, a.output)


if __name__ == "__main__":
    main()
