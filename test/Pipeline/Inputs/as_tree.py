#!/usr/bin/env python3
"""Replaces the chain of an imported model with one module by a tree of 64 nodes:
as_tree.py MODEL.mlir > TREE.mlir

The tree has five levels, and max_k must be five. Standard library only.
"""

import re
import sys

LEVELS = (8, 16, 16, 13, 10)


def parents_of(levels):
    """Returns the parent of each node; the nodes of a level are spread over the level above."""
    parents, above = [-1], [0]
    for width in levels:
        level = range(len(parents), len(parents) + width)
        parents += sorted(above[i % len(above)] for i in range(width))
        above = list(level)
    return parents


def main():
    parents = parents_of(LEVELS)
    tree = "[" + ", ".join(map(str, parents)) + "]"
    drafts = f"tensor<?x{len(parents) - 1}xi32>"
    inside = ""
    for line in open(sys.argv[1], encoding="utf-8"):
        if "mtp.draft_chain {" in line:
            inside = "draft"
        line = line.replace("mtp.draft_chain {", f"mtp.draft_tree {tree} {{")
        line = line.replace("page = 16", f"page = 16, max_nodes = {len(parents)}")
        if "mtp.await_host" in line:
            line = line.replace("tensor<?x?xi32>", drafts)
        line = re.sub(r"@logit_masks\[\d+", f"@logit_masks[{min(len(parents), 16)}", line)
        line = line.replace("mtp.verify %drafts {", f"mtp.verify %drafts tree {tree} {{")
        line = line.replace(" exact {", f" exact tree {tree} {{")
        if inside == "draft" and line.strip() == "} : tensor<?x?xi32>":
            line, inside = line.replace("tensor<?x?xi32>", drafts), ""
        sys.stdout.write(line.replace("} : (tensor<?x?xi32>", f"}} : ({drafts}"))


if __name__ == "__main__":
    main()
