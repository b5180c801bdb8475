#!/usr/bin/env python3
"""Plain numpy forward of Gemma 3's text model, in binary64. Writes the expected results of its tiny
models; see README.md. Needs numpy alone.

  python3 reference_gemma.py [NAME...]
"""
import json, os, sys, tempfile

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import tiny

PROMPT = [47, 78, 67, 69, 95, 85, 80, 103, 101, 99, 73, 77, 69, 95, 97, 69, 95, 98, 78, 96, 82, 107, 95, 100]
COUNT = 32


def bf16(values):
    """Rounds to bf16, to nearest even."""
    bits = np.asarray(values, np.float32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16 << 16).astype(np.uint32).view(np.float32)


def load(folder):
    config = json.load(open(os.path.join(folder, "config.json")))
    data = open(os.path.join(folder, "model.safetensors"), "rb").read()
    size = int.from_bytes(data[:8], "little")
    weights = {}
    for name, entry in json.loads(data[8:8 + size]).items():
        if name == "__metadata__":
            continue
        begin, end = (8 + size + x for x in entry["data_offsets"])
        if entry["dtype"] == "BF16":
            words = np.frombuffer(data[begin:end], np.uint16).astype(np.uint32) << 16
            values = words.view(np.float32)
        else:
            values = np.frombuffer(data[begin:end], np.float32)
        name = name.replace("model.language_model.", "model.").replace("language_model.model.", "model.")
        weights[name] = values.reshape(entry["shape"]).astype(np.float64)
    return config.get("text_config", config), weights


def rotation(c, kind):
    """Returns theta and the factor of one type of layer."""
    own = (c.get("rope_parameters") or {}).get(kind)
    if own is None and kind == "full_attention":
        own = {"rope_theta": c.get("rope_theta", 1e6), **(c.get("rope_scaling") or {})}
    elif own is None:
        own = {"rope_theta": c.get("rope_local_base_freq", 1e4)}
    return own["rope_theta"], own.get("factor", 1.0)


def kinds(c):
    if c.get("layer_types"):
        return c["layer_types"]
    period = c.get("sliding_window_pattern", 6)
    return ["sliding_attention" if (i + 1) % period else "full_attention" for i in range(c["num_hidden_layers"])]


class Net:
    def __init__(self, folder):
        self.c, self.w = load(folder)
        scale = np.float32(np.sqrt(self.c["hidden_size"]))
        stored = self.c.get("dtype") or self.c.get("torch_dtype", "bfloat16")
        self.scale = float(bf16([scale])[0]) if stored == "bfloat16" else float(scale)

    def norm(self, x, key):
        scale = 1.0 / np.sqrt((x * x).mean(-1, keepdims=True) + self.c["rms_norm_eps"])
        return x * scale * (1.0 + self.w[key + ".weight"])

    def linear(self, x, key):
        return x @ self.w[key + ".weight"].T

    def rotate(self, x, kind):
        theta, factor = rotation(self.c, kind)
        half = self.c["head_dim"] // 2
        angle = np.arange(len(x))[:, None] / factor * theta ** (-np.arange(half) / half)
        cos, sin = np.cos(angle)[:, None], np.sin(angle)[:, None]
        a, b = x[..., :half], x[..., half:]
        return np.concatenate([a * cos - b * sin, b * cos + a * sin], -1)

    def attention(self, x, p, kind):
        c, rows = self.c, len(x)
        dim, heads, kv = c["head_dim"], c["num_attention_heads"], c["num_key_value_heads"]
        q = self.linear(x, p + "q_proj").reshape(rows, heads, dim)
        k = self.linear(x, p + "k_proj").reshape(rows, kv, dim)
        v = self.linear(x, p + "v_proj").reshape(rows, kv, dim)
        q = self.rotate(self.norm(q, p + "q_norm"), kind)
        k = self.rotate(self.norm(k, p + "k_norm"), kind)
        k, v = (np.repeat(t, heads // kv, 1) for t in (k, v))
        scores = np.einsum("ihd,jhd->hij", q, k) * c["query_pre_attn_scalar"] ** -0.5
        i, j = np.arange(rows)[:, None], np.arange(rows)
        hidden = j > i
        if kind == "sliding_attention":
            hidden |= i - j >= c["sliding_window"]
        scores = np.where(hidden, -np.inf, scores)
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        scores /= scores.sum(-1, keepdims=True)
        return self.linear(np.einsum("hij,jhd->ihd", scores, v).reshape(rows, -1), p + "o_proj")

    def mlp(self, x, p):
        g = self.linear(x, p + "gate_proj")
        gelu = g / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (g + 0.044715 * g**3)))
        return self.linear(gelu * self.linear(x, p + "up_proj"), p + "down_proj")

    def logits(self, tokens):
        x = self.w["model.embed_tokens.weight"][tokens] * self.scale
        for i, kind in enumerate(kinds(self.c)):
            p = f"model.layers.{i}."
            y = self.attention(self.norm(x, p + "input_layernorm"), p + "self_attn.", kind)
            x = x + self.norm(y, p + "post_attention_layernorm")
            y = self.mlp(self.norm(x, p + "pre_feedforward_layernorm"), p + "mlp.")
            x = x + self.norm(y, p + "post_feedforward_layernorm")
        return self.norm(x, "model.norm") @ self.w["model.embed_tokens.weight"].T


def digits(rows):
    return [[float("%.9g" % v) for v in row] for row in rows.tolist()]


def expected(name, dtype, seed=None):
    with tempfile.TemporaryDirectory() as folder:
        tiny.write(name, folder, dtype, seed)
        net = Net(folder)
    ids, margin = list(PROMPT), 1e9
    for _ in range(COUNT):
        best = np.sort(net.logits(ids)[-1])
        margin = min(margin, best[-1] - best[-2])
        ids.append(int(net.logits(ids)[-1].argmax()))
    target = net.logits(ids)
    rows = list(range(len(PROMPT) - 4, len(PROMPT))) + list(range(len(ids) - 3, len(ids)))
    result = {"text": None, "prompt": PROMPT, "greedy": ids[len(PROMPT):], "greedy_min_margin": round(margin, 6),
              "target": {"argmax": target.argmax(-1).tolist(),
                         "max": [float("%.9g" % v) for v in target.max(-1).tolist()],
                         "rows": rows, "logits": digits(target[rows])},
              "drafts": [], "router_min_margin": None}
    return {"model": name, "dtype": dtype, "vocab_size": net.c["vocab_size"], "results": [result]}


def main():
    for name in sys.argv[1:] or sorted(tiny.GEMMAS):
        for dtype in ("f32", "bf16"):
            made = expected(name, dtype)
            print(name, dtype, "margin", made["results"][0]["greedy_min_margin"])
            with open(os.path.join(HERE, "expected", f"{name}.{dtype}.json"), "w") as file:
                json.dump(made, file, separators=(",", ":"))
                file.write("\n")


if __name__ == "__main__":
    main()
