"""The bundled model as a frozen target: its states by layer, and its own text.

All values are binary32. Tap i is the residual stream that enters layer i; the number of layers is
the stream before the final norm (EAGLE-3's convention; in DFlash's convention it is the output of
layer i - 1).
"""

import os, sys

import torch
import torch.nn.functional as F

HERE = os.path.dirname(os.path.abspath(__file__))
BUNDLED = os.path.join(HERE, "..", "bundled")
sys.path.append(BUNDLED)
from model import Model, rope  # noqa: E402


def gumbel(shape, generator):
    """Returns noise; the argmax of logits plus noise is a draw from their distribution."""
    u = torch.rand(shape, generator=generator).clamp(1e-20, 1 - 1e-7)
    return -torch.log(-torch.log(u))


class Target:
    def __init__(self, folder=os.path.join(BUNDLED, "hf")):
        self.m = Model.load(folder).eval().requires_grad_(False)
        self.c = self.m.c
        self.embed, self.head = self.m.embed.detach(), self.m.head.detach()

    @torch.no_grad()
    def states(self, ids, taps):
        """Returns ([stream entering layer i for i in taps], state after the final norm) for ids [B,
        T], each [B, T, H]."""
        m, out = self.m, {}
        x = F.embedding(ids, m.embed)
        cos, sin = m.cos[: ids.shape[1]], m.sin[: ids.shape[1]]
        for i, layer in enumerate(m.layers):
            out[i] = x
            x = layer(x, cos, sin)
        out[len(m.layers)] = x
        return [out[i] for i in taps], m.norm(x)

    @torch.no_grad()
    def extend(self, ids, n, temperature, generator=None, noise=None):
        """Continues prompts ids [B, T] by n tokens with a KV cache. temperature [B]: 0 is greedy.
        """
        m, cache = self.m, [None] * len(self.m.layers)
        greedy, t = temperature == 0, temperature.clamp_min(1e-3)[:, None]
        x = ids
        for i in range(n):
            z = self._rows(x, cache) @ m.head.t()
            g = gumbel(z.shape, generator) if noise is None else noise[i]
            drawn = (z / t + g).argmax(-1)
            x = torch.where(greedy, z.argmax(-1), drawn)[:, None]
            ids = torch.cat((ids, x), 1)
        return ids

    def _rows(self, x, cache):
        """Runs rows x after those in the cache. Returns the last row's state after the final norm.
        """
        m = self.m
        begin = 0 if cache[0] is None else cache[0][0].shape[2]
        cos, sin = m.cos[begin : begin + x.shape[1]], m.sin[begin : begin + x.shape[1]]
        h = F.embedding(x, m.embed)
        for i, layer in enumerate(m.layers):
            h = h + self._attend(layer.self_attn, layer.input_layernorm(h), cos, sin, cache, i)
            h = h + layer.mlp(layer.post_attention_layernorm(h))
        return m.norm(h[:, -1])

    @staticmethod
    def _attend(a, x, cos, sin, cache, i):
        B, T, _ = x.shape
        q = a.q_b_proj(a.q_a_layernorm(a.q_a_proj(x))).view(B, T, a.h, -1).transpose(1, 2)
        kv, kr = a.kv_a_proj_with_mqa(x).split((a.kvr, a.rd), -1)
        kv = a.kv_b_proj(a.kv_a_layernorm(kv)).view(B, T, a.h, -1).transpose(1, 2)
        kn, v = kv.split((a.nope, a.vd), -1)
        kr = rope(kr.unsqueeze(1), cos, sin)
        q = torch.cat((q[..., : a.nope], rope(q[..., a.nope :], cos, sin)), -1)
        k = torch.cat((kn, kr.expand(B, a.h, T, a.rd)), -1)
        if cache[i] is not None:
            k, v = torch.cat((cache[i][0], k), 2), torch.cat((cache[i][1], v), 2)
        cache[i] = (k, v)
        o = F.scaled_dot_product_attention(q, k, v, is_causal=T > 1)
        return a.o_proj(o.transpose(1, 2).reshape(B, T, -1))
