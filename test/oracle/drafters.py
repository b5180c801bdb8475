"""The published drafters in plain PyTorch, from their folders, in binary32. Slow and simple on
purpose.

A drafter answers one question: its logits for the token after a path of drafted tokens. `logits(n,
path)` recomputes all rows from the beginning for each path, causally. So it needs no tree mask,
cache or batch of nodes.

Notation: ids x_0..x_n are known, the target has run rows 0..n-1, and x_n is the anchor. The
residual stream that enters layer i is streams[i], and before the final norm if i is the number of
layers. The state after the final norm is f. Each class names the paper with its facts and sources.
"""
import json, os

import torch
import torch.nn.functional as F

from reference import Net, inv_freq, load, rms, rotate


class Target:
    """The target's data for drafters: its states of each row of `ids`, embedding, head and final
    norm."""

    def __init__(self, folder):
        self.net = Net(folder)
        w, c = self.net.w, self.net.c
        self.c, self.layers = c, c["num_hidden_layers"]
        self.embed = w["model.embed_tokens.weight"]
        self.head = self.embed if c["tie_word_embeddings"] else w["lm_head.weight"]
        self.norm = lambda x: rms(x, w["model.norm.weight"], self.net.eps)

    def run(self, ids):
        x = self.embed[torch.tensor(ids)]
        pos, self.streams = torch.arange(len(ids)), []
        for i in range(self.layers):
            self.streams.append(x)
            x = self.net.block(f"model.layers.{i}.", x, pos)
        self.streams.append(x)
        self.ids, self.f = list(ids), self.norm(x)
        return self.f @ self.head.t()

    def greedy(self, prompt, count, keys=lambda z, position: z):
        """Returns the greedy tokens, or the argmax of `keys`(a row's logits, the token's position),
        and the least distance between a choice and the next."""
        ids, margin = list(prompt), float("inf")
        for _ in range(count):
            z = keys(self.run(ids)[-1], len(ids))
            top = z.topk(2)[0]
            margin = min(margin, float(top[0] - top[1]))
            ids.append(int(z.argmax()))
        return ids, margin


