#!/usr/bin/env python3
"""Writes rules.mlir with a mistake in it: mistakes.py NAME RULES.mlir FOLDER"""

import pathlib
import sys

# Of each mistake the function that it is in, what is replaced, and what by.
MISTAKES = {
    # A sibling's share is not of what those before it have left.
    "unscaled": ("rejection", "%bar = arith.mulf %w, %rest : f32",
                 "%bar = arith.mulf %w, %unit : f32"),
    # The token behind the last node may be one that was tried.
    "tried": ("rejection", "%x = mtp.pick_residual %p8 by", "%x = mtp.pick_residual %p0 by"),
    # The token behind a draft that does not stay is of p, and not of what p has beyond q.
    "whole": ("rejection_drawn", "mtp.pick_residual %p less %q at %count by %by : "
              "(tensor<?x?x?xf32>, tensor<?x?x?xf32>, tensor<?xi32>, tensor<?xf32>)",
              "mtp.pick_residual %p at %count by %by : "
              "(tensor<?x?x?xf32>, tensor<?xi32>, tensor<?xf32>)"),
    # A draft stays by its share of p alone.
    "by-p": ("rejection_drawn", "%share = arith.mulf %w, %qx : f32",
             "%share = arith.mulf %w, %px : f32"),
    # Prefixes end by what follows, whether they are likely or not.
    "ratio": ("block", "%less = arith.subf %unit, %share : f32",
              "%less = arith.subf %unit, %px : f32"),
    # The draft behind the longest prefix is drawn again.
    "again": ("block", "%x = mtp.pick_residual %p1 by", "%x = mtp.pick_residual %p0 by"),
    # Both bounds must hold.
    "both": ("typical", "arith.minimumf %scaled, %most", "arith.maximumf %scaled, %most"),
    # How certain the target is does not count.
    "certain": ("typical", "%certainty = math.exp %minus", "%certainty = math.exp %empty"),
    # As far above the best as it may be below.
    "above": ("relaxed", "%least = arith.subf %p0, %most : f32",
              "%least = arith.addf %p0, %most : f32"),
    # The target's own pick stays only where it is near.
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
