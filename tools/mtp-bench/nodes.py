#!/usr/bin/env python3
"""Measures the cost of rounds of chains, trees and blocks by their number of nodes, and the cost of
a lookup:

  nodes.py --tools BIN --source ROOT --out DIR [--svg FILE] [--threads 2] [--turns 2]
           [--only nodes|lookup]

The model is the shape `llama` of models/shapes.py (1.1 B), in int4 with random weights. They accept
nothing, so acceptance is given (SHARES). Drafters are EAGLE's layer, also as a static tree and as
EAGLE-2's, and a block drafter of two layers if mtp-import reads one. R is the time of a round
divided by that of a plain step of the same run. A round pays if it outputs more than R tokens.
Prints tables for MEASURED.md, and writes a picture of R by nodes.
"""

import argparse
import datetime
import heapq
import json
import pathlib
import subprocess
import sys

NODES = (4, 8, 16, 32, 64)
# The share of rounds that accept at least 1, 2, .. drafts.
SHARES = (0.8, 0.65, 0.52, 0.42, 0.33, 0.26, 0.2, 0.16)
MOST_K = 16
COLORS = {"chain": "#1f4e8c", "static tree": "#2e8b57", "dynamic tree": "#c05a1c",
          "block": "#7a3e9d"}
DYNAMIC = {4: "2,2,4", 8: "3,4,8", 16: "4,4,16", 32: "5,8,32", 64: "8,10,64"}
LONG = 32768


def call(*command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))}\n{done.stderr.strip()}")
    return done.stdout


def static_tree(drafts, depth=6):
    """Returns the likeliest paths, if the token of rank r is accepted with 0.6 / (r + 1) squared.
    """
    edge, paths = [(-1.0, ())], []
    while len(paths) <= drafts:
        share, path = heapq.heappop(edge)
        paths.append(list(path))
        if len(path) < depth:
            for rank in range(10):
                heapq.heappush(edge, (share * 0.6 / (rank + 1) ** 2, path + (rank,)))
    return paths[1:]


def configs(out):
    """Writes the configs of the target and the drafters."""
    target = json.loads((out / "llama" / "config.json").read_text())
    layer = {**target, "num_hidden_layers": 1, "bias": False}
    block = {**target, "architectures": ["DFlashDraftModel"], "model_type": "qwen3",
             "num_hidden_layers": 2, "num_target_layers": target["num_hidden_layers"],
             "dflash_config": {"mask_token_id": 0, "target_layer_ids": [1, 7, 13]}}
    for name, config in (("eagle", layer), ("block", block)):
        (out / name).mkdir(exist_ok=True)
        (out / name / "config.json").write_text(json.dumps(config))
    return block


def cases(out):
    """Yields (line, nodes, flags of mtp-import, k)."""
    block = configs(out)
    eagle = (f"--drafter={out / 'eagle'}", "--method=eagle")
    for nodes in NODES:
        if nodes - 1 <= MOST_K:
            yield "chain", nodes, (*eagle, f"-k={nodes - 1}"), nodes - 1
        tree = static_tree(nodes - 1)
        file = out / f"tree{nodes}.json"
        file.write_text(json.dumps(tree))
        yield "static tree", nodes, (*eagle, f"--draft-tree={file}"), max(map(len, tree))
        depth = int(DYNAMIC[nodes].split(",", maxsplit=1)[0])
        yield "dynamic tree", nodes, (*eagle, f"--draft-tree=dynamic:{DYNAMIC[nodes]}"), depth
        if nodes - 1 <= MOST_K:
            folder = out / f"block{nodes}"
            folder.mkdir(exist_ok=True)
            (folder / "config.json").write_text(json.dumps({**block, "block_size": nodes}))
            yield "block", nodes, (f"--drafter={folder}",), nodes - 1


class Bench:
    def __init__(self, options):
        self.options, self.tools, self.out = options, options.tools, options.out

    def build(self, flags, context=1024):
        module, artifact = self.out / "model.mlir", self.out / "model.bin"
        call(self.tools / "mtp-import", "--no-weights", self.out / "llama", "-o", module,
             f"--max-context={context}", "--max-batch=1", *flags)
        call(self.tools / "mtpc", module, "-o", artifact, "--random-weights",
             "--quantize=int4,symmetric")
        return artifact

    def run(self, artifact, ks, *flags, context=512):
        o = self.options
        return json.loads(call(
            self.tools / "mtp-bench", artifact, "--measure=speculative", f"--context={context}",
            f"--k={','.join(map(str, ks))}", f"--threads={o.threads}", f"--turns={o.turns}",
            "--pin", "--estimate=fastest", "--no-mmap", "--json", *flags))


def point(result, k):
    return next(p for p in result["points"] if p["k"] == k)


def measure(bench, rows):
    for line, nodes, flags, k in cases(bench.out):
        shares = ",".join(map(str, (SHARES + (0.1,) * MOST_K)[:k]))
        try:
            artifact = bench.build(flags)
        except RuntimeError as error:
            if line != "block" or "expected a drafter of the methods" not in str(error):
                raise
            print(f"block of {nodes}: mtp-import reads none", file=sys.stderr)
            continue
        result = bench.run(artifact, (0, k), f"--acceptance={shares}")
        spec = next(s for s in result["speculative"] if s["k"] == k)
        rows.append((line, nodes, k, point(result, k)["live_rows"], spec["r"],
                     spec["acceptance_length"], spec["speedup"]))
        print(f"{line}, {nodes} nodes: R {spec['r']:.2f}", file=sys.stderr, flush=True)
    return result["machine"]["processor"]


