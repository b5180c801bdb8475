"""DeepSeek-V3 at a small scale with its own MTP modules, in plain PyTorch.

The numerics equal those of transformers' DeepseekV3ForCausalLM (checked by evaluate.py --check-hf).
The MTP modules follow the DeepSeek-V3 report. Only train.py, export.py and evaluate.py use this
file; the product does not need it.
"""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

CONFIG = {
    "architectures": ["DeepseekV3ForCausalLM"],
    "model_type": "deepseek_v3",
    "vocab_size": 4096,
    "hidden_size": 192,
    "intermediate_size": 1024,
    "moe_intermediate_size": 128,
    "num_hidden_layers": 11,
    "num_nextn_predict_layers": 2,
    "mtp_hidden_states_post_norm": False,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "n_shared_experts": 1,
    "n_routed_experts": 8,
    "num_experts_per_tok": 2,
    "n_group": 1,
    "topk_group": 1,
    "topk_method": "noaux_tc",
    "scoring_func": "sigmoid",
    "norm_topk_prob": True,
    "routed_scaling_factor": 1.5,
    "first_k_dense_replace": 6,
    "moe_layer_freq": 1,
    "q_lora_rank": 96,
    "kv_lora_rank": 64,
    "qk_nope_head_dim": 32,
    "qk_rope_head_dim": 16,
    "v_head_dim": 32,
    "hidden_act": "silu",
    "max_position_embeddings": 2048,
    "initializer_range": 0.02,
    "rms_norm_eps": 1e-06,
    "rope_theta": 10000,
    "rope_scaling": None,
    "rope_interleave": True,
    "attention_bias": False,
    "attention_dropout": 0.0,
    "tie_word_embeddings": False,
    "use_cache": True,
    "bos_token_id": 0,
    "eos_token_id": 0,
    "pad_token_id": 1,
    "torch_dtype": "bfloat16",
}


class Norm(nn.Module):
    def __init__(self, n, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(n))
        self.eps = eps

    def forward(self, x):
        x = x.float()
        return F.rms_norm(x, (x.shape[-1],), self.weight, self.eps)


def rope_tables(n, dim, theta):
    f = 1.0 / theta ** (torch.arange(0, dim, 2).float() / dim)
    a = torch.arange(n).float()[:, None] * f
    return a.cos(), a.sin()


def rope(x, cos, sin):
    """Rotates x [..., T, d], given in interleaved pairs. The result has two halves."""
    a, b = x[..., 0::2].float(), x[..., 1::2].float()
    return torch.cat((a * cos - b * sin, b * cos + a * sin), -1).to(x.dtype)


def causal_attention(q, k, v, chunk=128):
    """Attention over [heads, T, d], in chunks of rows. On a CPU this is faster than the fused
    kernel."""
    n, T, d = q.shape
    outs = []
    for a in range(0, T, chunk):
        b = min(T, a + chunk)
        mask = torch.full((b - a, b), float("-inf"), dtype=q.dtype).triu(1 + a)
        s = torch.baddbmm(mask.expand(n, -1, -1), q[:, a:b], k[:, :b].mT, alpha=d ** -0.5)
        outs.append(torch.bmm(torch.softmax(s, -1).to(v.dtype), v[:, :b]))
    return torch.cat(outs, 1)


def lin(n_in, n_out):
    return nn.Linear(n_in, n_out, bias=False)


class Attention(nn.Module):
    def __init__(self, c):
        super().__init__()
        h = c["num_attention_heads"]
        self.h, self.nope, self.rd, self.vd = h, c["qk_nope_head_dim"], c["qk_rope_head_dim"], c["v_head_dim"]
        self.kvr = c["kv_lora_rank"]
        self.q_a_proj = lin(c["hidden_size"], c["q_lora_rank"])
        self.q_a_layernorm = Norm(c["q_lora_rank"])
        self.q_b_proj = lin(c["q_lora_rank"], h * (self.nope + self.rd))
        self.kv_a_proj_with_mqa = lin(c["hidden_size"], self.kvr + self.rd)
        self.kv_a_layernorm = Norm(self.kvr)
        self.kv_b_proj = lin(self.kvr, h * (self.nope + self.vd))
        self.o_proj = lin(h * self.vd, c["hidden_size"])

    def forward(self, x, cos, sin):
        B, T, _ = x.shape
        q = self.q_b_proj(self.q_a_layernorm(self.q_a_proj(x))).view(B, T, self.h, -1).transpose(1, 2)
        kv, kr = self.kv_a_proj_with_mqa(x).split((self.kvr, self.rd), -1)
        kv = self.kv_b_proj(self.kv_a_layernorm(kv)).view(B, T, self.h, -1).transpose(1, 2)
        kn, v = kv.split((self.nope, self.vd), -1)
        kr = rope(kr.unsqueeze(1), cos, sin)
        q = torch.cat((q[..., :self.nope], rope(q[..., self.nope:], cos, sin)), -1)
        k = torch.cat((kn, kr.expand(B, self.h, T, self.rd).to(kn.dtype)), -1)
        q, k, v = q.reshape(B * self.h, T, -1), k.reshape(B * self.h, T, -1), v.reshape(B * self.h, T, -1)
        o = causal_attention(q, k, v).view(B, self.h, T, self.vd)
        return self.o_proj(o.transpose(1, 2).reshape(B, T, -1))


