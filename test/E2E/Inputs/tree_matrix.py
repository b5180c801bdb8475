#!/usr/bin/env python3
"""Checks that trees change no token: tree_matrix.py ORACLE FOLDER

Runs each method that can draft a tree, with 1, 8, 32 and 64 verified nodes per round, including the
anchor. The methods are drafters of the tiny model llama-chain, which is `llama` in FOLDER;
lookahead, whose rows are its nodes; and the two modules of dsv3-chain-mtp2, one per depth, and the
first one reused. Some run with a lookup before them.

Tokens must be those of plain decoding, greedy and sampled, in batches of 1 and 4, on the CPU and on
the simulated GPU (if MTP_CUDA_DRIVER is a file). A round of k = 0 has one node. With MTP_TREES=all
in the environment all cases run, otherwise some of each method and each number of nodes.
"""

import argparse
import itertools
import json
import os
import pathlib
import subprocess
import sys
import typing

PROMPTS = [[5, 9, 2, 5, 9], [1], list(range(30, 51)), [7, 7, 7, 3] * 5]
# The number of tokens; the simulator is slow.
LENGTH = {"cpu": 24, "cuda": 6}
FOLDERS = ("eagle1", "eagle3", "medusa", "draft-model")
NODES = (8, 32, 64)


class Case(typing.NamedTuple):
    name: str
    nodes: int
    # Flags of mtp-import.
    flags: tuple
    depth: int
    model: str = "llama"


def paths(count, depth):
    """Returns the likeliest paths of ranks of a tree of `count` drafts. Assumes that a token of
    rank r is accepted with 0.6 / (r + 1) of its parent's probability."""
    found, edge = [], [(0.6 / (rank + 1), (rank,)) for rank in range(8)]
    while len(found) < count:
        edge.sort(reverse=True)
        share, path = edge.pop(0)
        found.append(list(path))
        if len(path) < depth:
            edge += [(share * 0.6 / (rank + 1), path + (rank,)) for rank in range(8)]
    return found


# EAGLE's own 60 nodes are its deepest and widest beam.
BEAMS = {8: "3,3,8", 32: "5,8,32", 64: "8,10,64"}
LOOKUP = "--before=lookup:1,3"
POLICIES = {"modules": "per-depth", "a module": "reuse"}


def static(folder, nodes):
    """Returns the flag of a tree of `nodes` nodes, and its depth."""
    tree = paths(nodes - 1, depth=4)
    file = folder / f"tree{nodes}.json"
    file.write_text(json.dumps(tree))
    return f"--draft-tree={file}", max(map(len, tree))


def dynamic(nodes):
    return f"--draft-tree=dynamic:{BEAMS[nodes]}", int(BEAMS[nodes].split(",", maxsplit=1)[0])


def cases(folder):
    for name, nodes in itertools.product(FOLDERS, NODES):
        tree, depth = static(folder, nodes)
        yield Case(f"{name} static", nodes, (f"--drafter={folder / name}", tree), depth)
    for name, nodes in itertools.product(FOLDERS[:2], NODES):
        tree, depth = dynamic(nodes)
        yield Case(f"{name} dynamic", nodes, (f"--drafter={folder / name}", tree), depth)
    for (name, policy), nodes in itertools.product(POLICIES.items(), NODES):
        for kind, (tree, depth) in (("static", static(folder, nodes)), ("dynamic", dynamic(nodes))):
            yield Case(f"{name} {kind}", nodes, (f"--draft-depth-policy={policy}", tree), depth,
                       model="two")
    for nodes in NODES:
        tree, depth = static(folder, nodes)
        yield Case("lookup before eagle1 static", nodes,
                   (f"--drafter={folder / 'eagle1'}", tree, LOOKUP), depth)
        tree, depth = dynamic(nodes)
        yield Case("lookup before modules dynamic", nodes, (tree, LOOKUP), depth, model="two")
    for nodes, sizes in ((8, "2,3,2"), (32, "4,5,4"), (64, "8,5,8")):
        window, ngram = map(int, sizes.split(",")[:2])
        yield Case("lookahead", nodes, (f"--drafter=lookahead:{sizes}",), window + ngram - 3)


