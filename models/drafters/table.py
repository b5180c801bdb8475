#!/usr/bin/env python3
"""Measures what each drafter's rounds accept, with the plain references of test/oracle, for
comparison with the product.

  python3 table.py WORK [METHOD...] [--prompts 12] [--tokens 64] [--trees static_trees.json]
      [--json FILE] [--rounds DIR] [--check] [--temperature T]

The rounds continue prepare.py's held-out prompts, greedily or at temperature T. At a temperature,
drafts are picked and ranked with the noise of the target's pick at their position. A row has the
method, topology, drafted nodes, tokens per round and sequence (AL), and the share of all rounds
that accepts one token, two, .. .

--rounds writes each row's rounds for draw.py. --trees adds the authors' static trees. --check
asserts that the training code, which drafts all positions of a text at once, gives equal drafts
from the same folder.
"""

import argparse
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "..", "test", "oracle")]
import torch

import drafters
import drafting
import target as bundled

# Without the authors' lists: 16 nodes.
STATIC = [
    [0],
    [1],
    [2],
    [3],
    [0, 0],
    [0, 1],
    [0, 2],
    [1, 0],
    [1, 1],
    [2, 0],
    [0, 0, 0],
    [0, 0, 1],
    [0, 1, 0],
    [1, 0, 0],
    [0, 0, 0, 0],
    [0, 0, 0, 1],
]
CHAINS = {"medusa": 4, "heads": 3, "p-eagle": 5, "pard": 6, "dflash": 6, "dspark": 6}
TREES = {
    "eagle1": "eagle_mc_sim_7b_63",
    "hass": "eagle_mc_sim_7b_63",
    "eagle3": "eagle_mc_sim_7b_63",
    "draft-model": "eagle_mc_sim_7b_63",
    "medusa": "medusa_mc_sim_7b_63",
}
DYNAMIC = ("eagle1", "hass", "eagle3", "draft-model")


class Target:
    """The bundled model with the interface that drafters.py expects of a target."""

    def __init__(self):
        t = self.fast = bundled.Target()
        self.c, self.embed, self.head, self.norm = t.c, t.embed, t.head, t.m.norm
        self.layers = t.c["num_hidden_layers"]

    def run(self, ids):
        self.ids = list(ids)
        streams, f = self.fast.states(torch.tensor([ids]), range(self.layers + 1))
        self.streams, self.f = [s[0] for s in streams], f[0]


def topologies(method, trees):
    """Returns (name, argument of drafting.build) for each of a method's rows."""
    out = [(f"chain {k}", f"chain:{k}") for k in [CHAINS.get(method, 4)]]
    if method == "dspark":
        out.append(("chain 6, no Markov head", "chain:6"))
        for percent in (20, 30, 50, 70):
            out.append((f"chain 6, confidence over {percent} %", f"confident:6,{percent}"))
    if method in ("dflash", "dspark"):  # shorter blocks too
        out += [("block of 3", "block:3"), ("chain 3", "chain:3")]
    if method in TREES:
        static = [("static", STATIC)]
        if trees:
            static.append(("static, the authors'", trees[TREES[method]]))
        for name, paths in static:
            out.append((name, paths))
            if method in DYNAMIC:  # equal nodes and depth
                deep = max(map(len, paths))
                out.append(("dynamic", f"dynamic:{deep - 1},8,{len(paths)}"))
    return out


def accepted_by_depth(rounds):
    deepest = max(len(r["path"]) for r in rounds)
    return [sum(len(r["path"]) > d for r in rounds) / len(rounds) for d in range(deepest)]


class Coupled:
    """A drafter whose logits have the target's temperature and its noise at that position."""

    def __init__(self, drafter, temperature, noise, prompt):
        self.drafter, self.target = drafter, drafter.target
        self.temperature, self.noise, self.prompt = temperature, noise, prompt
        self.begin = drafter.begin

    def logits(self, n, path):
        noise = self.noise[n + 1 + len(path) - self.prompt]
        return self.drafter.logits(n, path) / self.temperature + noise

    def confidence(self, n, path):
        return self.drafter.confidence(n, path)


def drawn(target, texts, prompt, temperature):
    """Returns texts of the same prompts at a temperature, and their noise [tokens, texts, V]."""
    shape = (len(texts[0]) - prompt, len(texts), len(target.embed))
    noise = bundled.gumbel(shape, torch.Generator().manual_seed(1))
    ids = torch.tensor([t[:prompt] for t in texts])
    t = torch.full((len(texts),), temperature)
    return target.fast.extend(ids, shape[0], t, noise=noise).tolist(), noise