class MLP(nn.Module):
    def __init__(self, n, inter):
        super().__init__()
        self.gate_proj, self.up_proj, self.down_proj = lin(n, inter), lin(n, inter), lin(inter, n)

    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class MoE(nn.Module):
    def __init__(self, c):
        super().__init__()
        n, m, e = c["hidden_size"], c["moe_intermediate_size"], c["n_routed_experts"]
        assert c["n_group"] == 1 and c["norm_topk_prob"]
        self.e, self.k, self.m, self.scale = e, c["num_experts_per_tok"], m, c["routed_scaling_factor"]
        self.gate = nn.Parameter(torch.empty(e, n))
        self.w13 = nn.Parameter(torch.empty(e, 2, m, n))   # gate_proj, up_proj of each expert
        self.w2 = nn.Parameter(torch.empty(e, n, m))       # down_proj
        self.shared = MLP(n, m * c["n_shared_experts"])
        self.register_buffer("bias", torch.zeros(e))        # e_score_correction_bias
        self.counts = None

    def forward(self, x):
        shape = x.shape
        x = x.reshape(-1, shape[-1])
        with torch.autocast("cpu", enabled=False):
            s = (x.float() @ self.gate.t()).sigmoid()
        idx = (s.detach() + self.bias).topk(self.k, -1)[1]
        w = s.gather(1, idx)
        w = w / (w.sum(-1, keepdim=True) + 1e-20) * self.scale
        flat = idx.flatten()
        counts = torch.bincount(flat, minlength=self.e)
        self.counts = counts
        order = flat.argsort(stable=True)
        tokens = order // self.k
        dt = torch.bfloat16 if torch.is_autocast_enabled("cpu") else x.dtype
        xs = x.to(dt).index_select(0, tokens).split(counts.tolist())
        w13 = self.w13.to(dt).view(self.e, 2 * self.m, -1).unbind(0)
        w2 = self.w2.to(dt).unbind(0)
        hs = torch.cat([a @ b.t() for a, b in zip(xs, w13)])
        g, u = hs.split(self.m, -1)
        hs = (F.silu(g) * u).split(counts.tolist())
        ys = torch.cat([a @ b.t() for a, b in zip(hs, w2)])
        ys = ys * w.flatten().index_select(0, order).unsqueeze(1).to(dt)
        out = self.shared(x)
        return out.index_add(0, tokens, ys.to(out.dtype)).view(shape)


class Block(nn.Module):
    def __init__(self, c, dense):
        super().__init__()
        n = c["hidden_size"]
        self.input_layernorm, self.post_attention_layernorm = Norm(n), Norm(n)
        self.self_attn = Attention(c)
        self.mlp = MLP(n, c["intermediate_size"]) if dense else MoE(c)

    def forward(self, x, cos, sin):
        x = x + self.self_attn(self.input_layernorm(x), cos, sin)
        return x + self.mlp(self.post_attention_layernorm(x))


class MTP(nn.Module):
    def __init__(self, c):
        super().__init__()
        n = c["hidden_size"]
        self.enorm, self.hnorm, self.norm = Norm(n), Norm(n), Norm(n)
        self.eh_proj = lin(2 * n, n)
        self.block = Block(c, False)

    def forward(self, e, h, cos, sin):
        """Returns the block's output. e is Emb(t_{i+d}), already zero in row 0."""
        return self.block(self.eh_proj(torch.cat((self.enorm(e), self.hnorm(h)), -1)).float(), cos, sin)


