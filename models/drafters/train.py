#!/usr/bin/env python3
"""Trains one drafter of the bundled model and writes its folder.

  python3 train.py METHOD WORK --minutes M [--start OTHER] [-o DIR]
  python3 train.py METHOD WORK --write-only [-o DIR]    the folder from WORK/METHOD.pt

M is the total of CPU minutes; a larger M continues a run. --start begins with the weights of
WORK/OTHER.pt that have equal names: HASS with EAGLE-1's, P-EAGLE with EAGLE-3's, PARD with a draft
model's.

WORK is prepare.py's folder. DIR (./METHOD) gets config.json, model.safetensors and loss.csv.
"""

import argparse, os, shutil, sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import fit
import torch

METHODS = (
    "eagle1",
    "hass",
    "eagle3",
    "p-eagle",
    "medusa",
    "heads",
    "draft-model",
    "pard",
    "dflash",
    "dspark",
)
BLOCK = 6  # the number of tokens that a block drafter drafts


def build(method, target):
    """Returns (module with loss, chain and config; an untrained network)."""
    import draft_model, dspark, eagle1, eagle3, heads, medusa, peagle

    if method in ("eagle1", "hass"):
        return eagle1, eagle1.Net(1 if method == "eagle1" else 3)
    if method in ("eagle3", "p-eagle"):
        kept = eagle3.most_frequent(os.path.join(HERE, "..", "bundled", "token_counts.txt"))
        return (
            (eagle3, eagle3.Net(target, kept))
            if method == "eagle3"
            else (peagle, peagle.Net(target, kept))
        )
    if method in ("draft-model", "pard"):
        return draft_model, draft_model.Net(1 if method == "draft-model" else BLOCK)
    if method in ("dflash", "dspark"):
        return dspark, dspark.Net(method == "dspark", BLOCK + (method == "dflash"))
    return (medusa, medusa.Net(target)) if method == "medusa" else (heads, heads.Net())


def load(method, work, target):
    module, net = build(method, target)
    net.load_state_dict(torch.load(os.path.join(work, method + ".pt"))["net"])
    return module, net.eval()


def write(method, work, folder):
    module, net = load(method, work, fit.Target())
    names = {
        "medusa": {"file": "medusa_lm_head.safetensors"},
        "heads": {"config_name": "params.json"},
    }
    fit.write(
        folder,
        module.config(net),
        module.tensors(net) if hasattr(module, "tensors") else net.state_dict(),
        **names.get(method, {})
    )
    shutil.copyfile(os.path.join(work, method + ".csv"), os.path.join(folder, "loss.csv"))


def main():
    ap = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    ap.add_argument("method", choices=METHODS)
    ap.add_argument("work")
    ap.add_argument("--minutes", type=float, default=8)
    ap.add_argument("--batch", type=int, default=8, help="rows of 256 tokens per step")
    ap.add_argument("--lr", type=float, default=4e-3)
    ap.add_argument("--start", choices=METHODS)
    ap.add_argument("--write-only", action="store_true")
    ap.add_argument("-o", "--out")
    a = ap.parse_args()
    if not a.write_only:
        torch.manual_seed(1)
        module, net = build(a.method, fit.Target())
        if a.start:
            other = torch.load(os.path.join(a.work, a.start + ".pt"))["net"]
            if net.load_state_dict(other, strict=False).unexpected_keys:
                ap.error(f"--start: expected weights of {a.method}, got those of {a.start}")
        fit.fit(module, net, a.work, a.method, a.minutes, a.batch, a.lr)
    write(a.method, a.work, a.out or os.path.join(HERE, a.method))


if __name__ == "__main__":
    main()
