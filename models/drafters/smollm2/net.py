"""EAGLE-1's network for SmolLM2-135M-Instruct, trained through its own steps as HASS.

Row t: z = fc [E(x_{t+1}); f_t], where f is the state after the target's final norm (in drafted
rows: the output of the preceding step). Then one Llama layer without input_layernorm and without a
norm after it. The target's head reads its output. In training and with `mtpc --draft-vocab` the
head has the rows of frequent tokens alone.

Some columns of f are 30 times larger than others. So each projection reads its input times a fixed
scale per column, and the residual stream is kept times the scale of f's columns: a step of the
optimiser then changes all columns in proportion. `folded` multiplies the scales into the weights.
"""

import os
import sys

import torch
import torch.nn as nn
import torch.nn.functional as F

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from data import WIDTH
from nets import Layer, Unrolled, linear

INTER, HEADS, KV_HEADS, THETA = 1536, 9, 3, 100000.0
TEMPERATURE = 0.7  # of the distribution that is the training goal


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = linear(2 * WIDTH, WIDTH, bias=True)
        layer = Layer(WIDTH, INTER, HEADS, input_norm=False, kv_heads=KV_HEADS, theta=THETA)
        self.layers = nn.ModuleList([layer])
        self.register_buffer("scale", torch.ones(2 * WIDTH))  # of [E(x_{t+1}); f_t]

    @property
    def unit(self):
        """Returns the scale of f's columns, and of the residual stream."""
        return self.scale[WIDTH:]

    @torch.no_grad()
    def start_from(self, target, batches):
        """Makes the network the best linear guess of the next state, by ridge regression over
        batches: its layer adds nothing yet. Returns the share of the variance that it explains."""
        x, y = [], []
        for b in batches:
            e, f, own = F.embedding(b["ids"], target.embed), b["f"], b["own"]
            keep = own[:, 1:].flatten()
            x.append(torch.cat((e[:, 1:], f[:, :-1]), -1).flatten(0, 1)[keep])
            y.append(f[:, 1:].flatten(0, 1)[keep])
        x, y = torch.cat(x), torch.cat(y)
        self.scale.copy_(1 / x.square().mean(0).sqrt())
        x = torch.cat((x * self.scale, torch.ones(len(x), 1)), -1).double()
        square = x.T @ x
        square += torch.eye(len(square)) * 3e-3 * len(x)
        w = torch.linalg.solve(square, x.T @ (y * self.unit).double()).float()
        self.fc.weight.copy_(w[:-1].T)
        self.fc.bias.copy_(w[-1])
        m = self.layers[0]
        m.post_attention_layernorm.weight.copy_(self.unit * y.square().mean().sqrt())
        m.mlp.down_proj.weight.zero_()
        m.self_attn.o_proj.weight.zero_()
        y = y * self.unit
        return 1 - float((x.float() @ w - y).square().sum() / (y - y.mean(0)).square().sum())

    def step(self, unrolled, e, feature):
        h = self.fc(torch.cat((e, feature), -1) * self.scale)
        m = self.layers[0]
        h = h + m.self_attn.out(unrolled(m.self_attn, h, 0))
        return (h + m.mlp(m.post_attention_layernorm(h / self.unit))) / self.unit


def folded(tensors):
    """Returns the published form of a network's tensors: no scale."""
    out = {name: value.clone() for name, value in tensors.items()}
    scale = out.pop("scale")
    unit, layer = scale[WIDTH:], "layers.0."
    out["fc.weight"] = out["fc.weight"] * scale / unit[:, None]
    out["fc.bias"] = out["fc.bias"] / unit
    for name in "qkv":
        out[f"{layer}self_attn.{name}_proj.weight"] *= unit
    for name in ("self_attn.o_proj", "mlp.down_proj"):
        out[f"{layer}{name}.weight"] /= unit[:, None]
    return out


def loss(net, target, head, b, rng, steps, rows):
    """Returns the loss of `steps` drafted steps, and figures. head: the kept tokens ascending, a
    map of all tokens that is true for them, and their rows of the head. Each step is measured at
    `rows` rows whose drafted token the target wrote. The loss is the cross entropy to the target's
    distribution at TEMPERATURE."""
    ids, own, f = b["ids"], b["own"], b["f"]
    kept, is_kept, weight = head
    T, full = ids.shape[1] - steps - 1, ids.shape[1]
    feature, unrolled, total, figures = f[:, :T], Unrolled(), 0, {}
    for j in range(steps):
        feature = net.step(
            unrolled, F.embedding(ids[:, 1 + j : 1 + j + T], target.embed), feature
        )
        at = own[:, 2 + j : 2 + j + T].flatten().nonzero()[:, 0]
        if len(at) > rows:
            at = at[torch.from_numpy(rng.permutation(len(at))[:rows])]
        row, column = at // T, at % T
        ok = is_kept[ids[row, column + 2 + j]]
        z = (feature.flatten(0, 1)[at[ok]] @ weight.t()).float()
        with torch.no_grad():
            p = (f.flatten(0, 1)[(row * full + column + 1 + j)[ok]] @ weight.t()).float()
            best = p.argmax(-1)
            p = torch.softmax(p.mul_(1 / TEMPERATURE), -1)
        ce = F.cross_entropy(z / TEMPERATURE, p)
        total = total + 0.8**j * ce
        figures[f"ce{j + 1}"] = float(ce.detach())
        figures[f"hit{j + 1}"] = float((z.argmax(-1) == best).float().sum() / max(1, len(at)))
    return total, figures


@torch.no_grad()
def accepted(net, target, head, b, k):
    """Returns how many of k greedy drafts equal the text, for each row: [B, T - 1 - k]."""
    ids, (kept, _, weight) = b["ids"], head
    T = ids.shape[1] - 1 - k
    unrolled, tokens, feature = Unrolled(), ids[:, 1 : 1 + T], b["f"][:, :T]
    alive, out = torch.ones(len(ids), T, dtype=torch.bool), torch.zeros(len(ids), T)
    for j in range(k):
        feature = net.step(unrolled, F.embedding(tokens, target.embed), feature)
        tokens = kept[(feature @ weight.t()).argmax(-1)]
        alive &= tokens == ids[:, 2 + j : 2 + j + T]
        out += alive
    return out


def rounds(count, own):
    """Returns (rounds, tokens) if a text is drafted with `count` [T] accepted drafts at each row.
    own [T]: whether the token after the row's next one was written by the target."""
    at, n, tokens = int(own.int().argmax()), 0, 0
    while at < len(count):
        n, tokens = n + 1, tokens + 1 + int(count[at])
        at += 1 + int(count[at])
    return n, tokens
