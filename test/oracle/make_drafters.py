#!/usr/bin/env python3
"""Writes expected/drafters/NAME.{f32,bf16}.json with drafters.py and drafting.py (see README.md).

  python3 make_drafters.py            all tiny drafters, and the modules of tiny models
  python3 make_drafters.py bundled    the trained ones of models/drafters, and the bundled model's
                                      modules: expected/drafters/bundled-NAME.json
  python3 make_drafters.py bundled-NAME...
  python3 make_drafters.py NAME...
  python3 make_drafters.py NAME --search N     tries seeds 0..N-1, prints margin and acceptance,
                                               writes nothing
"""
import argparse, functools, json, os, sys, tempfile

import torch

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import tiny, tiny_drafters
from drafters import KINDS, Modules, Target
from drafting import SEED, Margin, noise, rounds, temperature_of

PROMPT = "Once upon a time the hen\nran into the pond."   # as make_expected.py
COUNT, SPARE = 28, 8
STATIC = [[0], [1], [2], [0, 0], [0, 1], [1, 0], [2, 0], [0, 0, 0], [0, 0, 1], [1, 0, 0], [0, 1, 0], [0, 0, 0, 0]]
TOPOLOGIES = {
    "eagle1": ["chain:4", STATIC, "dynamic:3,4,12", "dynamic:2,3,8", "dynamic:3,4,12@0.8", "dynamic:7,10,59",
               "likely:4,40", "likely:4,40@0.8"],
    "eagle3": ["chain:4", STATIC, "dynamic:3,4,12", "dynamic:3,4,12@0.8", "likely:4,50", "likely:4,50@0.8"],
    "eagle3-speculators": ["chain:3", STATIC],
    "p-eagle": ["chain:4"],
    "medusa": ["chain:4", STATIC],
    "heads": ["chain:3"],
    "draft-model": ["chain:4", STATIC, "likely:4,95"],
    "pard": ["chain:4"],
    "dflash": ["chain:4", "block:2"],
    "dspark": ["chain:5", "confident:5,50", "block:3"],
    "dflash-deepspec": ["chain:5"],
    "dflash-speculators": ["chain:4"],
    "dspark-speculators": ["chain:4", "confident:4,50"],
}
KIND = {"eagle3-speculators": "eagle3", "dflash-deepspec": "dflash", "dflash-speculators": "dflash",
        "dspark-speculators": "dspark"}
TREES = [STATIC, "dynamic:3,8,16"]
SHARP = "dynamic:3,4,12,2"   # the number of nodes equals STATIC's
# A model's own modules, and the number of them that draft.
MODULES = {"mtp": ("dsv3-chain-mtp2", 2), "mtp-reuse": ("dsv3-chain-mtp2", 1), "mtp-three": ("dsv3-chain-mtp3", 3),
           "mtp-mimo": ("mimo-mtp1", 1)}
TOPOLOGIES.update({name: ["chain:4", STATIC, "dynamic:3,4,12", "dynamic:3,4,12@0.8"] for name in MODULES})
TOPOLOGIES["eagle1"] += [SHARP, SHARP + "@0.8"]
BUNDLED_TOPOLOGIES = {"eagle1": ["chain:4", *TREES, "likely:4,50"], "hass": ["chain:4", *TREES], "eagle3": ["chain:4", *TREES],
                      "medusa": ["chain:4", STATIC], "heads": ["chain:3"], "draft-model": ["chain:4", STATIC],
                      "pard": ["chain:6"], "p-eagle": ["chain:5"], "dflash": ["chain:6"], "dspark": ["chain:6", "confident:6,50"],
                      "mtp": ["chain:4", *TREES, SHARP], "mtp-reuse": ["chain:4", *TREES]}
MODELS = os.path.join(HERE, "..", "..", "models")


def digits(row):
    return [float("%.9g" % v) if v > float("-inf") else None for v in row.tolist()]


def drafter_of(name, folder, target):
    """Returns the drafter in a folder, or the modules of the target."""
    return Modules(target, MODULES[name][1]) if name in MODULES else KINDS[KIND.get(name, name)](folder, target)


