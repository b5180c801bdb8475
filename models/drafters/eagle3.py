"""EAGLE-3 (arXiv 2503.01840).

Row t: g = fc [r_2; r_5; r_8] (the streams that enter these layers). The attention of its one layer
reads [input_layernorm(E(x_{t+1})); hidden_norm(g)], and its residual is g. logits =
lm_head(norm(h)) over the draft vocabulary. h before the norm is the next step's g. Trained through
its own steps (training-time test) with weights 0.8^j.
"""

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

from fit import sample_rows, soft_cross_entropy
from nets import Layer, Norm, Unrolled, linear

HIDDEN, INTER, HEADS, VOCAB, DRAFT_VOCAB, STEPS = 192, 512, 4, 4096, 1536, 3
LAYERS = (2, 5, 8)  # L = 11: 2, L // 2, L - 3


class Mid(Layer):
    def __init__(self):
        super().__init__(HIDDEN, INTER, HEADS, qkv_in=2 * HIDDEN)
        self.hidden_norm = Norm(HIDDEN)


class Net(nn.Module):
    def __init__(self, target, kept):
        """kept: ascending ids of the target's tokens that can be drafted."""
        super().__init__()
        self.fc = linear(3 * HIDDEN, HIDDEN)
        self.midlayer = Mid()
        self.norm = Norm(HIDDEN)
        self.lm_head = linear(HIDDEN, len(kept))
        self.lm_head.weight.data.copy_(target.head[kept])
        self.register_buffer("d2t", kept - torch.arange(len(kept)))
        t2d = torch.zeros(VOCAB, dtype=torch.bool)
        t2d[kept] = True
        self.register_buffer("t2d", t2d)

    def step(self, unrolled, e, g, first=0):
        m = self.midlayer
        x = torch.cat((m.input_layernorm(e), m.hidden_norm(g)), -1)
        return m.finish(g, unrolled(m.self_attn, x, first))


def most_frequent(counts_file, count=DRAFT_VOCAB):
    counts = np.loadtxt(counts_file, dtype=np.int64)[:, 1]
    return torch.from_numpy(np.sort(np.argsort(-counts, kind="stable")[:count]))


def loss(net, target, b, rng, rows=512):
    ids, f = b["ids"], b["f"]
    T = ids.shape[1] - STEPS - 1
    kept = net.d2t + torch.arange(len(net.d2t))
    g = net.fc(torch.cat([b[i][:, :T] for i in LAYERS], -1))
    unrolled, total, figures = Unrolled(), 0, {}
    for j in range(STEPS):
        g = net.step(unrolled, F.embedding(ids[:, 1 + j : 1 + j + T], target.embed), g)
        at = sample_rows(torch.ones(ids.shape[0], T, dtype=torch.bool), rows, rng)
        z = net.lm_head(net.norm(g.flatten(0, 1)[at]))
        p = f[:, 1 + j : 1 + j + T].flatten(0, 1)[at] @ target.head.t()
        # Rows whose likeliest token cannot be drafted teach nothing about greedy text.
        best = p.argmax(-1)
        ok = net.t2d[best]
        z, p, best = z[ok], p[ok], best[ok]
        ce = soft_cross_entropy(z, p[:, kept])
        total = total + 0.8**j * ce
        figures[f"ce{j + 1}"] = float(ce.detach())
        figures[f"hit{j + 1}"] = float((kept[z.argmax(-1)] == best).float().sum() / len(ok))
    return total, figures


@torch.no_grad()
def chain(net, target, ids, states, k):
    T = ids.shape[1] - 1
    unrolled, tokens, out = Unrolled(), ids[:, 1:], []
    g = net.fc(torch.cat([states[i][:, :T] for i in LAYERS], -1))
    for _ in range(k):
        g = net.step(unrolled, F.embedding(tokens, target.embed), g)
        d = net.lm_head(net.norm(g)).argmax(-1)
        tokens = d + net.d2t[d]
        out.append(tokens)
    return torch.stack(out, -1)


def config(net):
    return {
        "architectures": ["LlamaForCausalLMEagle3"],
        "model_type": "llama",
        "hidden_act": "silu",
        "hidden_size": HIDDEN,
        "intermediate_size": INTER,
        "num_attention_heads": HEADS,
        "num_key_value_heads": HEADS,
        "num_hidden_layers": 1,
        "vocab_size": VOCAB,
        "draft_vocab_size": len(net.d2t),
        "rms_norm_eps": 1e-6,
        "rope_theta": 10000.0,
        "max_position_embeddings": 2048,
        "bos_token_id": 0,
        "eos_token_id": 0,
        "pad_token_id": 1,
        "attention_bias": False,
        "tie_word_embeddings": False,
        "torch_dtype": "bfloat16",
        "eagle_config": {
            "use_aux_hidden_state": True,
            "eagle_aux_hidden_state_layer_ids": list(LAYERS),
        },
    }
