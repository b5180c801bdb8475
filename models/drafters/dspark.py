"""DFlash (arXiv 2602.06036) and DSpark (arXiv 2607.05147): one pass drafts a block.

Context: c_t = hidden_norm(fc [taps of row t]) gives keys and values in each layer, at position t.
Block: rows [anchor x_n, mask, ..] at positions n, n+1, .. see the context before n and each other;
the block is not causal. DSpark samples all rows, row j for n+1+j. It adds W2 W1[preceding token] to
its logits (Markov head) and has a confidence: w [h_j; W1[preceding token]] + b. DFlash has neither
and samples rows 1.. for their own positions. Embedding and head are the target's.

Taps are in the output convention: target_layer_ids [1, 4, 7] are the streams entering 2, 5, 8.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F

from fit import wanted_probabilities
from nets import Layer, Norm, attend, linear

HIDDEN, INTER, HEADS, VOCAB, LAYERS, MASK = 192, 384, 4, 4096, 2, 1
TAPS = (2, 5, 8)
RANK = 48


class Markov(nn.Module):
    def __init__(self):
        super().__init__()
        self.markov_w1 = nn.Embedding(VOCAB, RANK)
        self.markov_w2 = linear(RANK, VOCAB, std=0.02)
        nn.init.normal_(self.markov_w1.weight, 0, 0.1)


class Confidence(nn.Module):
    def __init__(self):
        super().__init__()
        self.proj = linear(HIDDEN + RANK, 1, bias=True, std=0.0)


class Net(nn.Module):
    """block: the number of rows of a block. DSpark drafts `block` tokens, DFlash one less."""

    def __init__(self, dspark, block):
        super().__init__()
        self.block = block
        self.fc = linear(len(TAPS) * HIDDEN, HIDDEN)
        self.hidden_norm, self.norm = Norm(HIDDEN), Norm(HIDDEN)
        self.layers = nn.ModuleList(
            Layer(HIDDEN, INTER, HEADS, head_norm=True) for _ in range(LAYERS)
        )
        if dspark:
            self.markov_head, self.confidence_head = Markov(), Confidence()

    @property
    def dspark(self):
        return hasattr(self, "markov_head")

    @property
    def first(self):
        """Returns the block's first row that is sampled."""
        return 0 if self.dspark else 1

    def block_states(self, target, b, anchors, ids):
        """Returns the states of the block's rows after `norm`, [B, A, block, H]. anchors [B, A]
        holds the positions n."""
        B, A, N = *anchors.shape, self.block
        T = ids.shape[1]
        c = self.hidden_norm(self.fc(torch.cat([b[i] for i in TAPS], -1)))
        at = torch.arange(T)
        tokens = torch.full((B, A, N), MASK)
        tokens[:, :, 0] = ids.gather(1, anchors)
        pos = (anchors[:, :, None] + torch.arange(N)).flatten(1)  # [B, A * N]
        x = F.embedding(tokens, target.embed).flatten(1, 2)
        context = (at < anchors[:, :, None]).repeat_interleave(N, 1)  # [B, A * N, T]
        own = torch.eye(A, dtype=torch.bool).repeat_interleave(N, 0).repeat_interleave(N, 1)
        seen = torch.cat((context, own.expand(B, -1, -1)), -1)[:, None]
        for layer in self.layers:
            y, a = layer.input_layernorm(x), layer.self_attn
            (ck, cv), (k, v) = a.keys(c, at), a.keys(y, pos)
            x = layer.finish(
                x,
                attend(
                    a.query(y, pos), torch.cat((ck.to(k.dtype), k), 2), torch.cat((cv, v), 2), seen
                ),
            )
        return self.norm(x).view(B, A, N, -1)


