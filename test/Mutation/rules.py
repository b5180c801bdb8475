"""Bugs in accept rules: edits of compiler/Import/library/rules.mlir.

A mutant is a text that the file has once, and its replacement. Each mutant must fail the
enumeration of test/E2E/Inputs/rules (rules_check.py), which takes a second per mutant.
"""

RULES = {
    "residual of siblings not normalised": (
        "%bar = arith.mulf %w, %rest : f32", "%bar = arith.mulf %w, %unit : f32"),
    "siblings in the opposite order": (
        "%token = tensor.extract %draft[%j] : tensor<?xi32>\n"
        "      %is_child",
        "%end0 = tensor.dim %draft, %c0 : tensor<?xi32>\n"
        "      %other0 = arith.subi %end0, %i : index\n"
        "      %token = tensor.extract %draft[%other0] : tensor<?xi32>\n"
        "      %is_child"),
    "a token tried twice": (
        "%fresh = arith.andi %is_new, %is_early : i1",
        "%fresh = arith.andi %is_early, %is_early : i1"),
    "tried siblings stay in the residual": (
        "%p2 = mtp.mask_tokens %p1, %t1", "%p2 = mtp.mask_tokens %p1, %t0"),
    "a child of a node that was left behind": (
        "%is_child = arith.cmpi eq, %above, %at : i32",
        "%is_child = arith.cmpi sle, %above, %at : i32"),
    "the token behind the node after": (
        "%w = tensor.extract %draws[%own] : tensor<?xf32>\n"
        "    %begin = arith.muli %index, %nodes : index\n"
        "    %flat = arith.addi %begin, %own : index",
        "%w = tensor.extract %draws[%own] : tensor<?xf32>\n"
        "    %begin = arith.muli %index, %nodes : index\n"
        "    %flat = arith.addi %begin, %c0 : index"),
    "q of a draft left out": (
        "%share = arith.mulf %w, %qx : f32", "%share = arith.addf %w, %w : f32"),
    "the residual of a drawn draft not less q": (
        "%own = arith.select %is_live, %x, %y : i32", "%own = arith.select %is_live, %y, %y : i32"),
    "block's last draft as one in between": (
        "%chance = arith.select %follows, %stop, %share : f32",
        "%chance = arith.select %in_range, %stop, %stop : f32"),
    "block ends at the first that does not stay": (
        "%stays = arith.andi %is_below, %is_live : i1\n"
        "      %longest = arith.select %stays, %length, %so_far : i32",
        "%stays0 = arith.andi %is_below, %is_live : i1\n"
        "      %before0 = arith.index_cast %j : index to i32\n"
        "      %all0 = arith.cmpi eq, %so_far, %before0 : i32\n"
        "      %stays = arith.andi %stays0, %all0 : i1\n"
        "      %longest = arith.select %stays, %length, %so_far : i32"),
    "block's residual with the draft": (
        "%without = arith.select %is_in, %token, %none : i32",
        "%without = arith.select %is_in, %none, %none : i32"),
}
