#!/usr/bin/env python3
"""Draws a method's drafts, with the acceptance rate per node, as SVG.

  python3 draw.py FILE.json.. -o OUT.svg [--tree PATHS] [--title TEXT] [--least 0.02]

FILE is the output of `mtp-run --json`; several files are combined. With --draft-rounds it has all
nodes; --tree gives a static tree's list of paths. Otherwise it has a chain or block by draft
position, and only the depths of a tree. FILE may also have rounds with tokens, parents and path, as
written by table.py --rounds and test/oracle.

A node is identified by its ranks among siblings, so dynamic trees of several rounds overlap. The
number in a circle is the percentage of rounds that accept the node; darker means more. The width of
a line shows how often the node is drafted. Nodes drafted in less than --least of the rounds are
left out.
"""
import argparse
import ast
import html
import json

COLUMN, ROW, RADIUS, EDGE = 84, 30, 13, 26


def by_position(runs):
    """Converts mtp-run's JSON to {path of ranks: (drafted, accepted)}, as shares of all rounds."""
    rounds = sum(run["slot_rounds"] for run in runs)
    if not rounds:
        raise SystemExit("expected rounds, got a run without one")
    nodes, path = {}, ()
    for made, kept in zip(*(map(sum, zip(*(run[key] for run in runs)))
                            for key in ("drafted", "accepted"))):
        path += (0,)
        nodes[path] = (made / rounds, kept / rounds)
    return nodes


def parents_of(tree):
    """Returns the parents of the nodes of a list of paths of ranks, in the order of drafts."""
    nodes = [()] + sorted(map(tuple, tree), key=lambda path: (len(path), path))
    return [-1] + [nodes.index(path[:-1]) for path in nodes[1:]]


def settled(drafts, parents, tokens):
    """Returns a round's parents (-1 for nodes that are not drafted) and accepted path: the first of
    the deepest nodes whose path was output. The last token is the target's own."""
    parents, depths, end = [-1, *parents[1:]], {0: 0}, 0
    for node, token in enumerate(drafts, start=1):
        above = parents[node]
        if token < 0 or (above and parents[above] < 0):
            parents[node] = -1
            continue
        depth = depths.get(above)
        if depth is not None and depth < len(tokens) - 1 and tokens[depth] == token:
            depths[node] = depth + 1
            if depths[node] > depths[end]:
                end = node
    path = []
    while end:
        path.insert(0, end)
        end = parents[end]
    return {"parents": parents, "path": path}


def rounds_of(runs, tree):
    """Returns the rounds of mtp-run --draft-rounds that draft something."""
    out = []
    for run in runs:
        for made in (r for s in run["sequences"] for r in s["draft_rounds"] if r["drafts"]):
            drafts, parents = made["drafts"], made.get("parents")
            # A chain has one draft per depth.
            if not parents and (tree or len(drafts) <= run["k"]):
                parents = parents_of(tree) if tree else range(-1, len(drafts))
            if not parents or len(parents) != len(drafts) + 1:
                raise SystemExit(f"expected --tree with the paths of {len(drafts)} drafts, "
                                 f"got {len(parents) - 1 if parents else 'none'}")
            out.append(settled(drafts, parents, made["tokens"]))
    if not out:
        raise SystemExit("expected rounds with drafts, got none")
    return out


def by_node(rounds):
    """Converts rounds to {path of ranks: (drafted, accepted)}, as shares of all rounds."""
    counts = {}
    for r in rounds:
        paths, children = {0: ()}, {}
        for node, parent in enumerate(r["parents"]):
            if parent < 0:
                continue
            rank = children.get(parent, 0)
            children[parent] = rank + 1
            paths[node] = paths[parent] + (rank,)
            counts.setdefault(paths[node], [0, 0])[0] += 1
        for node in r["path"]:
            counts[paths[node]][1] += 1
    return {p: (made / len(rounds), kept / len(rounds)) for p, (made, kept) in counts.items()}


