#!/usr/bin/env python3
"""Adds outputs of drafts to a module's rounds, in place: show_drafts.py MODULE

The output "seen" has max_k drafts of each round, or, for a tree, one per node of the envelope
except the anchor. The output "above" is for a tree whose shape the round computes, and has the
parent of each of these nodes. A missing draft is -1 in both. With --request-output seen and above,
compare_run.py compares them with an oracle's drafts.
"""
import re
import sys

BODY = """  %shown_{name} = mtp.slots : tensor<?xi32>
  %{name} = mtp.per_slot %shown_{name}({values}) {{
  ^bb0(%index: index, %slot: i32, {arguments}):
    %one = arith.constant 1 : index
    %nodes = mtp.nodes
    %k = arith.subi %nodes, %one : index
    %none = arith.constant -1 : i32
    %all = tensor.generate {{
    ^bb0(%j: index):
{element}
      %is_one = arith.cmpi slt, %j, %k : index
      %draft = arith.select %is_one, %token, %none : i32
      tensor.yield %draft : i32
    }} : tensor<{most}xi32>
    mtp.yield %all : tensor<{most}xi32>
  }} : (tensor<?xi32>, {types}) -> tensor<?x{most}xi32>
  mtp.output "{name}" %{name} for slots : tensor<?x{most}xi32>
"""

TOKEN = "      %token = tensor.extract %own[%j] : {own}"
PARENT = """      %zero = arith.constant 0 : i32
      %node = arith.addi %j, %one : index
      %parent = tensor.extract %ups[%node] : tensor<?xi32>
      %draft_j = tensor.extract %own[%j] : tensor<?xi32>
      %is_none = arith.cmpi slt, %draft_j, %zero : i32
      %token = arith.select %is_none, %none, %parent : i32"""

with open(sys.argv[1], encoding="utf8") as file:
    text = file.read()
most = int(re.search(r"max_k = (\d+)", text).group(1))
nodes = re.search(r"max_nodes = (\d+)", text)
if nodes:
    most = int(nodes.group(1)) - 1
verify = re.search(r"^.* = mtp\.verify (%\w+(?:#\d+)?) (?:parents (%\w+(?:#\d+)?) )?"
                   r"(?:.*\n)*?.*} : \((tensor<\?x(\??\d*)xi32>)", text, re.M)
if not verify:
    sys.exit("show_drafts: error: expected a round that verifies drafts")
drafts, parents, grid, columns = verify.groups()
own = f"tensor<{columns}xi32>"
shown = BODY.format(name="seen", most=most, values=drafts, arguments=f"%own: {own}", types=grid,
                    element=TOKEN.format(own=own))
if parents:
    shown += BODY.format(name="above", most=most, values=f"{drafts}, {parents}",
                         arguments="%own: tensor<?xi32>, %ups: tensor<?xi32>",
                         types=f"{grid}, {grid}", element=PARENT)
text = text[:verify.start()] + shown + text[verify.start():]
with open(sys.argv[1], "w", encoding="utf8") as file:
    file.write(text)
