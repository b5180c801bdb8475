"""Writes rules.mlir with one more rule: own_rule.py RULES.mlir OUT DECLARATION"""

import pathlib
import sys

RULE = """
// Typical acceptance with one number.
func.func private @share(%slots: tensor<?xi32>, %d: tensor<?x?xi32>, %parents: tensor<?x?xi32>,
    %picks: tensor<?x?xi32>, %p: tensor<?x?x?xf32>, %least: tensor<?xf32>)
    -> (tensor<?xi32>, tensor<?xi32>, tensor<?xi32>) attributes {mtp.accept_rules = [DECLARATION]} {
  %count, %last, %token = mtp.apply @typical(%slots, %d, %parents, %picks, %p, %least, %least)
      : (tensor<?xi32>, tensor<?x?xi32>, tensor<?x?xi32>, tensor<?x?xi32>, tensor<?x?x?xf32>,
         tensor<?xf32>, tensor<?xf32>) -> (tensor<?xi32>, tensor<?xi32>, tensor<?xi32>)
  return %count, %last, %token : tensor<?xi32>, tensor<?xi32>, tensor<?xi32>
}
"""
# The keys of a correct declaration.
TAKES = 'takes = ["slots", "d", "parents", "picks", "p", "least"]'
NUMBERS = 'numbers = [{name = "least", above = 0.0, most = 1.0, default = 0.5}]'

rules, out, declaration = sys.argv[1:]
declaration = declaration.replace("TAKES", TAKES).replace("NUMBERS", NUMBERS)
text = pathlib.Path(rules).read_text(encoding="utf-8")
end = text.rindex("}")
pathlib.Path(out).mkdir(exist_ok=True)
pathlib.Path(out, "rules.mlir").write_text(
    text[:end] + RULE.replace("DECLARATION", declaration) + text[end:], encoding="utf-8")
