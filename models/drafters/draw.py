#!/usr/bin/env python3
"""Draws what a method drafts, with the share that is accepted per node, as SVG.

  python3 draw.py FILE.json -o OUT.svg [--title TEXT] [--least 0.02]

FILE is either what `mtp-run --json` writes: a chain or block by draft position, of a tree its
depths; or rounds with tokens, parents and path, as table.py --rounds and test/oracle write them:
then every node. A node of several rounds is known by its ranks among siblings, so that dynamic
trees are laid over each other. In a circle stands how many of 100 rounds accept the node; the
circle is as dark; the line's width is how often the node is drafted at all. Nodes drafted in
less than --least of the rounds are left out.
"""
import argparse
import html
import json

COLUMN, ROW, RADIUS, EDGE = 84, 30, 13, 26


def by_position(run):
    """mtp-run's JSON -> {path of ranks: (drafted, accepted)}, as shares of all rounds."""
    rounds = run["slot_rounds"]
    if not rounds:
        raise SystemExit("expected rounds, got a run without one")
    nodes, path = {}, ()
    for made, kept in zip(run["drafted"], run["accepted"]):
        path += (0,)
        nodes[path] = (made / rounds, kept / rounds)
    return nodes


def by_node(rounds):
    """Rounds -> {path of ranks: (drafted, accepted)}, as shares of all rounds."""
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


def nodes_of(x):
    if "slot_rounds" in x:
        return by_position(x)
    if "rounds" in x and isinstance(x["rounds"], list):
        return by_node(x["rounds"])
    raise SystemExit("expected slot_rounds (mtp-run --json) or rounds (table.py), got neither")


def place(nodes):
    """{path: (x, y)}: leaves on rows of their own, a parent at its first child's height."""
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
    """White to a dark blue."""
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
    ap.add_argument("file")
    ap.add_argument("-o", "--out", required=True)
    ap.add_argument("--title")
    ap.add_argument("--least", type=float, default=0.02)
    a = ap.parse_args()
    with open(a.file, encoding="utf8") as f:
        x = json.load(f)
    nodes = {p: n for p, n in nodes_of(x).items() if n[0] >= a.least}
    if not nodes:
        raise SystemExit("expected drafted nodes, got none")
    # a node that stays has its parents, which are drafted at least as often
    title = a.title or " ".join(str(x[k]) for k in ("method", "topology", "model") if k in x)
    with open(a.out, "w", encoding="utf8") as f:
        f.write(svg(nodes, title))


if __name__ == "__main__":
    main()
