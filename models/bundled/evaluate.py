#!/usr/bin/env python3
"""Evaluates the exported (bf16-rounded) model in binary32 on the held-out books.

  python3 evaluate.py WORK_DIR [--model hf] [--tokens 65536] [--prompts 24] [--length 96]
      [--check-hf] [--json FILE]

Loss: rows of 256 tokens, evenly spread over the held-out books. Module d is scored on token i + d +
1.

Acceptance: greedy continuations of held-out prompts (48 tokens from inside a book) by the target,
and draft/verify with its own modules. (a) Rate: module d's argmax, fed the target's tokens,
compared with the target's own token at that position. (b) A real draft/verify loop: module 1
proposes, then module 2 after module 1's draft, and the target verifies. Prints the mean number of
accepted drafts per step, and asserts that the tokens equal plain greedy decoding.
"""
import argparse, json, os, random, sys, time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import numpy as np
import torch
import torch.nn.functional as F
from model import Model

HERE = os.path.dirname(os.path.abspath(__file__))


@torch.no_grad()
def loss(m, data, n, seq=256):
    """Returns the mean loss of the target and of both modules over n held-out tokens."""
    total, count = [0.0] * 3, [0] * 3
    rows = n // seq
    starts = np.linspace(0, len(data) - seq - 4, rows).astype(int)
    for i in range(0, rows, 16):
        x = torch.from_numpy(np.stack([data[s:s + seq + 3] for s in starts[i:i + 16]]).astype(np.int64))
        for d, o in enumerate(m.streams(x[:, :seq + 2])):
            z = (o @ m.head.t()).flatten(0, 1)
            t = x[:, d + 1:d + 1 + seq].flatten()
            total[d] += float(F.cross_entropy(z, t, reduction="sum"))
            count[d] += len(t)
    return [a / b for a, b in zip(total, count)]


@torch.no_grad()
def greedy(m, ids, n):
    """Extends prompts of one length: [B, T] to [B, T + n]. No cache, a whole forward per token."""
    for _ in range(n):
        h = m.hidden(ids)[:, -1]
        ids = torch.cat((ids, (h @ m.head.t()).argmax(-1, keepdim=True)), 1)
    return ids


@torch.no_grad()
def teacher_rates(m, ids, P):
    """Returns, for each module d, how often its argmax at row i is the target's token i + d + 1."""
    out = m.streams(ids)
    rates = []
    for d in (1, 2):
        a = (out[d] @ m.head.t()).argmax(-1)          # row i -> token i + d + 1
        T = ids.shape[1]
        i = torch.arange(P - 1, min(a.shape[1], T - d - 1))
        rates.append(((a[:, i] == ids[:, i + d + 1]).float().mean(1), (a[:, i] == ids[:, i + d + 1])))
    return rates


@torch.no_grad()
def speculate(m, prompts, n, depth=2):
    """Runs greedy draft/verify on prompts of one length, all at once. Shorter sequences are padded
    on the right, which causal attention does not see. Returns the tokens and, per prompt and step,
    the number of accepted drafts."""
    seqs, end, B = [list(p) for p in prompts], len(prompts[0]) + n, len(prompts)

    def pad(rows):
        T = max(map(len, rows))
        return torch.tensor([r + [0] * (T - len(r)) for r in rows])

    h = m.hidden(pad(seqs))
    first = (h[:, -1] @ m.head.t()).argmax(-1).tolist()
    for s, t in zip(seqs, first):
        s.append(t)
    steps = []
    while any(len(s) < end for s in seqs):
        # The target's states of rows 0..len-2 of each prompt are known.
        last = torch.tensor([len(s) - 2 for s in seqs])
        T = int(last.max()) + 1
        state, drafts = h[:, :T], [[] for _ in seqs]
        for d in range(1, depth + 1):
            t = pad([(s + f)[d:] for s, f in zip(seqs, drafts)])[:, :T]
            e = F.embedding(t, m.embed)
            e[:, 0] = 0
            mod = m.mtp[d - 1]
            state = mod(e, state, m.cos[:T], m.sin[:T])
            z = (mod.norm(state[torch.arange(B), last]) @ m.head.t()).argmax(-1).tolist()
            for f, x in zip(drafts, z):
                f.append(x)
        h = m.hidden(pad([s + f for s, f in zip(seqs, drafts)]))
        for b, (s, f) in enumerate(zip(seqs, drafts)):
            if len(s) >= end:
                continue
            choice = (h[b, len(s) - 1:len(s) + depth] @ m.head.t()).argmax(-1).tolist()
            k = 0
            while k < depth and f[k] == choice[k]:
                k += 1
            s += choice[:k + 1]
            steps.append(k)
    return [s[:end] for s in seqs], steps


