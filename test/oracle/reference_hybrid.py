"""Plain PyTorch forward of Qwen3-Next and Qwen3.5 with their MTP module, row by row, in binary32."""
import torch
import torch.nn.functional as F

from reference import Net, rms, rotate


class HybridNet(Net):
    def __init__(self, folder):
        super().__init__(folder)
        self.hides_first = False   # if true, attention of later rows does not see row 0

    def norm(self, x, n):
        return rms(x, 1 + self.w[n + ".weight"], self.eps)

    def attention(self, p, x, pos):
        c, T, d = self.c, len(x), self.hd
        nh = c["num_attention_heads"]
        q, gate = self.lin(x, p + "q_proj").view(T, nh, 2 * d).split(d, -1)
        k, v = (self.lin(x, p + n).view(T, -1, d).transpose(0, 1) for n in ("k_proj", "v_proj"))
        q, k = self.norm(q.transpose(0, 1), p + "q_norm"), self.norm(k, p + "k_norm")
        q, k = (rotate(y, pos, self.f, self.fscale, False) for y in (q, k))
        rep = nh // c["num_key_value_heads"]
        k, v = k.repeat_interleave(rep, 0), v.repeat_interleave(rep, 0)
        seen = torch.ones(T, T, dtype=torch.bool).tril()
        if self.hides_first:
            seen[1:, 0] = False
        s = (q @ k.mT * d ** -0.5).masked_fill(~seen, float("-inf"))
        o = (torch.softmax(s, -1) @ v).transpose(0, 1).reshape(T, -1)
        return self.lin(o * gate.reshape(T, -1).sigmoid(), p + "o_proj")

    def projections(self, p, x):
        """Returns q, k, v of all heads one after another, and z, b, a."""
        c, T = self.c, len(x)
        kh, vh, dk, dv = (c["linear_" + n] for n in ("num_key_heads", "num_value_heads", "key_head_dim",
                                                     "value_head_dim"))
        if p + "in_proj_qkv.weight" in self.w:
            return [self.lin(x, p + n) for n in ("in_proj_qkv", "in_proj_z", "in_proj_b", "in_proj_a")]
        r = vh // kh
        q, k, v, z = self.lin(x, p + "in_proj_qkvz").view(T, kh, -1).split([dk, dk, r * dv, r * dv], -1)
        b, a = self.lin(x, p + "in_proj_ba").view(T, kh, 2 * r).split(r, -1)
        return torch.cat([y.reshape(T, -1) for y in (q, k, v)], -1), *(y.reshape(T, -1) for y in (z, b, a))

    def recurrence(self, p, x):
        c, w, T = self.c, self.w, len(x)
        kh, vh, dk, dv = (c["linear_" + n] for n in ("num_key_heads", "num_value_heads", "key_head_dim",
                                                     "value_head_dim"))
        qkv, z, b, a = self.projections(p, x)
        filters = w[p + "conv1d.weight"].squeeze(1)
        n = filters.shape[1]
        past = torch.cat((torch.zeros(n - 1, qkv.shape[1]), qkv))
        qkv = F.silu(sum(past[i:i + T] * filters[:, i] for i in range(n)))
        q, k, v = qkv.split([kh * dk, kh * dk, vh * dv], -1)
        unit = lambda y: y * torch.rsqrt((y * y).sum(-1, keepdim=True) + 1e-6)
        q, k = (unit(y.view(T, kh, dk)).repeat_interleave(vh // kh, 1) for y in (q, k))
        v, beta = v.view(T, vh, dv), b.sigmoid()
        decay = torch.exp(-w[p + "A_log"].exp() * F.softplus(a + w[p + "dt_bias"]))
        S, out = torch.zeros(vh, dk, dv), []
        for t in range(T):
            S = S * decay[t, :, None, None]
            u = beta[t, :, None] * (v[t] - torch.einsum("hkv,hk->hv", S, k[t]))
            S = S + torch.einsum("hk,hv->hkv", k[t], u)
            out.append(torch.einsum("hkv,hk->hv", S, q[t]) * dk ** -0.5)
        o = rms(torch.stack(out), w[p + "norm.weight"], self.eps) * F.silu(z.view(T, vh, dv))
        return self.lin(o.reshape(T, -1), p + "out_proj")

    def experts(self, p, e, x):
        if p + "experts.down_proj" not in self.w:
            return self.swiglu(f"{p}experts.{e}.", x)
        gate, up = (x @ self.w[p + "experts.gate_up_proj"][e].t()).chunk(2, -1)
        return (F.silu(gate) * up) @ self.w[p + "experts.down_proj"][e].t()

    def moe(self, p, x):
        k = self.c["num_experts_per_tok"]
        scores = torch.softmax(self.lin(x, p + "gate"), -1)
        top = scores.sort(-1, descending=True)[0]
        self.note(top[:, k - 1] - top[:, k])
        out = torch.zeros_like(x)
        for t in range(len(x)):
            idx = scores[t].topk(k)[1]
            for e, a in zip(idx.tolist(), scores[t, idx] / scores[t, idx].sum()):
                out[t] += a * self.experts(p, e, x[t:t + 1])[0]
        return out + self.lin(x, p + "shared_expert_gate").sigmoid() * self.swiglu(p + "shared_expert.", x)

    def block(self, p, x, pos):
        y = self.norm(x, p + "input_layernorm")
        isRecurrent = p + "linear_attn.A_log" in self.w
        x = x + (self.recurrence(p + "linear_attn.", y) if isRecurrent else self.attention(p + "self_attn.", y, pos))
        y = self.norm(x, p + "post_attention_layernorm")
        return x + (self.swiglu if p + "mlp.gate_proj.weight" in self.w else self.moe)(p + "mlp.", y)

    def target(self, ids):
        x = self.w["model.embed_tokens.weight"][torch.tensor(ids)]
        for i in range(self.c["num_hidden_layers"]):
            x = self.block(f"model.layers.{i}.", x, torch.arange(len(ids)))
        return self.norm(x, "model.norm")

    def module(self, d, tokens, h):
        """Like Net.module. Position 0 is not zeroed, and only the first module exists."""
        assert d == 1
        e = self.w["model.embed_tokens.weight"][torch.tensor(tokens)]
        x = torch.cat((self.norm(e, "mtp.pre_fc_norm_embedding"), self.norm(h, "mtp.pre_fc_norm_hidden")), -1)
        x = self.block("mtp.layers.0.", self.lin(x, "mtp.fc"), torch.arange(len(tokens)))
        y = self.norm(x, "mtp.norm")
        return self.head(y), y