class Drafter:
    """Weights by name, the parts of a Llama or Qwen3 layer, and a cache of results."""

    def __init__(self, folder, target):
        self.c, self.w = self.read(folder)
        self.target, self.memory = target, {}
        inner = self.c.get("transformer_layer_config", self.c)
        self.eps, self.heads = inner.get("rms_norm_eps", 1e-6), inner.get("num_attention_heads")
        if self.heads:
            self.kv = inner.get("num_key_value_heads") or self.heads
            self.d = inner.get("head_dim") or inner["hidden_size"] // self.heads
            self.freq, self.scale = inv_freq({"rope_theta": 10000.0, **inner}, self.d)

    read = staticmethod(load)

    def begin(self):
        """Begins a new text, so the target's states have changed."""
        self.memory.clear()

    def lin(self, x, name):
        return F.linear(x, self.w[name + ".weight"], self.w.get(name + ".bias"))

    def rms(self, x, name):
        return rms(x, self.w[name + ".weight"], self.eps)

    def qkv(self, p, x, pos, names="qkv"):
        out = []
        for n in names:
            y = self.lin(x, f"{p}{n}_proj").view(len(x), -1, self.d).transpose(0, 1)
            if n != "v":
                if f"{p}{n}_norm.weight" in self.w:
                    y = self.rms(y, f"{p}{n}_norm")
                y = rotate(y, pos, self.freq, self.scale, False)
            out.append(y)
        return out

    def attention(self, p, q, k, v, seen):
        k, v = (y.repeat_interleave(self.heads // self.kv, 0) for y in (k, v))
        s = (q @ k.mT) * self.d ** -0.5
        o = torch.softmax(s.masked_fill(~seen, float("-inf")), -1) @ v
        return self.lin(o.transpose(0, 1).reshape(q.shape[1], -1), p + "o_proj")

    def feed(self, p, x):
        y = self.rms(x, p + "post_attention_layernorm")
        p += "mlp."
        return x + self.lin(F.silu(self.lin(y, p + "gate_proj")) * self.lin(y, p + "up_proj"), p + "down_proj")

    def layer(self, p, x, pos, seen):
        y = self.rms(x, p + "input_layernorm") if p + "input_layernorm.weight" in self.w else x
        return self.feed(p, x + self.attention(p + "self_attn.", *self.qkv(p + "self_attn.", y, pos), seen))

    def own_table(self, name, fallback):
        return self.w.get(name, fallback)

    def spread(self, z):
        """Spreads logits of the drafter's tokens over the target's tokens."""
        if "d2t" not in self.w:
            return z
        out = torch.full((len(self.target.embed),), float("-inf"))
        out[torch.arange(len(z)) + self.w["d2t"].long()] = z   # d2t holds differences
        return out


def causal(n):
    return torch.ones(n, n, dtype=torch.bool).tril()


class Recurrent(Drafter):
    """EAGLE's scheme: row t is (x_{t+1}, state t) at position t. Drafted rows use the preceding
    output as state."""

    def first(self, n):
        raise NotImplementedError

    def rows(self, tokens, states):
        raise NotImplementedError

    def output(self, n, path):
        """Returns the states of the rows of the true text and of `path`, and the last row's output.
        """
        path = tuple(path)
        if (n, path) not in self.memory:
            if path:
                before, last = self.output(n, path[:-1])
                states = torch.cat((before, last[None]))
            else:
                states = self.first(n)
            self.memory[n, path] = states, self.rows(self.target.ids[1:n + 1] + list(path), states)
        return self.memory[n, path]

    def logits(self, n, path):
        return self.read_out(self.output(n, path)[1])


class Eagle1(Recurrent):
    """arXiv 2401.15077; HASS and EAGLE-2 are this network too. fc reads [embedding; state after the
    target's final norm]. The first layer has no input norm. The target's head reads its output."""

    def first(self, n):
        return self.target.f[:n]

    def rows(self, tokens, states):
        e = self.own_table("embed_tokens.weight", self.target.embed)[torch.tensor(tokens)]
        x = self.lin(torch.cat((e, states), -1), "fc")
        for i in range(self.c["num_hidden_layers"]):
            x = self.layer(f"layers.{i}.", x, torch.arange(len(x)), causal(len(x)))
        return x[-1]

    def read_out(self, h):
        return h @ self.target.head.t()


class Eagle3(Recurrent):
    """arXiv 2503.01840. fc reads three streams entering the layers 2, L / 2, L - 3 or the config's
    layers. Attention reads [normed embedding; normed state] and is added to the state (or to the
    normed state)."""

    def __init__(self, folder, target):
        super().__init__(folder, target)
        L = target.layers
        ids = self.c.get("eagle_config", {}).get("eagle_aux_hidden_state_layer_ids")
        self.taps = ids or self.c.get("eagle_aux_hidden_state_layer_ids") or [2, L // 2, L - 3]
        self.p = "midlayer." if "midlayer.hidden_norm.weight" in self.w else "layers.0."
        # speculators' files have the key, the authors' never do.
        self.normed_residual = self.c.get("norm_before_residual", False)

    def first(self, n):
        return self.lin(torch.cat([self.target.streams[i][:n] for i in self.taps], -1), "fc")

    def mixed(self, e, g, pos, seen):
        u, v = self.rms(e, self.p + "input_layernorm"), self.rms(g, self.p + "hidden_norm")
        a = self.p + "self_attn."
        h = self.attention(a, *self.qkv(a, torch.cat((u, v), -1), pos), seen)
        return self.feed(self.p, (v if self.normed_residual else g) + h)

    def rows(self, tokens, states):
        e = self.own_table("embed_tokens.weight", self.target.embed)[torch.tensor(tokens)]
        return self.mixed(e, states, torch.arange(len(e)), causal(len(e)))[-1]

    def read_out(self, h):
        return self.spread(self.rms(h, "norm") @ self.w["lm_head.weight"].t())


class PEagle(Eagle3):
    """arXiv 2602.01469. EAGLE-3's rows once, then rows of the mask token at the next positions,
    whose streams are `mask_hidden`. The draft of depth i is read from the i-th of these rows."""

    def logits(self, n, path):
        k = len(path)
        tokens = self.target.ids[1:n + 1] + [self.c["mask_token_id"]] * k
        e = self.own_table("embed_tokens.weight", self.target.embed)[torch.tensor(tokens)]
        mask = self.lin(self.w["mask_hidden"].view(1, -1), "fc").expand(k, -1)
        g, at, seen = torch.cat((self.first(n), mask)), torch.arange(n + k), causal(n + k)
        x = self.mixed(e, g, at, seen)
        for i in range(1, self.c["transformer_layer_config"]["num_hidden_layers"]):   # plain layers
            x = self.layer(f"layers.{i}.", x, at, seen)
        return self.read_out(x[-1])


class Medusa(Drafter):
    """arXiv 2401.10774. Head i on the last state after the final norm: x + SiLU(W x + b), then its
    matrix."""

    @staticmethod
    def read(folder):
        from safetensors.torch import load_file
        c = json.load(open(os.path.join(folder, "config.json")))
        file = next(f for f in sorted(os.listdir(folder)) if f.endswith(".safetensors"))
        return c, {k: v.float() for k, v in load_file(os.path.join(folder, file)).items()}

    def logits(self, n, path):
        x, i = self.target.f[n - 1], len(path)
        layers = self.c.get("medusa_num_layers", 1)
        for l in range(layers):
            x = x + F.silu(self.lin(x, f"{i}.{l}.linear"))
        return self.lin(x, f"{i}.{layers}")


class Heads(Drafter):
    """arXiv 2404.19737. Extra head i: a Llama block (adjacent rotary pairs, Meta's names) on the
    stream that enters the target's last layer, causal over rows; then the target's final norm and
    head."""

    @staticmethod
    def read(folder):
        from safetensors.torch import load_file
        c = json.load(open(os.path.join(folder, "params.json")))
        c = {**c, "num_attention_heads": c["n_heads"], "num_key_value_heads": c.get("n_kv_heads"),
             "hidden_size": c["dim"], "rms_norm_eps": c["norm_eps"]}
        return c, {k: v.float() for k, v in load_file(os.path.join(folder, "model.safetensors")).items()}

    def logits(self, n, path):
        i = len(path)
        if (n, i) not in self.memory:
            p = f"extra_heads.{i}."
            x = self.target.streams[self.target.layers - 1][:n]
            y, out = self.rms(x, p + "attention_norm"), []
            for name in ("wq", "wk", "wv"):
                z = self.lin(y, f"{p}attention.{name}").view(n, -1, self.d).transpose(0, 1)
                out.append(z if name == "wv" else rotate(z, torch.arange(n), self.freq, self.scale, True))
            q, k, v = out
            k, v = (z.repeat_interleave(self.heads // self.kv, 0) for z in (k, v))
            s = (q @ k.mT * self.d ** -0.5).masked_fill(~causal(n), float("-inf"))
            x = x + self.lin((torch.softmax(s, -1) @ v).transpose(0, 1).reshape(n, -1), p + "attention.wo")
            y, f = self.rms(x, p + "ffn_norm"), p + "feed_forward."
            x = x + self.lin(F.silu(self.lin(y, f + "w1")) * self.lin(y, f + "w3"), f + "w2")
            self.memory[n, i] = self.target.norm(x[-1]) @ self.target.head.t()
        return self.memory[n, i]


class DraftModel(Drafter):
    """A language model of the target's vocabulary on the plain text, anchor and drafts. With
    `pard_token` (PARD, arXiv 2504.18583) mask tokens are in the places of drafts."""

    def logits(self, n, path):
        mask = self.c.get("pard_token")
        path = tuple(path) if mask is None else (mask,) * len(path)
        if (n, path) not in self.memory:
            ids = self.target.ids[:n + 1] + list(path)
            table = self.w["model.embed_tokens.weight"]
            x, seen = table[torch.tensor(ids)], causal(len(ids))
            for i in range(self.c["num_hidden_layers"]):
                x = self.layer(f"model.layers.{i}.", x, torch.arange(len(ids)), seen)
            head = table if self.c["tie_word_embeddings"] else self.w["lm_head.weight"]
            self.memory[n, path] = self.rms(x[-1], "model.norm") @ head.t()
        return self.memory[n, path]


class DFlash(Drafter):
    """arXiv 2602.06036, and DSpark (arXiv 2607.05147) if the file has a Markov head.

    The outputs of layers `target_layer_ids`, through fc and hidden_norm, are keys and values of
    each layer at their own positions. The block [anchor, mask, ..] at n, n + 1, .. sees the
    positions before n and all of itself. DFlash's row j >= 1 drafts its own position. DSpark's row
    j drafts the next position (`sample_from_anchor`), and its logits get W2 W1[preceding token].
    Speculators' files name taps by the layers that they enter (`aux_hidden_state_layer_ids`).
    """

    def __init__(self, folder, target):
        super().__init__(folder, target)
        c = {**self.c, **self.c.get("dflash_config", {})}
        self.taps = c.get("aux_hidden_state_layer_ids") or [i + 1 for i in c["target_layer_ids"]]
        self.mask, self.block = c["mask_token_id"], c["block_size"]
        self.count = self.c.get("transformer_layer_config", self.c)["num_hidden_layers"]
        names = c["architectures"] + [c.get("speculators_model_type", "")]
        self.from_anchor = c.get("sample_from_anchor", any("dspark" in n.lower() for n in names))
        if not self.from_anchor and any("dspark" in n.lower() for n in names):
            self.block += 1   # the anchor's row is added
        self.drafts = None   # the number of drafts of a shorter block
        self.dspark = self.markov = "markov_head.markov_w1.weight" in self.w

    def begin(self):
        super().begin()
        self.drafts = None

    def states(self, n):
        if n not in self.memory:
            t, B = self.target, self.block
            if self.drafts:   # a block of a round of fewer drafts
                B = self.drafts + (0 if self.from_anchor else 1)
            c = self.rms(self.lin(torch.cat([t.streams[i][:n] for i in self.taps], -1), "fc"), "hidden_norm")
            x = self.own_table("embed_tokens.weight", t.embed)[torch.tensor([t.ids[n]] + [self.mask] * (B - 1))]
            at, pos = torch.arange(n), torch.arange(n, n + B)
            seen = torch.ones(B, n + B, dtype=torch.bool)
            for i in range(self.count):
                p = f"layers.{i}."
                y, a = self.rms(x, p + "input_layernorm"), p + "self_attn."
                q, k, v = self.qkv(a, y, pos)
                ck, cv = self.qkv(a, c, at, "kv")
                o = self.attention(a, q, torch.cat((ck, k), 1), torch.cat((cv, v), 1), seen)
                x = self.feed(p, x + o)
            self.memory[n] = self.rms(x, "norm")
        return self.memory[n]

    def logits(self, n, path):
        h = self.states(n)[len(path) + (0 if self.from_anchor else 1)]
        z = h @ self.own_table("lm_head.weight", self.target.head).t()
        if self.markov:   # without it: the backbone's drafts, to measure the head's gain
            before = path[-1] if path else self.target.ids[n]
            z = z + self.w["markov_head.markov_w2.weight"] @ self.w["markov_head.markov_w1.weight"][before]
        return self.spread(z)

    def confidence(self, n, path):
        """Returns the logit of acceptance of the draft after `path`."""
        before = path[-1] if path else self.target.ids[n]
        x = self.states(n)[len(path) + (0 if self.from_anchor else 1)]
        if self.c.get("confidence_head_with_markov", True):
            x = torch.cat((x, self.w["markov_head.markov_w1.weight"][before]))
        return self.lin(x, "confidence_head.proj")[0]


class Modules:
    """A model's own MTP modules, wired as in reference.py: module d drafts the token of depth d,
    and the last module also deeper ones. Row i of module d has the token d places further on and
    the state that module d - 1 carries at row i (for the first module the target's state after its
    final norm). For deeper tokens the last module runs one row further each time, on its own
    carried state. `count` of 1 uses the first module at each depth."""

    def __init__(self, target, count):
        self.target, self.net, self.count, self.memory = target, target.net, count, {}

    def begin(self):
        self.memory.clear()

    def output(self, n, path):
        """Returns the states of the rows of the path's module, the last row's logits, and each
        row's carried state."""
        path = tuple(path)
        if (n, path) not in self.memory:
            h, depth = self.target.f[:n], len(path)
            if path:
                states, _, carried = self.output(n, path[:-1])
                h = carried if depth < self.count else torch.cat((states, carried[-1:]))
            d = min(depth + 1, self.count)
            tokens = (self.target.ids[:n + 1] + list(path))[d:]
            logits, carried = self.net.module(d, tokens, h)
            self.memory[n, path] = h, logits[-1], carried
        return self.memory[n, path]

    def logits(self, n, path):
        return self.output(n, path)[1]


KINDS = {"eagle1": Eagle1, "hass": Eagle1, "eagle3": Eagle3, "p-eagle": PEagle, "medusa": Medusa, "heads": Heads,
         "draft-model": DraftModel, "pard": DraftModel, "dflash": DFlash, "dspark": DFlash}