def control(p):
    return sum(kernel["seconds"] for kernel in p["kernels"] if kernel["name"] == "control")


def lookup(bench):
    """Yields lines about a lookup at k = 4: relative to a step of 5 rows, and at a long context."""
    flags = ("--drafter=lookup:2,5", "-k=4")
    result = bench.run(bench.build(flags), (0, 4), "--period=61", "--acceptance=0.8,0.7,0.6,0.5")
    plain, drawn = point(result, 0), point(result, 4)
    more = control(drawn) - control(plain)
    share = drawn["seconds"] / (drawn["seconds"] - more)
    yield (f"k = 4, context 512: {drawn['live_rows']:.0f} active rows, a round over its step of "
           f"these rows {share:.3f} (at most 1.02)")
    step = plain["seconds"]
    artifact = bench.build(flags, context=LONG + 256)
    result = bench.run(artifact, (0, 4), "--period=30011", context=LONG)
    more = control(point(result, 4)) - control(point(result, 0))
    long = point(result, 0)["seconds"]
    yield (f"context {LONG}: a lookup takes {more * 1e6:.0f} us, {100 * more / step:.2f} % of a "
           f"plain step at context 512 (at most 2 %), {100 * more / long:.2f} % of one there")


def picture(rows, caption):
    """Draws R by nodes, a line per kind."""
    left, top, width, height = 56, 34, 480, 300
    most = max(max(r for _, _, _, _, r, _, _ in rows), 2) * 1.05

    def at(nodes, value):
        x = left + width * NODES.index(nodes) / (len(NODES) - 1)
        return f"{x:.0f},{top + height * (1 - value / most):.0f}"
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 150}" '
           f'height="{top + height + 60}" font-family="sans-serif" font-size="12">',
           f'<rect width="{left + width + 150}" height="{top + height + 60}" fill="white"/>',
           f'<text x="8" y="18" font-size="13" fill="#222">{caption}</text>']
    for step in range(int(most) + 1):
        y = at(NODES[0], step).split(",")[1]
        out.append(f'<line x1="{left}" x2="{left + width}" y1="{y}" y2="{y}" stroke="#ddd"/>'
                   f'<text x="{left - 8}" y="{int(y) + 4}" text-anchor="end">{step}</text>')
    for nodes in NODES:
        out.append(f'<text x="{at(nodes, 0).split(",")[0]}" y="{top + height + 18}" '
                   f'text-anchor="middle">{nodes}</text>')
    out.append(f'<text x="{left + width / 2}" y="{top + height + 40}" text-anchor="middle">nodes '
               'of a round; upright: R, the tokens that a round must put out to pay</text>')
    for i, (line, color) in enumerate(COLORS.items()):
        own = [(nodes, r) for name, nodes, _, _, r, _, _ in rows if name == line]
        if not own:
            continue
        points = " ".join(at(*p) for p in own)
        out.append(f'<polyline points="{points}" fill="none" stroke="{color}" stroke-width="2"/>')
        out += [f'<circle cx="{x}" cy="{y}" r="3" fill="{color}"/>'
                for x, y in (at(*p).split(",") for p in own)]
        y = top + 14 + 20 * i
        out.append(f'<text x="{left + width + 16}" y="{y}" fill="{color}">{line}</text>')
    return "\n".join([*out, "</svg>", ""])


def main():
    parser = argparse.ArgumentParser()
    for name in ("--tools", "--source", "--out"):
        parser.add_argument(name, type=pathlib.Path, required=True)
    parser.add_argument("--svg", type=pathlib.Path)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--only", choices=("nodes", "lookup"))
    options = parser.parse_args()
    options.out = options.out.resolve()
    options.out.mkdir(parents=True, exist_ok=True)
    if not (options.out / "llama").exists():
        call(sys.executable, options.source / "models/shapes.py", "llama", options.out / "llama")
    # This makes no weight larger.
    config = options.out / "llama" / "config.json"
    config.write_text(json.dumps({**json.loads(config.read_text()),
                                  "max_position_embeddings": LONG + 512}))
    bench, rows = Bench(options), []
    if options.only != "lookup":
        processor = measure(bench, rows)
        print("| | nodes | depth | active rows | R, which AL has to exceed | AL given | "
              "over plain |")
        print("|---|---|---|---|---|---|---|")
        for line, nodes, k, live, r, given, over in rows:
            print(f"| {line} | {nodes} | {k} | {live:.0f} | {r:.2f} | {given:.2f} | {over:.2f}x |")
        if options.svg:
            caption = (f"1.1 B, int4, {options.threads} threads, {processor}, "
                       f"{datetime.date.today()}")
            options.svg.write_text(picture(rows, caption))
    if options.only != "nodes":
        for line in lookup(bench):
            print(line, flush=True)


if __name__ == "__main__":
    main()
