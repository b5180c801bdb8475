"""Independent heads (blockwise parallel decoding; Meta's multi-token prediction, arXiv 2404.19737).

Head i is one Llama block on the stream that enters the target's last layer, at that row's position,
causal over rows. The target's final norm and output matrix follow. The target's last layer is the
head for x_n; extra head i gives x_{n+1+i} from row n - 1. Rotary pairs are adjacent and names are
those of Llama's original files, as in Meta's checkpoint. Meta trained trunk and heads together;
here the trunk is frozen.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F

from fit import sample_rows, soft_cross_entropy
from nets import Norm, attend, causal, linear, rotate

HIDDEN, INTER, HEADS, VOCAB, EXTRA, TAP = 192, 192, 4, 4096, 3, 10


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.wq, self.wk, self.wv = (linear(HIDDEN, HIDDEN) for _ in range(3))
        self.wo = linear(HIDDEN, HIDDEN, std=0.02)

    def forward(self, x):
        split = lambda y: y.view(*y.shape[:2], HEADS, HIDDEN // HEADS).transpose(1, 2)
        pos = torch.arange(x.shape[1])
        q, k = (rotate(split(w(x)), pos, interleaved=True) for w in (self.wq, self.wk))
        return self.wo(
            attend(q, k, split(self.wv(x)), causal(x.shape[1])).transpose(1, 2).flatten(2)
        )


class FeedForward(nn.Module):
    def __init__(self):
        super().__init__()
        self.w1, self.w3 = linear(HIDDEN, INTER), linear(HIDDEN, INTER)
        self.w2 = linear(INTER, HIDDEN, std=0.02)

    def forward(self, x):
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention, self.feed_forward = Attention(), FeedForward()
        self.attention_norm, self.ffn_norm = Norm(HIDDEN), Norm(HIDDEN)

    def forward(self, x):
        x = x + self.attention(self.attention_norm(x))
        return x + self.feed_forward(self.ffn_norm(x))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.extra_heads = nn.ModuleList(Block() for _ in range(EXTRA))


def loss(net, target, b, rng, rows=512):
    f, x = b["f"], b[TAP]
    T = f.shape[1] - EXTRA
    at = sample_rows(torch.ones(f.shape[0], T, dtype=torch.bool), rows, rng)
    total, figures = 0, {}
    for i, head in enumerate(net.extra_heads):
        z = target.m.norm(head(x[:, :T]).flatten(0, 1)[at]) @ target.head.t()
        p = f[:, 1 + i : 1 + i + T].flatten(0, 1)[at] @ target.head.t()
        ce = soft_cross_entropy(z, p)
        total = total + ce / EXTRA
        figures[f"ce{i + 1}"] = float(ce.detach())
        figures[f"hit{i + 1}"] = float((z.argmax(-1) == p.argmax(-1)).float().mean())
    return total, figures


@torch.no_grad()
def chain(net, target, ids, states, k):
    """Returns drafts [B, T - 1, k]. Row n - 1 drafts the tokens after the anchor x_n."""
    x = states[TAP][:, :-1]
    return torch.stack(
        [(target.m.norm(h(x)) @ target.head.t()).argmax(-1) for h in net.extra_heads][:k], -1
    )


def config(net):
    """Returns the contents of params.json, the config file of Meta's checkpoint."""
    return {
        "dim": HIDDEN,
        "n_layers": 11,
        "n_heads": HEADS,
        "n_kv_heads": HEADS,
        "hidden_dim": INTER,
        "vocab_size": VOCAB,
        "norm_eps": 1e-6,
        "rope_theta": 10000.0,
        "n_future_tokens": EXTRA + 1,
    }