def run(name, target, ids, prompt, folder, topologies=TOPOLOGIES, count=COUNT):
    """Returns the expected results of all topologies, and their least margin."""
    drafter = drafter_of(name, folder, target)
    runs, least = [], float("inf")
    for topology in topologies[name]:
        margin, T, text = Margin(), temperature_of(topology), ids
        if T:
            text, margin.least = target.greedy(ids[:prompt], len(ids) - prompt, lambda z, p: z / T + noise(p, len(z)))
            target.run(text)
        found = rounds(drafter, text, prompt, prompt + count, topology, margin)
        runs.append({"topology": topology, "min_margin": round(margin.least, 7), "rounds": found})
        if T:
            runs[-1].update({"temperature": T, "seed": SEED, "text": text[prompt:]})
            target.run(ids)
        least = min(least, margin.least)
    drafter.begin()
    drafted = runs[0]["rounds"][0]["tokens"][1:]   # of a chain
    first = [digits(drafter.logits(prompt, drafted[:i])) for i in range(len(drafted))]
    if hasattr(drafter, "dspark") and drafter.dspark:
        for r in runs[0]["rounds"]:
            r["confidence"] = digits(torch.stack([drafter.confidence(r["position"], r["tokens"][1:i])
                                                  for i in range(1, len(r["tokens"]))]))
    return first, runs, least


def text(folder):
    from tokenizers import Tokenizer
    target = Target(folder)
    prompt = Tokenizer.from_file(os.path.join(folder, "tokenizer.json")).encode(PROMPT).ids[:24]
    ids, margin = target.greedy(prompt, COUNT + SPARE)
    target.run(ids)
    return target, ids, len(prompt), margin


def dump(x, name):
    with open(os.path.join(HERE, "expected", "drafters", name + ".json"), "w") as f:
        json.dump(x, f, separators=(",", ":"))
        f.write("\n")


def bundled(names):
    """Writes results of the trained drafters on the texts of expected/bundled.json, whose greedy
    tokens are known."""
    with open(os.path.join(HERE, "expected", "bundled.json")) as f:
        texts = json.load(f)["results"][:2]
    target = Target(os.path.join(MODELS, "bundled", "hf"))
    for name in names:
        folder, prompts = os.path.join(MODELS, "drafters", name), []
        for t in texts if os.path.isdir(folder) or name in MODULES else []:
            target.run(t["prompt"] + t["greedy"])
            _, runs, least = run(name, target, target.ids, len(t["prompt"]), folder, BUNDLED_TOPOLOGIES,
                                 len(t["greedy"]) - SPARE)
            print("bundled", name, f"margin {least:.6f};", "; ".join(map(lengths, runs)), flush=True)
            prompts.append({"prompt": t["prompt"], "greedy": t["greedy"], "runs": runs})
        if prompts:
            dump({"target": "bundled", "drafter": name, "dtype": "bf16", "prompts": prompts}, "bundled-" + name)


def lengths(run):
    return f"{run['topology'] if isinstance(run['topology'], str) else 'static'} " + \
        "".join(str(len(r["path"])) for r in run["rounds"]) + f" margin {run['min_margin']}"


@torch.no_grad()
def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("names", nargs="*", metavar="NAME", help=", ".join(TOPOLOGIES))
    ap.add_argument("--search", type=int)
    a = ap.parse_args()
    torch.set_num_threads(1)
    os.makedirs(os.path.join(HERE, "expected", "drafters"), exist_ok=True)
    trained = [n.removeprefix("bundled-") for n in a.names if n.startswith("bundled-")]
    if trained or "bundled" in a.names:
        bundled(trained or BUNDLED_TOPOLOGIES)
    a.names = [n for n in a.names if not n.startswith("bundled")]
    if len(sys.argv) > 1 and not a.names:
        return
    with tempfile.TemporaryDirectory() as t:
        for dtype in ("f32", "bf16"):
            for name in a.names or TOPOLOGIES:
                model = MODULES[name][0] if name in MODULES else tiny_drafters.TARGET
                for seed in range(a.search) if a.search else [None]:
                    make(t, name, model, dtype, seed, is_search=bool(a.search))


@functools.lru_cache(maxsize=None)
def target_text(t, model, dtype, seed):
    folder = os.path.join(t, f"{model}.{dtype}")
    tiny.write(model, folder, dtype, seed)
    return text(folder)


def make(t, name, model, dtype, seed, is_search):
    # The seed changes the drafter, or the model with its modules.
    target, ids, prompt, margin = target_text(t, model, dtype, seed if name in MODULES else None)
    target.run(ids)
    drafter = os.path.join(t, name)
    if name not in MODULES:
        tiny_drafters.write(name, drafter, dtype, seed)
    first, runs, least = run(name, target, ids, prompt, drafter)
    router = min(target.net.margin, margin)
    print(name, dtype, "" if seed is None else seed, f"margin {least:.6f}, target's {router:.6f};",
          "; ".join(map(lengths, runs)), flush=True)
    if not is_search:
        x = {"target": model, "drafter": name, "dtype": dtype, "prompt": ids[:prompt], "greedy": ids[prompt:],
             "greedy_min_margin": round(margin, 6), "first": first, "runs": runs}
        dump(x, f"{name}.{dtype}")


if __name__ == "__main__":
    main()