# Each method once, each number of nodes, and the GPU.
FEW = {("eagle1 static", 64), ("eagle1 dynamic", 32), ("eagle3 static", 8), ("eagle3 dynamic", 64),
       ("medusa static", 32), ("draft-model static", 8), ("lookahead", 64),
       ("modules static", 32), ("modules dynamic", 64), ("a module static", 64),
       ("a module dynamic", 8), ("lookup before eagle1 static", 32),
       ("lookup before modules dynamic", 8)}
FEW_ON_GPU = {("eagle1 dynamic", 32), ("medusa static", 32), ("modules dynamic", 64),
              ("lookup before modules dynamic", 8)}


def call(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    if done.returncode:
        sys.exit(f"tree_matrix: error: {' '.join(command)}\n{done.stderr}")
    return done.stdout


def generate(artifact, device, k, temperature, batch):
    command = ["mtp-run", artifact, f"--device={device}", "--json", "-k", str(k), "-n",
               str(LENGTH[device]), "--threads", "2" if batch == 4 else "1", "--seed=11",
               "--ignore-eos", f"--temperature={temperature}"]
    for prompt in PROMPTS[:batch]:
        command += ["--ids", ",".join(map(str, prompt))]
    return json.loads(call(*command))


def tokens(run):
    return [sequence["output_ids"] for sequence in run["sequences"]]


def check(case, artifact, device):
    """Compares rounds of all depths with those of one node. Returns the number of accepted drafts.
    """
    kept, is_slow = 0, device == "cuda"
    for temperature, batch in ((0.8, 2),) if is_slow else ((0, 4), (0.8, 1), (0.8, 4)):
        plain = generate(artifact, device, 0, temperature, batch)
        assert plain["rounds"] >= LENGTH[device] - 1, plain  # one node, one token
        for k in (case.depth,) if is_slow else (case.depth // 2, case.depth):
            run = generate(artifact, device, k, temperature, batch)
            assert tokens(run) == tokens(plain), (case, device, temperature, batch, k)
            kept += sum(run["accepted"])
    return kept


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("oracle", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    args = parser.parse_args()
    runs_all = os.environ.get("MTP_TREES") == "all"
    folder = args.folder.resolve()
    for name in FOLDERS:
        call(sys.executable, str(args.oracle / "tiny_drafters.py"), name, "-o",
             str(folder / name), "--dtype=f32")
    call(sys.executable, str(args.oracle / "tiny.py"), "dsv3-chain-mtp2", "-o",
         str(folder / "two"), "--dtype=f32")
    devices = ["cpu"] + ["cuda"] * os.path.exists(os.environ.get("MTP_CUDA_DRIVER", ""))
    module, artifact = str(folder / "model.mlir"), str(folder / "model.bin")
    done, kept = 0, 0
    for case in cases(folder):
        key = (case.name, case.nodes)
        if not runs_all and key not in FEW:
            continue
        call("mtp-import", str(folder / case.model), "-o", module, "--max-batch=4",
             "--max-context=128", "--prefill-chunk=32", "--page=8", *case.flags)
        for device in devices:
            if device == "cuda" and not runs_all and key not in FEW_ON_GPU:
                continue
            target = ("mtpc_sim", "--target=gpu-sim") if device == "cuda" else ("mtpc",)
            call(*target, module, "-o", artifact)
            info = json.loads(call("mtp-dump", "--json", artifact))
            assert info["envelope"]["max_nodes"] >= case.nodes, info["envelope"]
            found = check(case, artifact, device)
            print(f"{case.name}, {case.nodes} nodes, {device}: {found} drafts kept", flush=True)
            done, kept = done + 1, kept + found
    assert kept > 0
    print(f"{done} trees, same as plain")


if __name__ == "__main__":
    main()