def measure(drafter, texts, prompt, end, topology, temperature=0.0, noise=None):
    out, plain = [], drafter
    for i, ids in enumerate(texts):
        plain.target.run(ids)
        if temperature:
            drafter = Coupled(plain, temperature, noise[:, i], prompt)
        out.append(drafting.rounds(drafter, ids, prompt, end, topology, drafting.Margin()))
    return out


def training_code(method, folder, target):
    """Returns the training code's network with the folder's weights."""
    import train
    from safetensors.torch import load_file

    module, net = train.build(method, target.fast)
    file = next(f for f in os.listdir(folder) if f.endswith(".safetensors"))
    t = {
        k: v.float() if v.is_floating_point() else v
        for k, v in load_file(os.path.join(folder, file)).items()
    }
    if method == "p-eagle":
        import peagle

        t["mask_token"] = t.pop("embed_tokens.weight")[peagle.MASK]
        t = {k.replace("layers.0.", "midlayer."): v for k, v in t.items()}
    net.load_state_dict(t)
    return module, net.eval()


def check(method, folder, target, texts, rounds, k):
    """Returns the share of chains for which both codes give equal drafts."""
    module, net = training_code(method, folder, target)
    same = count = 0
    for ids, found in zip(texts, rounds):
        x = torch.tensor([ids])
        taps, f = target.fast.states(x, range(target.layers + 1))
        d = module.chain(net, target.fast, x, {"f": f, **dict(enumerate(taps))}, k)[0]
        for r in found:
            same += d[r["position"] - 1].tolist() == r["tokens"][1:]
            count += 1
    assert same >= 0.98 * count, (method, same, count)
    return same / count


@torch.no_grad()
def main():
    ap = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    ap.add_argument("work")
    ap.add_argument("methods", nargs="*", metavar="METHOD", help=", ".join(drafters.KINDS))
    ap.add_argument("--folder", default=HERE, help="where the drafters' folders are")
    ap.add_argument("--prompts", type=int, default=12)
    ap.add_argument("--tokens", type=int, default=64)
    ap.add_argument("--trees")
    ap.add_argument("--json")
    ap.add_argument("--rounds", metavar="DIR")
    ap.add_argument("--temperature", type=float, default=0.0)
    ap.add_argument("--check", action="store_true")
    a = ap.parse_args()
    torch.set_num_threads(1)
    with open(os.path.join(a.work, "prompts.json")) as f:
        p = json.load(f)
    prompt, texts = p["prompt"], p["ids"][: a.prompts]
    trees = json.load(open(a.trees)) if a.trees else None
    target, rows, noise = Target(), [], None
    if a.temperature:
        texts, noise = drawn(target, texts, prompt, a.temperature)
    print("| method | topology | nodes | AL | accepted by depth |\n|---|---|---|---|---|")
    for method in a.methods or drafters.KINDS:
        folder = os.path.join(a.folder, method)
        if not os.path.isdir(folder):
            continue
        drafter = drafters.KINDS[method](folder, target)
        for name, topology in topologies(method, trees):
            drafter.markov = method == "dspark" and "no Markov" not in name
            end = prompt + a.tokens
            found = measure(drafter, texts, prompt, end, topology, a.temperature, noise)
            flat = [r for rounds in found for r in rounds]
            row = {
                "method": method,
                "topology": name,
                "nodes": round(sum(len(r["tokens"]) - 1 for r in flat) / len(flat), 1),
                "acceptance_length": 1 + sum(len(r["path"]) for r in flat) / len(flat),
                "accepted": accepted_by_depth(flat),
                "rounds": len(flat),
            }
            if a.check and not a.temperature and name == f"chain {CHAINS.get(method, 4)}":
                k = int(name.split()[1])
                row["same_as_training_code"] = check(method, folder, target, texts, found, k)
            rows.append(row)
            shares = " ".join(f"{100 * x:.0f}" for x in row["accepted"])
            cells = [method, name, row["nodes"], f"{row['acceptance_length']:.2f}", shares]
            print("| " + " | ".join(map(str, cells)) + " |", flush=True)
            if a.rounds:
                os.makedirs(a.rounds, exist_ok=True)
                file = f"{method}-{name.replace(' ', '-').replace(',', '')}.json".replace("'", "")
                with open(os.path.join(a.rounds, file), "w") as f:
                    json.dump({"method": method, "topology": name, "rounds": flat}, f)
    if a.json:
        with open(a.json, "w") as f:
            json.dump(rows, f, indent=1)
            f.write("\n")


if __name__ == "__main__":
    main()
