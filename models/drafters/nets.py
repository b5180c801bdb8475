"""Shared by the drafters' networks: a Llama layer in separate parts, and attention over rows that
are not simply causal. Parameters are named as in published checkpoints."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class Norm(nn.Module):
    def __init__(self, n, eps=1e-6):
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(n)), eps

    def forward(self, x):
        x = x.float()
        return F.rms_norm(x, (x.shape[-1],), self.weight, self.eps)


def linear(n_in, n_out, bias=False, std=None):
    m = nn.Linear(n_in, n_out, bias=bias)
    nn.init.normal_(m.weight, 0, 0.6 / math.sqrt(n_in) if std is None else std)
    if bias:
        nn.init.zeros_(m.bias)
    return m


def rotate(x, pos, theta=10000.0, interleaved=False):
    """Rotates x [B, heads, T, d] at positions pos [T] or [B, T], by halves or interleaved pairs."""
    d = x.shape[-1]
    f = 1.0 / theta ** (torch.arange(0, d, 2).float() / d)
    a = pos.float()[..., None] * f
    a = a[:, None] if a.dim() == 3 else a
    cos, sin, x = a.cos(), a.sin(), x.float()
    if interleaved:
        p, q = x[..., 0::2], x[..., 1::2]
        return torch.stack((p * cos - q * sin, q * cos + p * sin), -1).flatten(-2)
    p, q = x.chunk(2, -1)
    return torch.cat((p * cos - q * sin, q * cos + p * sin), -1)


def attend(q, k, v, seen):
    """Attention. q [B, h, Tq, d], k and v [B, h, Tk, d]; seen: bool, broadcast to [B, h, Tq, Tk].
    """
    s = (q @ k.mT) * q.shape[-1] ** -0.5
    return torch.softmax(s.masked_fill(~seen, float("-inf")).float(), -1).to(v.dtype) @ v


def causal(n):
    return torch.ones(n, n, dtype=torch.bool).tril()


class Attention(nn.Module):
    def __init__(
        self, width, heads, qkv_in=None, head_norm=False, theta=10000.0, kv_heads=None
    ):
        super().__init__()
        self.heads, self.d, self.theta = heads, width // heads, theta
        self.group = heads // (kv_heads or heads)
        self.q_proj = linear(qkv_in or width, width)
        self.k_proj, self.v_proj = (linear(qkv_in or width, width // self.group) for _ in range(2))
        self.o_proj = linear(width, width, std=0.02)
        if head_norm:
            self.q_norm, self.k_norm = Norm(self.d), Norm(self.d)

    def _split(self, x):
        return x.view(*x.shape[:2], -1, self.d).transpose(1, 2)

    def query(self, x, pos):
        q = self._split(self.q_proj(x))
        return rotate(self.q_norm(q) if hasattr(self, "q_norm") else q, pos, self.theta)

    def keys(self, x, pos):
        k = self._split(self.k_proj(x))
        k = rotate(self.k_norm(k) if hasattr(self, "k_norm") else k, pos, self.theta)
        v = self._split(self.v_proj(x))
        return (k, v) if self.group == 1 else (self._spread(k), self._spread(v))

    def _spread(self, x):
        return x.repeat_interleave(self.group, 1)

    def out(self, o):
        return self.o_proj(o.transpose(1, 2).flatten(2))


class MLP(nn.Module):
    def __init__(self, width, inter):
        super().__init__()
        self.gate_proj, self.up_proj = linear(width, inter), linear(width, inter)
        self.down_proj = linear(inter, width, std=0.02)

    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class Layer(nn.Module):
    """A Llama layer. `input_norm` is false for EAGLE-1's first layer, which has no input norm."""

    def __init__(self, width, inter, heads, input_norm=True, **attention):
        super().__init__()
        if input_norm:
            self.input_layernorm = Norm(width)
        self.self_attn = Attention(width, heads, **attention)
        self.post_attention_layernorm = Norm(width)
        self.mlp = MLP(width, inter)

    def finish(self, residual, o):
        h = residual + self.self_attn.out(o)
        return h + self.mlp(self.post_attention_layernorm(h))

    def forward(self, x, pos, seen):
        y = self.input_layernorm(x) if hasattr(self, "input_layernorm") else x
        k, v = self.self_attn.keys(y, pos)
        return self.finish(x, attend(self.self_attn.query(y, pos), k, v, seen))


class Unrolled:
    """Attention of drafted steps at all positions at once. Step j of row t sees the true rows 0..t
    (step 0) and its own rows of steps 1..j, like a drafter that starts at row t."""

    def __init__(self):
        self.k, self.v = [], []

    def __call__(self, attention, x, first):
        """x [B, T, width]: the rows of the next step. first: the position of row 0 in step 0."""
        T, j = x.shape[1], len(self.k)
        pos = torch.arange(first + j, first + j + T)
        q, (k, v) = attention.query(x, pos), attention.keys(x, pos)
        self.k.append(k)
        self.v.append(v)
        s = (q @ self.k[0].mT).float().masked_fill(~causal(T), float("-inf"))
        own = [(q * k).sum(-1, keepdim=True).float() for k in self.k[1:]]
        p = torch.softmax(torch.cat((s, *own), -1) * q.shape[-1] ** -0.5, -1).to(v.dtype)
        o = p[..., :T] @ self.v[0]
        for i, v in enumerate(self.v[1:]):
            o = o + p[..., T + i : T + i + 1] * v
        return o
