#!/usr/bin/env python3
"""Lets a module's rounds put out what they draft, in place: show_drafts.py MODULE

The output "seen" has of each round as many drafts as max_k, or of a tree as the envelope has nodes
beside the anchor, -1 where there is none. compare_run.py compares it with what an oracle drafts,
with --request-output seen.
"""
import re
import sys

SHOWN = """  %shown = mtp.slots : tensor<?xi32>
  %seen = mtp.per_slot %shown({1}) {{
  ^bb0(%index: index, %slot: i32, %own: {3}):
    %one = arith.constant 1 : index
    %nodes = mtp.nodes
    %k = arith.subi %nodes, %one : index
    %none = arith.constant -1 : i32
    %all = tensor.generate {{
    ^bb0(%j: index):
      %token = tensor.extract %own[%j] : {3}
      %is_one = arith.cmpi slt, %j, %k : index
      %draft = arith.select %is_one, %token, %none : i32
      tensor.yield %draft : i32
    }} : tensor<{0}xi32>
    mtp.yield %all : tensor<{0}xi32>
  }} : (tensor<?xi32>, {2}) -> tensor<?x{0}xi32>
  mtp.output "seen" %seen for slots : tensor<?x{0}xi32>
"""

with open(sys.argv[1], encoding="utf8") as file:
    text = file.read()
most = int(re.search(r"max_k = (\d+)", text).group(1))
nodes = re.search(r"max_nodes = (\d+)", text)
if nodes:
    most = int(nodes.group(1)) - 1
verify = re.search(r"^.* = mtp\.verify (%\w+(?:#\d+)?) (?:.*\n)*?.*} : \((tensor<\?x(\??\d*)xi32>)",
                   text, re.M)
if not verify:
    sys.exit("show_drafts: error: expected a round that verifies drafts")
shown = SHOWN.format(most, verify.group(1), verify.group(2), f"tensor<{verify.group(3)}xi32>")
text = text[:verify.start()] + shown + text[verify.start():]
with open(sys.argv[1], "w", encoding="utf8") as file:
    file.write(text)
