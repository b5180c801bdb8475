"""A draft model and PARD (arXiv 2504.18583): small language models of the target's vocabulary.

A Llama of two layers with tied embeddings, trained on the target's distribution. PARD is the same
network, tuned to fill masks: k - 1 copies of one mask token follow the anchor, and each row drafts
the token after it, in one pass.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F

from fit import sample_rows, soft_cross_entropy
from nets import Layer, Norm, causal

HIDDEN, INTER, HEADS, VOCAB, LAYERS, MASK = 128, 384, 4, 4096, 2, 1


class Body(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed_tokens = nn.Embedding(VOCAB, HIDDEN)
        nn.init.normal_(self.embed_tokens.weight, 0, 0.08)
        self.layers = nn.ModuleList(Layer(HIDDEN, INTER, HEADS) for _ in range(LAYERS))
        self.norm = Norm(HIDDEN)

    def forward(self, ids, pos, seen):
        x = self.embed_tokens(ids)
        for layer in self.layers:
            x = layer(x, pos, seen)
        return self.norm(x)


class Net(nn.Module):
    def __init__(self, parallel=1):
        """parallel: the number of tokens drafted by one pass; 1 for a plain draft model."""
        super().__init__()
        self.parallel, self.model = parallel, Body()

    def logits(self, h):
        return h @ self.model.embed_tokens.weight.t()


def masked_rows(ids, depth, rng=None, keep=None):
    """Returns the rows of one pass that drafts at all positions at once: the true rows 0..T-1, then
    for each mask j = 1..depth-1 and each anchor n a row at position n + j. Mask j exists for a
    share keep^j of the anchors. Returns ids [B, rows]; positions, anchors and steps [rows]; and
    seen.
    """
    B, T = ids.shape
    pos, anchor, step = [torch.arange(T)], [torch.arange(T)], [torch.zeros(T, dtype=torch.long)]
    alive = torch.arange(T)
    for j in range(1, depth):
        if keep is not None:
            kept = rng.permutation(len(alive))[: max(1, int(len(alive) * keep))]
            alive = alive[torch.from_numpy(kept).sort()[0]]
        pos.append(alive + j)
        anchor.append(alive)
        step.append(torch.full_like(alive, j))
    pos, anchor, step = torch.cat(pos), torch.cat(anchor), torch.cat(step)
    x = torch.cat((ids, torch.full((B, len(pos) - T), MASK)), 1)
    true = (step == 0)[None] & (pos[None] <= anchor[:, None])
    own = (step > 0)[None] & (anchor[None] == anchor[:, None]) & (step[None] <= step[:, None])
    return x, pos, anchor, step, true | own


def loss(net, target, b, rng, rows=768):
    ids, f, depth = b["ids"], b["f"], net.parallel
    B, T = ids.shape
    T -= depth - 1
    x, pos, anchor, step, seen = masked_rows(ids[:, :T], depth, rng, 0.7)
    h = net.model(x, pos, seen)
    total, figures = 0, {}
    for j in range(depth):
        at = (step == j).nonzero()[:, 0]
        hj, want = h[:, at].flatten(0, 1), f[:, pos[at]].flatten(0, 1)
        pick = sample_rows(torch.ones(len(hj), dtype=torch.bool), rows // (1 if j == 0 else 2), rng)
        z, p = net.logits(hj[pick]), want[pick] @ target.head.t()
        ce = soft_cross_entropy(z, p)
        total = total + ce / depth
        figures[f"ce{j + 1}"] = float(ce.detach())
        figures[f"hit{j + 1}"] = float((z.argmax(-1) == p.argmax(-1)).float().mean())
    return total, figures


@torch.no_grad()
def chain(net, target, ids, states, k):
    """Returns drafts [B, T - 1, k]. Row n - 1 drafts the tokens after the anchor x_n."""
    B, T = ids.shape
    if net.parallel > 1:
        x, pos, anchor, step, seen = masked_rows(ids, min(k, net.parallel))
        d = net.logits(net.model(x, pos, seen)).argmax(-1)
        return torch.stack([d[:, step == j] for j in range(min(k, net.parallel))], -1)[:, 1:]
    out = torch.empty(B, T - 1, k, dtype=torch.long)
    for n in range(1, T):  # plain and slow: one anchor of all prompts at a time
        x = ids[:, : n + 1]
        for j in range(k):
            h = net.model(x, torch.arange(x.shape[1]), causal(x.shape[1]))[:, -1]
            x = torch.cat((x, net.logits(h).argmax(-1, keepdim=True)), 1)
        out[:, n - 1] = x[:, n + 1 :]
    return out


def config(net):
    c = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_act": "silu",
        "hidden_size": HIDDEN,
        "intermediate_size": INTER,
        "num_attention_heads": HEADS,
        "num_key_value_heads": HEADS,
        "head_dim": HIDDEN // HEADS,
        "num_hidden_layers": LAYERS,
        "vocab_size": VOCAB,
        "rms_norm_eps": 1e-6,
        "rope_theta": 10000.0,
        "max_position_embeddings": 2048,
        "bos_token_id": 0,
        "eos_token_id": 0,
        "pad_token_id": 1,
        "attention_bias": False,
        "mlp_bias": False,
        "tie_word_embeddings": True,
        "torch_dtype": "bfloat16",
    }
    return {**c, "spd_type": "pard", "pard_token": MASK} if net.parallel > 1 else c
