"""Medusa-1 (arXiv 2401.10774): heads on the target's last state, f_{n-1} after its final norm.

Head i: one residual block x + SiLU(W x + b), then a linear layer to the vocabulary. The target's
head gives x_n; head i gives x_{n+1+i}. Trained by cross entropy to the target's distribution at
that position, which knows the tokens between. Weights are 0.8^i as in the paper.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F

from fit import sample_rows, soft_cross_entropy
from nets import linear

HIDDEN, VOCAB, HEADS = 192, 4096, 4


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = linear(HIDDEN, HIDDEN, bias=True, std=0.0)

    def forward(self, x):
        return x + F.silu(self.linear(x))


class Net(nn.Module):
    """Parameters `{i}.0.linear.{weight,bias}` and `{i}.1.weight`, as in medusa_lm_head."""

    def __init__(self, target):
        super().__init__()
        for i in range(HEADS):
            out = linear(HIDDEN, VOCAB)
            out.weight.data.copy_(target.head)
            self.add_module(str(i), nn.Sequential(Block(), out))

    def heads(self, x):
        return [getattr(self, str(i))(x) for i in range(HEADS)]


def loss(net, target, b, rng, rows=512):
    f = b["f"]
    T = f.shape[1] - HEADS
    at = sample_rows(torch.ones(f.shape[0], T, dtype=torch.bool), rows, rng)
    total, figures = 0, {}
    for i, z in enumerate(net.heads(f[:, :T].flatten(0, 1)[at])):
        p = f[:, 1 + i : 1 + i + T].flatten(0, 1)[at] @ target.head.t()
        ce = soft_cross_entropy(z, p)
        total = total + 0.8**i * ce
        figures[f"ce{i + 1}"] = float(ce.detach())
        figures[f"hit{i + 1}"] = float((z.argmax(-1) == p.argmax(-1)).float().mean())
    return total, figures


@torch.no_grad()
def chain(net, target, ids, states, k):
    """Returns drafts [B, T, k]. Row n - 1 drafts the tokens after the anchor x_n."""
    return torch.stack([z.argmax(-1) for z in net.heads(states["f"][:, :-1])][:k], -1)


def config(net):
    return {
        "model_type": "medusa",
        "medusa_num_heads": HEADS,
        "medusa_num_layers": 1,
        "hidden_size": HIDDEN,
        "vocab_size": VOCAB,
        "base_model_name_or_path": "../../bundled/hf",
        "torch_dtype": "bfloat16",
    }
