"""EAGLE-1 (arXiv 2401.15077) and HASS (arXiv 2408.15766): one network, two trainings.

Row t: z = fc [E(x_{t+1}); f_t], where f is the state after the target's final norm (in drafted
rows: the output of the preceding step). Then one Llama layer without input_layernorm and without a
norm after it. The target's head reads its output, which is also the next step's feature. Rotary
position t.

EAGLE-1 trains one step: smooth L1 to the target's next feature, and cross entropy to its
distribution. HASS trains three steps, each on the features drafted by the preceding step, and adds
the cross entropy over the target's 10 likeliest tokens.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F

from fit import sample_rows, soft_cross_entropy, wanted_probabilities
from nets import Layer, Unrolled, linear

HIDDEN, INTER, HEADS, VOCAB = 192, 512, 4, 4096


class Net(nn.Module):
    def __init__(self, steps=1):
        super().__init__()
        self.steps = steps  # training steps; 1 is EAGLE-1, more is HASS
        self.fc = linear(2 * HIDDEN, HIDDEN, bias=True)
        self.layers = nn.ModuleList([Layer(HIDDEN, INTER, HEADS, input_norm=False)])

    def step(self, unrolled, e, feature, first=0):
        z = self.fc(torch.cat((e, feature), -1))
        return self.layers[0].finish(z, unrolled(self.layers[0].self_attn, z, first))


def loss(net, target, b, rng, rows=512):
    ids, f, n = b["ids"], b["f"], net.steps
    T = ids.shape[1] - n - 1
    unrolled, feature, total, figures = Unrolled(), f[:, :T], 0, {}
    for j in range(n):
        e = F.embedding(ids[:, 1 + j : 1 + j + T], target.embed)
        feature = net.step(unrolled, e, feature)
        want = f[:, 1 + j : 1 + j + T]
        at = sample_rows(torch.ones(ids.shape[0], T, dtype=torch.bool), rows // n, rng)
        h, w = feature.flatten(0, 1)[at], want.flatten(0, 1)[at]
        z, p = h @ target.head.t(), w @ target.head.t()
        ce = soft_cross_entropy(z, p)
        l = ce + 0.2 * F.smooth_l1_loss(feature.float(), want)
        if n > 1:  # HASS: only the ten likeliest tokens
            q, top = torch.log_softmax(z.float(), -1), wanted_probabilities(p).topk(10, -1)
            l = l - (top[0] * q.gather(1, top[1])).sum(-1).mean()
        total = total + l / n
        figures[f"ce{j + 1}"] = float(ce.detach())
        figures[f"hit{j + 1}"] = float((z.argmax(-1) == p.argmax(-1)).float().mean())
    return total, figures


@torch.no_grad()
def chain(net, target, ids, states, k):
    """Returns greedy drafts of all anchors [B, T, k]. Row n - 1 drafts the tokens after x_n."""
    T = ids.shape[1] - 1
    unrolled, feature, tokens, out = Unrolled(), states["f"][:, :T], ids[:, 1:], []
    for _ in range(k):
        feature = net.step(unrolled, F.embedding(tokens, target.embed), feature)
        tokens = (feature @ target.head.t()).argmax(-1)
        out.append(tokens)
    return torch.stack(out, -1)


def config(net):
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "bias": True,
        "hidden_act": "silu",
        "hidden_size": HIDDEN,
        "intermediate_size": INTER,
        "num_attention_heads": HEADS,
        "num_key_value_heads": HEADS,
        "num_hidden_layers": 1,
        "vocab_size": VOCAB,
        "rms_norm_eps": 1e-6,
        "rope_theta": 10000.0,
        "max_position_embeddings": 2048,
        "bos_token_id": 0,
        "eos_token_id": 0,
        "pad_token_id": 1,
        "tie_word_embeddings": False,
        "torch_dtype": "bfloat16",
    }
