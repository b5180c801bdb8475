#!/usr/bin/env python3
"""Lets a module's rounds put out what they draft, in place: show_drafts.py MODULE

The output "seen" has of each round as many drafts as max_k, -1 where there is none. compare_run.py
compares it with what an oracle drafts, with --request-output seen.
"""
import re
import sys

SHOWN = """  %shown = mtp.slots : tensor<?xi32>
  %seen = mtp.per_slot %shown({1}) {{
  ^bb0(%index: index, %slot: i32, %own: tensor<?xi32>):
    %k = mtp.k
    %none = arith.constant -1 : i32
    %all = tensor.generate {{
    ^bb0(%j: index):
      %token = tensor.extract %own[%j] : tensor<?xi32>
      %is_one = arith.cmpi slt, %j, %k : index
      %draft = arith.select %is_one, %token, %none : i32
      tensor.yield %draft : i32
    }} : tensor<{0}xi32>
    mtp.yield %all : tensor<{0}xi32>
  }} : (tensor<?xi32>, tensor<?x?xi32>) -> tensor<?x{0}xi32>
  mtp.output "seen" %seen for slots : tensor<?x{0}xi32>
"""

with open(sys.argv[1], encoding="utf8") as file:
    text = file.read()
most = re.search(r"max_k = (\d+)", text).group(1)
verify = re.search(r"^.* = mtp\.verify (%\w+) ", text, re.M)
if not verify:
    sys.exit("show_drafts: error: expected a round that verifies drafts")
text = text[:verify.start()] + SHOWN.format(most, verify.group(1)) + text[verify.start():]
with open(sys.argv[1], "w", encoding="utf8") as file:
    file.write(text)
