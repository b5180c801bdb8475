"""Plain PyTorch forward of the supported architectures and their MTP modules, in binary32.

The main model exists only for comparison with transformers; make_expected.py asserts that both
agree. The MTP modules use the same block functions, wired as in the DeepSeek-V3 report and in the
MiMo and GLM-4.5 checkpoints. Slow and simple on purpose.
"""
import json, math, os

import torch
import torch.nn.functional as F


def load(folder):
    from safetensors.torch import load_file
    c = json.load(open(os.path.join(folder, "config.json")))
    w = {}
    for f in sorted(os.listdir(folder)):
        if f.endswith(".safetensors"):
            w.update(load_file(os.path.join(folder, f)))
    if "text_config" in c:   # only the text model
        c = c["text_config"]
        w = {k.replace("model.language_model.", "model."): v for k, v in w.items() if ".visual." not in k}
        c.update({k: v for k, v in c["rope_parameters"].items() if k in ("rope_theta", "partial_rotary_factor")})
    if "mtp.fc.weight" in w:
        c["num_nextn_predict_layers"] = 1
    return c, {k: v.float() for k, v in w.items()}


def rms(x, weight, eps):
    return weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps))


def inv_freq(c, dim):
    """Returns rotary frequencies and the factor of cosines and sines."""
    f = 1.0 / float(c.get("rope_theta", 11158840.0)) ** (torch.arange(0, dim, 2, dtype=torch.float32) / dim)
    s = c.get("rope_scaling")
    if not s:
        return f, 1.0
    factor = s["factor"]
    kind = s.get("rope_type", s.get("type"))
    if kind == "llama3":
        old = s["original_max_position_embeddings"]
        out = []
        for v in f.tolist():
            wave = 2 * math.pi / v
            if wave < old / s["high_freq_factor"]:
                out.append(v)
            elif wave > old / s["low_freq_factor"]:
                out.append(v / factor)
            else:
                k = (old / wave - s["low_freq_factor"]) / (s["high_freq_factor"] - s["low_freq_factor"])
                out.append((1 - k) * v / factor + k * v)
        return torch.tensor(out), 1.0
    assert kind == "yarn"
    old = s["original_max_position_embeddings"]

    def bound(rotations):
        return dim * math.log(old / (rotations * 2 * math.pi)) / (2 * math.log(c["rope_theta"]))

    low, high = max(math.floor(bound(s["beta_fast"])), 0), min(math.ceil(bound(s["beta_slow"])), dim - 1)
    ramp = ((torch.arange(dim // 2, dtype=torch.float32) - low) / max(high - low, 0.001)).clamp(0, 1)
    m = lambda k: 0.1 * k * math.log(factor) + 1.0 if factor > 1 else 1.0
    return f / factor * ramp + f * (1 - ramp), m(s["mscale"]) / m(s["mscale_all_dim"])


def rotate(x, pos, f, scale, interleaved):
    """Rotates the first 2*len(f) dimensions of x [heads, T, dim]."""
    a = pos[:, None].float() * f
    cos, sin = a.cos() * scale, a.sin() * scale
    n = len(f)
    if interleaved:
        p, q = x[..., 0:2 * n:2], x[..., 1:2 * n:2]
    else:
        p, q = x[..., :n], x[..., n:2 * n]
    return torch.cat((p * cos - q * sin, q * cos + p * sin, x[..., 2 * n:]), -1)


class Net:
    def __init__(self, folder):
        self.margin = float("inf")   # least distance between a chosen expert (or group) and the next
        self.c, self.w = load(folder)
        c = self.c
        self.eps, self.mt = c["rms_norm_eps"], c["model_type"]
        self.mtp = c.get("num_nextn_predict_layers", 0)
        self.mla = self.mt == "deepseek_v3"
        if self.mla:
            dim = c["qk_rope_head_dim"]
        else:
            self.hd = c.get("head_dim") or c["hidden_size"] // c["num_attention_heads"]
            dim = int(self.hd * c.get("partial_rotary_factor", 1.0))
        self.f, self.fscale = inv_freq(c, dim)

    def lin(self, x, n):
        return F.linear(x, self.w[n + ".weight"], self.w.get(n + ".bias"))

    def attention(self, p, x, pos):
        c, w, T = self.c, self.w, len(x)
        nh = c["num_attention_heads"]
        if self.mla:
            nope, rd, vd = c["qk_nope_head_dim"], c["qk_rope_head_dim"], c["v_head_dim"]
            if c["q_lora_rank"]:
                q = self.lin(rms(self.lin(x, p + "q_a_proj"), w[p + "q_a_layernorm.weight"], 1e-6), p + "q_b_proj")
            else:
                q = self.lin(x, p + "q_proj")
            q = q.view(T, nh, nope + rd).transpose(0, 1)
            kv = self.lin(x, p + "kv_a_proj_with_mqa")
            kr = kv[:, c["kv_lora_rank"]:].unsqueeze(0)
            kv = rms(kv[:, :c["kv_lora_rank"]], w[p + "kv_a_layernorm.weight"], 1e-6)
            kv = self.lin(kv, p + "kv_b_proj").view(T, nh, nope + vd).transpose(0, 1)
            rot = lambda y: rotate(y, pos, self.f, self.fscale, True)
            q = torch.cat((q[..., :nope], rot(q[..., nope:])), -1)
            k = torch.cat((kv[..., :nope], rot(kr).expand(nh, -1, -1)), -1)
            v = kv[..., nope:]
            scale = (nope + rd) ** -0.5
            s = c.get("rope_scaling")
            if s and s.get("mscale_all_dim"):
                scale *= (0.1 * s["mscale_all_dim"] * math.log(s["factor"]) + 1.0) ** 2
        else:
            d = self.hd
            q, k, v = (self.lin(x, p + n).view(T, -1, d).transpose(0, 1) for n in ("q_proj", "k_proj", "v_proj"))
            if p + "q_norm.weight" in w:
                q, k = rms(q, w[p + "q_norm.weight"], self.eps), rms(k, w[p + "k_norm.weight"], self.eps)
            q, k = (rotate(y, pos, self.f, self.fscale, False) for y in (q, k))
            rep = nh // c["num_key_value_heads"]
            k, v = k.repeat_interleave(rep, 0), v.repeat_interleave(rep, 0)
            scale = d ** -0.5
        s = q @ k.mT * scale + torch.full((T, T), float("-inf")).triu(1)
        o = torch.softmax(s, -1) @ v
        return self.lin(o.transpose(0, 1).reshape(T, -1), p + "o_proj")

    def swiglu(self, p, x):
        return self.lin(F.silu(self.lin(x, p + "gate_proj")) * self.lin(x, p + "up_proj"), p + "down_proj")

    def note(self, x):
        self.margin = min(self.margin, float(x.min()))

    def moe(self, p, x):
        c, w = self.c, self.w
        isHy3 = self.mt == "hy_v3"
        logits = x @ w[p + ("router.gate.weight" if isHy3 else "gate.weight")].t()
        k = c["num_experts_per_tok"]
        if self.mt == "qwen3_moe":
            scores = choice = torch.softmax(logits, -1)
            scaling = 1.0
        elif isHy3:
            scores, scaling = logits.sigmoid(), c["router_scaling_factor"]
            choice = scores + w[p + "expert_bias"]
        else:
            scores = logits.sigmoid()
            choice = scores + w[p + "gate.e_score_correction_bias"]
            scaling = c["routed_scaling_factor"]
            g = c["n_group"]
            if g > 1:
                per = choice.view(len(x), g, -1)
                top = per.topk(2, -1)[0].sum(-1).sort(-1, descending=True)[0]
                self.note(top[:, c["topk_group"] - 1] - top[:, c["topk_group"]])
                best = per.topk(2, -1)[0].sum(-1).topk(c["topk_group"], -1)[1]
                keep = torch.zeros(len(x), g, dtype=torch.bool).scatter_(1, best, True)
                choice = per.masked_fill(~keep[..., None], float("-inf")).view(len(x), -1)
        top = choice.sort(-1, descending=True)[0]
        self.note(top[:, k - 1] - top[:, k])
        out = torch.zeros_like(x)
        for t in range(len(x)):
            idx = choice[t].topk(k)[1]
            wt = scores[t, idx]
            if c.get("norm_topk_prob") or isHy3:
                wt = wt / (wt.sum() + (0 if self.mt == "qwen3_moe" else 1e-20))
            for e, a in zip(idx.tolist(), wt * scaling):
                out[t] += a * self.swiglu(f"{p}experts.{e}.", x[t:t + 1])[0]
        if isHy3:
            return out + self.swiglu(p + "shared_mlp.", x)
        if c.get("n_shared_experts"):
            out = out + self.swiglu(p + "shared_experts.", x)
        return out

    def block(self, p, x, pos):
        x = x + self.attention(p + "self_attn.", rms(x, self.w[p + "input_layernorm.weight"], self.eps), pos)
        y = rms(x, self.w[p + "post_attention_layernorm.weight"], self.eps)
        return x + (self.swiglu if p + "mlp.gate_proj.weight" in self.w else self.moe)(p + "mlp.", y)

    def head(self, h):
        return h @ self.w["model.embed_tokens.weight" if self.c["tie_word_embeddings"] else "lm_head.weight"].t()

    def target(self, ids):
        """Returns hidden states after the final norm."""
        x = self.w["model.embed_tokens.weight"][torch.tensor(ids)]
        pos = torch.arange(len(ids))
        for i in range(self.c["num_hidden_layers"]):
            x = self.block(f"model.layers.{i}.", x, pos)
        return rms(x, self.w["model.norm.weight"], self.eps)

    def module(self, d, tokens, h):
        """Runs module d (from 1) over rows 0..len(tokens)-1. The token of row i (t_{i+d})
        is tokens[i], and its state h[i]. The state is the target's after its final norm for d = 1,
        else the one that module d-1 carries. Returns (logits, carried state)."""
        w, n = self.w, len(tokens)
        pos = torch.arange(n)
        e = w["model.embed_tokens.weight"][torch.tensor(tokens)].clone()
        e[0] = 0  # rotary position 0
        if self.mt == "mimo":
            p = f"model.mtp_layers.{d - 1}."
            x = torch.cat((rms(h, w[p + "hidden_layernorm.weight"], self.eps),
                           rms(e, w[p + "token_layernorm.weight"], self.eps)), -1)
            x = self.block(p, self.lin(x, p + "input_proj"), pos)
            x = rms(x, w[p + "final_layernorm.weight"], self.eps)
            return self.head(x), x
        p = f"model.layers.{self.c['num_hidden_layers'] + d - 1}."
        x = torch.cat((rms(e, w[p + "enorm.weight"], self.eps), rms(h, w[p + "hnorm.weight"], self.eps)), -1)
        x = self.block(p, self.lin(x, p + "eh_proj"), pos)
        norm = "final_layernorm.weight" if self.mt == "hy_v3" else "shared_head.norm.weight"
        y = rms(x, w[p + norm], self.eps)
        return self.head(y), y if self.c.get("mtp_hidden_states_post_norm", True) else x