def check_hf(folder, m, data):
    import tempfile
    import transformers
    from safetensors.torch import load_file, save_file
    transformers.logging.set_verbosity_error()
    t = load_file(os.path.join(folder, "model.safetensors"))
    c = json.load(open(os.path.join(folder, "config.json")))
    with tempfile.TemporaryDirectory() as d:
        json.dump(c, open(os.path.join(d, "config.json"), "w"))
        save_file({k: v for k, v in t.items() if not (k.startswith("model.layers.") and
                                                      int(k.split(".")[2]) >= c["num_hidden_layers"])},
                  os.path.join(d, "model.safetensors"), metadata={"format": "pt"})
        hf = transformers.AutoModelForCausalLM.from_pretrained(d, dtype=torch.float32, attn_implementation="eager").eval()
    x = torch.from_numpy(data[1000:1000 + 4 * 256].astype(np.int64)).view(4, 256)
    with torch.no_grad():
        return float((hf(x).logits - m.hidden(x) @ m.head.t()).abs().max())


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("work")
    ap.add_argument("--model", default=os.path.join(HERE, "hf"))
    ap.add_argument("--tokens", type=int, default=65536)
    ap.add_argument("--prompts", type=int, default=24)
    ap.add_argument("--length", type=int, default=96)
    ap.add_argument("--check-hf", action="store_true")
    ap.add_argument("--json")
    a = ap.parse_args()
    from tokenizers import Tokenizer
    torch.set_num_threads(1)
    m = Model.load(a.model).eval()
    tok = Tokenizer.from_file(os.path.join(a.model, "tokenizer.json"))
    books = json.load(open(os.path.join(a.work, "heldout.json")))
    data = np.fromfile(os.path.join(a.work, "heldout.bin"), dtype=np.uint16)
    r = {}
    per_byte = sum(b["tokens"] - 1 for b in books) / sum(b["bytes"] for b in books)
    l = loss(m, data, a.tokens)
    r["loss_per_token"] = round(l[0], 4)
    r["perplexity_per_token"] = round(float(np.exp(l[0])), 2)
    r["bits_per_byte"] = round(l[0] * per_byte / np.log(2), 4)
    r["perplexity_per_byte"] = round(float(np.exp(l[0] * per_byte)), 4)
    r["bytes_per_token"] = round(1 / per_byte, 3)
    r["mtp1_loss"], r["mtp2_loss"] = round(l[1], 4), round(l[2], 4)
    if a.check_hf:
        r["max_logit_difference_to_transformers"] = check_hf(a.model, m, data)
    rnd, P, prompts = random.Random(5), 48, []
    for i in range(a.prompts):
        b = books[i % len(books)]
        s = rnd.randrange(len(b["text"]) // 5, len(b["text"]) - 4000)
        s = b["text"].index(". ", s) + 2               # from the start of a sentence
        prompts.append(tok.encode(b["text"][s:s + 600]).ids[:P])
    ids = greedy(m, torch.tensor(prompts), a.length)
    rates = teacher_rates(m, ids, P)
    r["prompts"], r["continuation"] = a.prompts, a.length
    for d in (1, 2):
        r[f"mtp{d}_greedy_acceptance"] = round(float(rates[d - 1][0].mean()), 4)
        r[f"mtp{d}_lowest_prompt"] = round(float(rates[d - 1][0].min()), 4)
        r[f"mtp{d}_first_32_tokens"] = round(float(rates[d - 1][1][:, :32].float().mean()), 4)
    outs, accepted = speculate(m, prompts, a.length)
    same = sum(o == g for o, g in zip(outs, ids.tolist()))
    n = len(accepted)
    r["speculation_same_tokens"] = f"{same}/{a.prompts}"
    r["speculation_steps"] = n
    r["draft1_accepted"] = round(sum(k >= 1 for k in accepted) / n, 4)
    r["draft2_accepted_given_1"] = round(sum(k >= 2 for k in accepted) / max(1, sum(k >= 1 for k in accepted)), 4)
    r["tokens_per_step"] = round(1 + sum(accepted) / n, 4)
    r["mean_distinct_share"] = round(float(np.mean([len(set(g[P:])) / a.length for g in ids.tolist()])), 3)
    print(json.dumps(r, indent=1))
    samples = []
    for p in ["Once upon a time there was a little girl who lived in", "The old man looked at the boy and said,",
              "In the morning the king called his three sons, and"]:
        q = tok.encode(p).ids
        samples.append(tok.decode(greedy(m, torch.tensor([q]), 64)[0].tolist()))
    torch.manual_seed(1)
    for p in ["It was a dark night, and the children"]:
        q = torch.tensor([tok.encode(p).ids])
        with torch.no_grad():
            for _ in range(96):
                z = m.hidden(q)[:, -1] @ m.head.t() / 0.7
                q = torch.cat((q, torch.multinomial(z.softmax(-1), 1)), 1)
        samples.append("[temperature 0.7] " + tok.decode(q[0].tolist()))
    for s in samples:
        print("-", s)
    if a.json:
        json.dump({**r, "samples": samples}, open(a.json, "w"), indent=1)


if __name__ == "__main__":
    main()
