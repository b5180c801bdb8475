#!/usr/bin/env python3
"""Writes a file of the drafter library with a mistake in it: mistakes.py NAME LIBRARY FOLDER"""

import pathlib
import sys

# Of each mistake the file, what is replaced, and what by.
MISTAKES = {
    # A lookup that matches itself.
    "itself": ("lookup.mlir", "%best = scf.parallel (%p) = (%from) to (%to)",
               "%past = arith.addi %to, %c1 : index\n"
               "  %best = scf.parallel (%p) = (%from) to (%past)"),
    # One that is content with a match that is too short.
    "short": ("lookup.mlir", "arith.select %long_enough, %own", "arith.select %m0, %own"),
    # The other drafter's drafts first.
    "second": ("lookup.mlir", "%has = arith.cmpi sge", "%has = arith.cmpi slt"),
    # Places that the first drafter leaves are the other's.
    "mixed": ("lookup.mlir", "%draft = arith.select %has, %a, %b : i32",
              "%is_own = arith.cmpi sge, %a, %none : i32\n"
              "    %draft = arith.select %is_own, %a, %b : i32"),
    # A lookup's drafts at the nodes of the other drafter's tree, and that tree as a chain.
    "branched": ("lookup.mlir", "%parent = arith.select %finds, %before, %b : i32",
                 "%parent = arith.maxsi %b, %b : i32"),
    "strung": ("lookup.mlir", "%parent = arith.select %finds, %before, %b : i32",
               "%parent = arith.maxsi %before, %before : i32"),
    # Votes of those that have been voted down.
    "live": ("suffix.mlir", "%stays = arith.andi %same, %is_draft",
             "%stays = arith.ori %same, %is_draft"),
    # Last tokens that are no match of themselves.
    "counted": ("suffix.mlir", "iter_args(%so_far = %one)", "iter_args(%so_far = %zero)"),
    # Runs under another token than that in front of them.
    "key": ("lookahead.mlir", "%is_first, %anchor, %own", "%is_first, %own, %anchor"),
    # Guesses that stand still when tokens are accepted.
    "still": ("lookahead.mlir", "%moved = arith.addi %column, %a",
              "%moved = arith.maxui %column, %column"),
    # A mask where the anchor stands.
    "masked-anchor": ("parallel.mlir", "%is_known = arith.cmpi sle, %far, %a : i32",
                      "%is_known = arith.cmpi slt, %far, %a : i32"),
    # Masks' entries that stay, as accepted tokens are not run again.
    "kept-masks": ("parallel.mlir", "%lives = arith.andi %is_row, %is_there : i1",
                   "%is_late = arith.cmpi sge, %far, %a : i32\n"
                   "      %lives = arith.andi %is_row, %is_late : i1"),
    # Features of the token itself, and not of that in front of it.
    "late-features": ("parallel.mlir", "%at = arith.addi %begin, %j : index",
                      "%after = arith.addi %j, %one : index\n"
                      "      %at = arith.addi %begin, %after : index"),
    # Masks that have zeros in place of the learned row.
    "empty-masks": ("parallel.mlir", "%is_mask = arith.cmpi sgt", "%is_mask = arith.cmpi slt"),
}


def main():
    name, library, folder = sys.argv[1:]
    file, right, wrong = MISTAKES[name]
    text = (pathlib.Path(library) / file).read_text()
    assert text.count(right) == 1, (name, text.count(right))
    folder = pathlib.Path(folder)
    folder.mkdir()
    (folder / file).write_text(text.replace(right, wrong))


if __name__ == "__main__":
    main()