def loss(net, target, b, rng, anchors=24):
    ids, f = b["ids"], b["f"]
    (B, T), N = ids.shape, net.block
    n = torch.from_numpy(rng.integers(16, T - N - 1, (B, anchors)))
    h = net.block_states(target, b, n, ids)[:, :, net.first :]
    # Sampled row j (from 0) drafts position n + 1 + j, which the target's state at n + j chooses.
    at = n[:, :, None] + torch.arange(h.shape[2])
    rows = torch.arange(B)[:, None, None]
    p = f[rows, at] @ target.head.t()
    z = h @ target.head.t()
    figures, best = {}, p.argmax(-1)
    plain = z.argmax(-1)
    if net.dspark:
        w1 = net.markov_head.markov_w1(ids[rows, at])
        z = z + net.markov_head.markov_w2(w1)
    q, p = torch.log_softmax(z.float(), -1), wanted_probabilities(p)
    ce = -(p * q).sum(-1).mean((0, 1))
    hit = (z.argmax(-1) == best).float().mean((0, 1))
    weight = 0.9 ** torch.arange(len(ce))
    total = (ce * weight).sum() / weight.sum()
    if net.dspark:
        accepted = torch.minimum(p, q.exp()).sum(-1).detach()
        c = net.confidence_head.proj(torch.cat((h.detach().to(w1.dtype), w1.detach()), -1))[
            ..., 0
        ].float()
        confidence = F.binary_cross_entropy_with_logits(c, accepted)
        total = total + 0.5 * confidence
        figures["confidence"] = float(confidence.detach())
        gain = hit - (plain == best).float().mean((0, 1))
        figures["markov_gain2"] = float(gain[1])
    for j in range(len(ce)):
        figures[f"hit{j + 1}"] = float(hit[j])
    return total, figures


@torch.no_grad()
def chain(net, target, ids, states, k, markov=True, confidence=False):
    """Returns drafts [B, T - 1, k], and their logits if `confidence`. Row n - 1 drafts the tokens
    after the anchor x_n."""
    B, T = ids.shape
    n = torch.arange(1, T).expand(B, -1)
    h = torch.cat(
        [net.block_states(target, states, n[:, i : i + 16], ids) for i in range(0, T - 1, 16)], 1
    )
    z, before, out, sure = h[:, :, net.first :] @ target.head.t(), ids[:, 1:], [], []
    for j in range(min(k, z.shape[2])):
        logits = z[:, :, j]
        if net.dspark:
            w1 = net.markov_head.markov_w1(before)
            sure.append(net.confidence_head.proj(torch.cat((h[:, :, j], w1), -1))[..., 0])
            logits = logits + net.markov_head.markov_w2(w1) if markov else logits
        before = logits.argmax(-1)
        out.append(before)
    out = torch.stack(out, -1)
    return (out, torch.stack(sure, -1)) if confidence else out


def config(net):
    """Returns the config, with DeepSpec's keys for DSpark and z-lab's for DFlash."""
    c = {
        "model_type": "qwen3",
        "hidden_act": "silu",
        "hidden_size": HIDDEN,
        "intermediate_size": INTER,
        "num_attention_heads": HEADS,
        "num_key_value_heads": HEADS,
        "head_dim": HIDDEN // HEADS,
        "num_hidden_layers": LAYERS,
        "num_target_layers": 11,
        "vocab_size": VOCAB,
        "rms_norm_eps": 1e-6,
        "rope_theta": 10000.0,
        "max_position_embeddings": 2048,
        "attention_bias": False,
        "tie_word_embeddings": False,
        "block_size": net.block,
        "torch_dtype": "bfloat16",
    }
    taps = [i - 1 for i in TAPS]
    if net.dspark:
        return {
            "architectures": ["Qwen3DSparkModel"],
            **c,
            "target_layer_ids": taps,
            "mask_token_id": MASK,
            "markov_rank": RANK,
            "markov_head_type": "vanilla",
            "enable_confidence_head": True,
            "confidence_head_with_markov": True,
        }
    return {
        "architectures": ["DFlashDraftModel"],
        **c,
        "dflash_config": {"target_layer_ids": taps, "mask_token_id": MASK},
    }
