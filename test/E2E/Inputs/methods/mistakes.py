#!/usr/bin/env python3
"""Writes a file of the drafter library with a mistake: mistakes.py NAME LIBRARY FOLDER"""

import pathlib
import sys

# For each mistake: the file, the text to replace, and its replacement.
MISTAKES = {
    # A lookup matches itself.
    "itself": ("lookup.mlir", "%best = scf.parallel (%p) = (%from) to (%to)",
               "%past = arith.addi %to, %c1 : index\n"
               "  %best = scf.parallel (%p) = (%from) to (%past)"),
    # A lookup accepts a match that is too short.
    "short": ("lookup.mlir", "arith.select %long_enough, %own", "arith.select %m0, %own"),
    # The other drafter's drafts have precedence.
    "second": ("lookup.mlir", "%has = arith.cmpi sge", "%has = arith.cmpi slt"),
    # The other drafter's drafts fill the first drafter's gaps.
    "mixed": ("lookup.mlir", "%draft = arith.select %has, %a, %b : i32",
              "%is_own = arith.cmpi sge, %a, %none : i32\n"
              "    %draft = arith.select %is_own, %a, %b : i32"),
    # A lookup's drafts are at the nodes of the other drafter's tree, and that tree is a chain.
    "branched": ("lookup.mlir", "%parent = arith.select %finds, %before, %b : i32",
                 "%parent = arith.maxsi %b, %b : i32"),
    "strung": ("lookup.mlir", "%parent = arith.select %finds, %before, %b : i32",
               "%parent = arith.maxsi %before, %before : i32"),
    # Matches that lost a vote still vote.
    "live": ("suffix.mlir", "%stays = arith.andi %same, %is_draft",
             "%stays = arith.ori %same, %is_draft"),
    # The suffix itself does not count as a match.
    "counted": ("suffix.mlir", "iter_args(%so_far = %one)", "iter_args(%so_far = %zero)"),
    # n-grams are stored under another token than the one before them.
    "key": ("lookahead.mlir", "%is_first, %anchor, %own", "%is_first, %own, %anchor"),
    # Guesses do not move when tokens are accepted.
    "still": ("lookahead.mlir", "%moved = arith.addi %column, %a",
              "%moved = arith.maxui %column, %column"),
    # A mask is in the anchor's place.
    "masked-anchor": ("parallel.mlir", "%is_known = arith.cmpi sle, %far, %a : i32",
                      "%is_known = arith.cmpi slt, %far, %a : i32"),
    # Masks' entries stay, because accepted tokens do not run again.
    "kept-masks": ("parallel.mlir", "%lives = arith.andi %is_row, %is_there : i1",
                   "%is_late = arith.cmpi sge, %far, %a : i32\n"
                   "      %lives = arith.andi %is_row, %is_late : i1"),
    # Features of the token itself, instead of the token before it.
    "late-features": ("parallel.mlir", "%at = arith.addi %begin, %j : index",
                      "%after = arith.addi %j, %one : index\n"
                      "      %at = arith.addi %begin, %after : index"),
    # Masks have zeros instead of the learned row.
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
