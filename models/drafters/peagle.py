"""P-EAGLE (arXiv 2602.01469): EAGLE-3's network, all depths in one pass.

True rows are as in EAGLE-3. Mask rows follow the anchor's row at the next positions, causally.
Their token is the mask token and their feature is fc of the learned `mask_hidden`. The folder has
`embed_tokens` because its mask row is trained; only this row differs from the target's.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F

import eagle3
from draft_model import masked_rows
from eagle3 import HIDDEN, HEADS, LAYERS, VOCAB
from fit import sample_rows, soft_cross_entropy
from nets import attend

MASK, DEPTHS = 1, 5


class Net(eagle3.Net):
    def __init__(self, target, kept):
        super().__init__(target, kept)
        self.mask_hidden = nn.Parameter(torch.randn(1, 1, 3 * HIDDEN) * 0.5)
        self.mask_token = nn.Parameter(target.embed[MASK].clone())
        self.register_buffer("embed", target.embed, persistent=False)

    def rows(self, ids, states, depth, rng=None, keep=None):
        """Runs the pass over the pairs (x_{t+1}, state t) and their masks. Returns h, anchor rows
        and steps."""
        T = ids.shape[1] - 1
        _, pos, anchor, step, seen = masked_rows(ids[:, 1:], depth, rng, keep)
        B, extra = ids.shape[0], len(pos) - T
        e = torch.cat(
            (F.embedding(ids[:, 1:], self.embed), self.mask_token.expand(B, extra, -1)), 1
        )
        taps = torch.cat([states[i][:, :T] for i in LAYERS], -1)
        g = self.fc(torch.cat((taps, self.mask_hidden.expand(B, extra, -1)), 1))
        m = self.midlayer
        x = torch.cat((m.input_layernorm(e), m.hidden_norm(g)), -1)
        k, v = m.self_attn.keys(x, pos)
        return m.finish(g, attend(m.self_attn.query(x, pos), k, v, seen)), pos, step


def loss(net, target, b, rng, rows=512):
    ids, f = b["ids"], b["f"]
    T = ids.shape[1] - DEPTHS
    h, pos, step = net.rows(ids[:, : T + 1], b, DEPTHS, rng, 0.7)
    kept = net.d2t + torch.arange(len(net.d2t))
    total, figures = 0, {}
    for j in range(DEPTHS):
        at = (step == j).nonzero()[:, 0]
        hj, want = h[:, at].flatten(0, 1), f[:, pos[at] + 1].flatten(0, 1)
        pick = sample_rows(torch.ones(len(hj), dtype=torch.bool), rows // (1 if j == 0 else 2), rng)
        z, p = net.lm_head(net.norm(hj[pick])), want[pick] @ target.head.t()
        best = p.argmax(-1)
        ok = net.t2d[best]
        z, p, best = z[ok], p[ok], best[ok]
        ce = soft_cross_entropy(z, p[:, kept])
        total = total + ce / DEPTHS
        figures[f"ce{j + 1}"] = float(ce.detach())
        figures[f"hit{j + 1}"] = float((kept[z.argmax(-1)] == best).float().sum() / len(ok))
    return total, figures


@torch.no_grad()
def chain(net, target, ids, states, k):
    h, pos, step = net.rows(ids, states, min(k, DEPTHS))
    d = net.lm_head(net.norm(h)).argmax(-1)
    d = d + net.d2t[d]
    return torch.stack([d[:, step == j] for j in range(min(k, DEPTHS))], -1)


def config(net):
    """Returns the config in speculators' layout."""
    layer = {
        k: v for k, v in eagle3.config(net).items() if k not in ("eagle_config", "draft_vocab_size")
    }
    return {
        "architectures": ["PEagleSpeculator"],
        "speculators_model_type": "peagle",
        "speculators_version": "0.5.0",
        "draft_vocab_size": len(net.d2t),
        "target_hidden_size": HIDDEN,
        "norm_before_residual": False,
        "mask_token_id": MASK,
        "num_depths": DEPTHS,
        "eagle_aux_hidden_state_layer_ids": list(LAYERS),
        "transformer_layer_config": {**layer, "architectures": ["LlamaForCausalLM"]},
        "speculators_config": {
            "algorithm": "peagle",
            "default_proposal_method": "greedy",
            "proposal_methods": [
                {
                    "proposal_type": "greedy",
                    "speculative_tokens": DEPTHS,
                    "verifier_accept_k": 1,
                    "accept_tolerance": 0.0,
                }
            ],
            "verifier": {
                "name_or_path": "../../bundled/hf",
                "architectures": ["DeepseekV3ForCausalLM"],
            },
        },
    }


def tensors(net):
    t = {
        k.replace("midlayer.", "layers.0."): v
        for k, v in net.state_dict().items()
        if k != "mask_token"
    }
    t["embed_tokens.weight"] = net.embed.clone()
    t["embed_tokens.weight"][MASK] = net.mask_token.detach()
    return t
