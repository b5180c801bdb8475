#!/usr/bin/env python3
"""Writes rules.mlir with a mistake: mistakes.py NAME RULES.mlir FOLDER"""

import pathlib
import sys

# For each mistake: the function, the text to replace, and its replacement.
MISTAKES = {
    # A sibling's share is not normalised by what earlier siblings left.
    "unscaled": ("rejection", "%bar = arith.mulf %w, %rest : f32",
                 "%bar = arith.mulf %w, %unit : f32"),
    # The token after the last node may be one that was tried.
    "tried": ("rejection", "%x = mtp.sample_residual %p8 by", "%x = mtp.sample_residual %p0 by"),
    # The token after a rejected draft is drawn from p, not from p minus q.
    "whole": ("rejection_drawn", "mtp.sample_residual %p less %q at %count by %by : "
              "(tensor<?x?x?xf32>, tensor<?x?x?xf32>, tensor<?xi32>, tensor<?xf32>)",
              "mtp.sample_residual %p at %count by %by : "
              "(tensor<?x?x?xf32>, tensor<?xi32>, tensor<?xf32>)"),
    # A draft is accepted by p alone.
    "by-p": ("rejection_drawn", "%share = arith.mulf %w, %qx : f32",
             "%share = arith.mulf %w, %px : f32"),
    # Prefixes end by the next draft, whatever their probability is.
    "ratio": ("block", "%less = arith.subf %unit, %share : f32",
              "%less = arith.subf %unit, %px : f32"),
    # The draft after the longest prefix is drawn again.
    "again": ("block", "%x = mtp.sample_residual %p1 by", "%x = mtp.sample_residual %p0 by"),
    # Both bounds must hold.
    "both": ("typical", "arith.minimumf %scaled, %most", "arith.maximumf %scaled, %most"),
    # The target's certainty does not count.
    "certain": ("typical", "%certainty = math.exp %minus", "%certainty = math.exp %empty"),
    # The bound is above the best token instead of below it.
    "above": ("relaxed", "%least = arith.subf %p0, %most : f32",
              "%least = arith.addf %p0, %most : f32"),
    # The target's own pick is accepted only if it is near the best.
    "far-pick": ("relaxed", "%begin = arith.extui %is_pick : i1 to i32",
                 "%begin = arith.constant 0 : i32"),
}


def main():
    name, rules, folder = sys.argv[1:]
    function, right, wrong = MISTAKES[name]
    text = pathlib.Path(rules).read_text()
    begin = text.index(f"func.func private @{function}(")
    end = text.index("\n}\n", begin)
    assert text.count(right, begin, end) == 1, (name, text.count(right, begin, end))
    folder = pathlib.Path(folder)
    folder.mkdir()
    (folder / "rules.mlir").write_text(text[:begin] + text[begin:end].replace(right, wrong)
                                       + text[end:])


if __name__ == "__main__":
    main()