class Model(nn.Module):
    def __init__(self, c=CONFIG):
        super().__init__()
        self.c = c
        n = c["hidden_size"]
        self.embed = nn.Parameter(torch.empty(c["vocab_size"], n))
        self.head = nn.Parameter(torch.empty(c["vocab_size"], n))
        self.layers = nn.ModuleList(Block(c, i < c["first_k_dense_replace"]) for i in range(c["num_hidden_layers"]))
        self.norm = Norm(n)
        self.mtp = nn.ModuleList(MTP(c) for _ in range(c["num_nextn_predict_layers"]))
        cos, sin = rope_tables(c["max_position_embeddings"], c["qk_rope_head_dim"], c["rope_theta"])
        self.register_buffer("cos", cos, persistent=False)
        self.register_buffer("sin", sin, persistent=False)

    def init(self, seed):
        g = torch.Generator().manual_seed(seed)
        depth = 2 * self.c["num_hidden_layers"]
        for name, p in self.named_parameters():
            if p.dim() < 2:
                continue
            std = 0.6 / math.sqrt(p.shape[-1])
            if name == "embed":
                std = 0.1
            elif name == "head":
                std = 0.02
            elif name.endswith(("o_proj.weight", "down_proj.weight", ".w2")):
                std /= math.sqrt(depth)
            p.data.normal_(0, std, generator=g)

    @torch.no_grad()
    def grow_from(self, small):
        """Initialises from a trained model of the same widths with fewer layers (and a narrower
        dense MLP), without changing its function. The additional layers keep their random input
        matrices, so that they differ from each other. Their output matrices (o_proj, down_proj) are
        zero, so each begins as the identity."""
        for name in ("embed", "head", "norm", "mtp"):
            own, old = getattr(self, name), getattr(small, name)
            own.copy_(old) if isinstance(own, torch.Tensor) else own.load_state_dict(old.state_dict())

        def silence(block):
            block.self_attn.o_proj.weight.zero_()
            if isinstance(block.mlp, MLP):
                block.mlp.down_proj.weight.zero_()
            else:
                block.mlp.w2.zero_()
                block.mlp.shared.down_proj.weight.zero_()

        def take(block, old):
            silence(block)
            for (name, p), q in zip(block.named_parameters(), old.parameters()):
                p[tuple(slice(n) for n in q.shape)] = q
            if isinstance(block.mlp, MoE):
                block.mlp.bias.copy_(old.mlp.bias)

        for kind in (MLP, MoE):
            own = [b for b in self.layers if isinstance(b.mlp, kind)]
            old = [b for b in small.layers if isinstance(b.mlp, kind)]
            home = {j * len(own) // len(old): b for j, b in enumerate(old)}
            for i, block in enumerate(own):
                take(block, home[i]) if i in home else silence(block)

    def hidden(self, tokens):
        """Returns the hidden states after the final norm."""
        x = F.embedding(tokens, self.embed)
        cos, sin = self.cos[:tokens.shape[1]], self.sin[:tokens.shape[1]]
        for l in self.layers:
            x = l(x, cos, sin)
        return self.norm(x)

    def streams(self, tokens, depth=2):
        """Returns the normed hidden states of the target and of each module for tokens [B,
        T+depth], rows 0..T-1, ready for the head. Stream d predicts the token at row i + d + 1."""
        T = tokens.shape[1] - depth
        h = self.hidden(tokens[:, :T])
        outs = [h]
        cos, sin = self.cos[:T], self.sin[:T]
        for d in range(1, depth + 1):
            e = F.embedding(tokens[:, d:d + T], self.embed)
            e = torch.cat((torch.zeros_like(e[:, :1]), e[:, 1:]), 1)
            m = self.mtp[d - 1]
            h = m(e, h, cos, sin)
            outs.append(m.norm(h))
        return outs

    # Names as in the DeepSeek-V3 checkpoint.
    def hf_tensors(self):
        out = {"model.embed_tokens.weight": self.embed, "model.norm.weight": self.norm.weight,
               "lm_head.weight": self.head}

        def block(b, pre):
            for n in ("input_layernorm", "post_attention_layernorm"):
                out[pre + n + ".weight"] = getattr(b, n).weight
            for n, p in b.self_attn.named_parameters():
                out[pre + "self_attn." + n] = p
            if isinstance(b.mlp, MLP):
                for n, p in b.mlp.named_parameters():
                    out[pre + "mlp." + n] = p
                return
            m = b.mlp
            out[pre + "mlp.gate.weight"] = m.gate
            out[pre + "mlp.gate.e_score_correction_bias"] = m.bias
            for n, p in m.shared.named_parameters():
                out[pre + "mlp.shared_experts." + n] = p
            for e in range(m.e):
                x = pre + f"mlp.experts.{e}."
                out[x + "gate_proj.weight"], out[x + "up_proj.weight"] = m.w13[e, 0], m.w13[e, 1]
                out[x + "down_proj.weight"] = m.w2[e]

        for i, b in enumerate(self.layers):
            block(b, f"model.layers.{i}.")
        for d, m in enumerate(self.mtp):
            pre = f"model.layers.{len(self.layers) + d}."
            for n in ("enorm", "hnorm"):
                out[pre + n + ".weight"] = getattr(m, n).weight
            out[pre + "eh_proj.weight"] = m.eh_proj.weight
            out[pre + "shared_head.norm.weight"] = m.norm.weight
            block(m.block, pre)
        return out

    @classmethod
    def load(cls, path):
        import json, os
        from safetensors.torch import load_file
        m = cls(json.load(open(os.path.join(path, "config.json"))))
        t = load_file(os.path.join(path, "model.safetensors"))
        with torch.no_grad():
            names = m.hf_tensors()
            assert set(names) == set(t), set(names) ^ set(t)
            for n, p in names.items():
                p.copy_(t[n].float())
        return m