def nodes_of(files, tree):
    if all("slot_rounds" in x for x in files):
        if all("draft_rounds" in s for x in files for s in x["sequences"]):
            return by_node(rounds_of(files, tree))
        return by_position(files)
    if all(isinstance(x.get("rounds"), list) for x in files):
        return by_node([r for x in files for r in x["rounds"]])
    raise SystemExit("expected slot_rounds (mtp-run --json) or rounds (table.py), got neither")


def place(nodes):
    """Returns {path: (x, y)}: each leaf in its own row, a parent at its first child's height."""
    at, row = {}, 0
    children = {}
    for p in sorted(nodes):
        children.setdefault(p[:-1], []).append(p)

    def visit(p):
        nonlocal row
        below = children.get(p, [])
        for child in below:
            visit(child)
        if below:
            y = at[below[0]][1]
        else:
            y = EDGE + ROW * row
            row += 1
        at[p] = (EDGE + COLUMN * len(p), y)

    visit(())
    return at, row


def shade(share):
    """Returns a colour from white to dark blue."""
    return "#" + "".join(f"{round(255 + (to - 255) * share):02x}" for to in (31, 78, 140))


def svg(nodes, title):
    at, rows = place(nodes)
    depth = max(map(len, nodes))
    width, height = 2 * EDGE + COLUMN * depth, 2 * EDGE + ROW * (rows - 1)
    top = 28
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height + top}" '
           'font-family="sans-serif" font-size="11">',
           f'<rect width="{width}" height="{height + top}" fill="white"/>',
           f'<text x="8" y="18" font-size="13" fill="#222">{html.escape(title)}</text>',
           f'<g transform="translate(0,{top})">']
    for p, (made, _) in nodes.items():
        (x0, y0), (x1, y1) = at[p[:-1]], at[p]
        middle = (x0 + x1) / 2
        out.append(f'<path d="M{x0},{y0} C{middle},{y0} {middle},{y1} {x1},{y1}" fill="none" '
                   f'stroke="#888" stroke-width="{0.4 + 2 * made:.2f}"/>')
    out.append(f'<circle cx="{at[()][0]}" cy="{at[()][1]}" r="{RADIUS}" fill="#222"/>')
    for p, (_, kept) in nodes.items():
        x, y = at[p]
        ink = "white" if kept > 0.55 else "#222"
        out.append(f'<circle cx="{x}" cy="{y}" r="{RADIUS}" fill="{shade(kept)}" stroke="#555"/>')
        out.append(f'<text x="{x}" y="{y + 4}" text-anchor="middle" fill="{ink}">'
                   f'{100 * kept:.0f}</text>')
    return "\n".join(out + ["</g>", "</svg>"]) + "\n"


def main():
    ap = argparse.ArgumentParser(description=__doc__,
                                 formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("files", nargs="+")
    ap.add_argument("-o", "--out", required=True)
    ap.add_argument("--tree", help="the list of paths of a static tree, as medusa_choices")
    ap.add_argument("--title")
    ap.add_argument("--least", type=float, default=0.02)
    a = ap.parse_args()
    files, tree = [], None
    for name in a.files:
        with open(name, encoding="utf8") as f:
            files.append(json.load(f))
    if a.tree:
        with open(a.tree, encoding="utf8") as f:
            tree = ast.literal_eval(f.read().split("=")[-1].strip())
    nodes = {p: n for p, n in nodes_of(files, tree).items() if n[0] >= a.least}
    if not nodes:
        raise SystemExit("expected drafted nodes, got none")
    # The parents of a kept node are kept, because they are drafted at least as often.
    title = a.title or " ".join(str(files[0][k]) for k in ("method", "topology", "model")
                                if k in files[0])
    with open(a.out, "w", encoding="utf8") as f:
        f.write(svg(nodes, title))


if __name__ == "__main__":
    main()
