#!/usr/bin/env python3
"""Writes the library and a module with a mistake.

  block_mistakes.py MISTAKE LIBRARY MODULE OUT

  anchor   the anchor's row is sampled, and the last row is not
  causal   rows of a block see only preceding rows
  first    the Markov head reads the anchor for all drafts
  unsure   the first draft below the least confidence is kept
"""
import os
import shutil
import sys

# The text to replace and its replacement, in the library or in the module.
MISTAKES = {
    "anchor": ("library", "%i = arith.index_cast %behind : index to i32",
               "%i = arith.index_cast %row : index to i32"),
    "causal": ("library", "%own = arith.select %lives, %all, %blind : i64",
               "%far = arith.index_cast %j : index to i64\n"
               "    %up = arith.shli %bit, %far : i64\n"
               "    %before = arith.subi %up, %bit : i64\n"
               "    %seen = arith.ori %before, %up : i64\n"
               "    %own = arith.select %lives, %seen, %blind : i64"),
    "first": ("module", "scf.yield %picked,", None),
    "unsure": ("library", "%stays = arith.andi %goes_on, %is_sure : i1",
               "%yes = arith.constant true\n    %stays = arith.andi %goes_on, %yes : i1"),
}


def main():
    mistake, library, module, out = sys.argv[1:]
    os.makedirs(out)
    with open(module, encoding="utf8") as file:
        text = file.read()
    with open(os.path.join(library, "block.mlir"), encoding="utf8") as file:
        functions = file.read()
    where, right, wrong = MISTAKES[mistake]
    if mistake == "first":   # the loop's own name of the preceding token
        wrong = f"scf.yield {text.split('mtp.apply @draft_markov(')[1].split(',')[0]},"
    count = (functions if where == "library" else text).count(right)
    if count != 1:
        sys.exit(f"block_mistakes: error: expected '{right}' once, got it {count} times")
    if where == "library":
        functions = functions.replace(right, wrong)
    else:
        text = text.replace(right, wrong)
    with open(os.path.join(out, "block.mlir"), "w", encoding="utf8") as file:
        file.write(functions)
    with open(os.path.join(out, "model.mlir"), "w", encoding="utf8") as file:
        file.write(text)
    # Weights are beside the module that names them.
    for name in os.listdir("."):
        if os.path.exists(os.path.join(name, "model.safetensors")) and name != out:
            shutil.copytree(name, os.path.join(out, name))


main()
