#!/usr/bin/env python3
"""Compares the random numbers of RULES.md's code with those of a round.

  seeds.py --write MODEL.mlir TARGET.mlir.in
  seeds.py RULES.md ARTIFACT

The first form writes a model whose rounds output the results of @numbers and @numbers_by_anchor for
a tree at the slot's length. The second form runs it, and the page's block of Python.
"""

import json
import re
import subprocess
import sys

PARENTS = [-1, 0, 0, 1, 2, 3]
DEPTHS = [0, 1, 1, 2, 2, 3]
PROMPT, TOKENS = [5, 9, 2], 6
SEEDS = (11, 2 ** 40 + 7)
GRID = "tensor<?x6xi32>"
OPEN, SHOWN = "tensor<?x?xf32>", "tensor<?x6xf32>"
ROW, KNOWN = "tensor<?xf32>", "tensor<6xf32>"
COPIES = "\n    ".join(f"""%{name}_all = tensor.generate {{
    ^bb0(%j: index):
      %x = tensor.extract %{name}[%j] : {ROW}
      tensor.yield %x : f32
    }} : {KNOWN}""" for name in "abcd")

ENVELOPE = "max_k = 0, max_batch = 4, max_context = 96, prefill_chunk = 16, page = 8"
TAKES = f"(tensor<?xi32>, {GRID}, {GRID})"
GIVES = f"(tensor<?xi32>, {OPEN}, {OPEN}, {OPEN}, {OPEN}) -> ({SHOWN}, {SHOWN}, {SHOWN}, {SHOWN})"
STEP = "(tensor<?xi32>, !mtp.rows) -> (tensor<?x64xf32>, tensor<?x32xf32>)"

MODEL = f"""\
module attributes {{mtp.envelope = #mtp.envelope<{ENVELOPE}>}} {{
mtp.weights files ["methods.safetensors"]
mtp.cache @kv layers 2 entry 32 : f32
mtp.import "<rules.mlir>" [@numbers, @numbers_by_anchor]
mtp.state @length : i32
mtp.round @generate {{
  %slots = mtp.slots : tensor<?xi32>
  %at, %parents = mtp.per_slot %slots {{
  ^bb0(%index: index, %slot: i32):
    %n = mtp.load @length[] : i32
    %depths = arith.constant dense<{DEPTHS}> : tensor<6xi32>
    %all = arith.constant dense<{PARENTS}> : tensor<6xi32>
    %positions = tensor.generate {{
    ^bb0(%j: index):
      %depth = tensor.extract %depths[%j] : tensor<6xi32>
      %position = arith.addi %n, %depth : i32
      tensor.yield %position : i32
    }} : tensor<6xi32>
    mtp.yield %positions, %all : tensor<6xi32>, tensor<6xi32>
  }} : (tensor<?xi32>) -> ({GRID}, {GRID})
  %u, %v = mtp.apply @numbers(%slots, %at, %parents) : {TAKES} -> ({OPEN}, {OPEN})
  %ua, %va = mtp.apply @numbers_by_anchor(%slots, %at) : (tensor<?xi32>, {GRID}) -> ({OPEN}, {OPEN})
  %all:4 = mtp.per_slot %slots(%u, %v, %ua, %va) {{
  ^bb0(%index: index, %slot: i32, %a: {ROW}, %b: {ROW}, %c: {ROW}, %d: {ROW}):
    {COPIES}
    mtp.yield %a_all, %b_all, %c_all, %d_all : {KNOWN}, {KNOWN}, {KNOWN}, {KNOWN}
  }} : {GIVES}
  mtp.output "u" %all#0 for slots : {SHOWN}
  mtp.output "v" %all#1 for slots : {SHOWN}
  mtp.output "ua" %all#2 for slots : {SHOWN}
  mtp.output "va" %all#3 for slots : {SHOWN}
  %logits, %hidden = mtp.verify {{
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %l, %h = func.call @target(%t, %rows) : {STEP}
    mtp.yield %l, %h : tensor<?x64xf32>, tensor<?x32xf32>
  }} : () -> (tensor<?x64xf32>, tensor<?x32xf32>)
  %count, %picks = mtp.accept %logits exact {{
  ^bb0(%l: tensor<?x64xf32>, %rows: !mtp.rows):
    %p = mtp.sample %l, %rows : tensor<?x64xf32> -> tensor<?xi32>
    mtp.yield %p : tensor<?xi32>
  }} : (tensor<?x64xf32>) -> (tensor<?xi32>, tensor<?x?xi32>)
  mtp.commit %count, %picks, %hidden : tensor<?xi32>, tensor<?x?xi32>, tensor<?x32xf32>
}}
"""


def outputs(artifact, seed):
    command = ["mtp-run", artifact, "--json", "--threads=1", "--ignore-eos", "--temperature=1",
               f"--seed={seed}", "-n", str(TOKENS), "--ids", ",".join(map(str, PROMPT))]
    for name in ("u", "v", "ua", "va"):
        command += ["--request-output", name]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    sequence = json.loads(done.stdout)["sequences"][0]
    return {output["name"]: output["rows"] for output in sequence["outputs"]}


def in_steps(rows):
    """Returns multiples of 2^-24, for which JSON has just enough digits."""
    return [[round(number * 2 ** 24) for number in row] for row in rows]


def check(page, artifact):
    with open(page, encoding="utf8") as file:
        code = re.search(r"```python\n(.*?)```", file.read(), re.S).group(1)
    own = {}
    exec(code, own)  # pylint: disable=exec-used
    count = 0
    for seed in SEEDS:
        got = outputs(artifact, seed)
        assert len(got["u"]) == TOKENS - 1, got  # the first token comes from the prefill
        for place, rows in enumerate(zip(got["u"], got["v"], got["ua"], got["va"])):
            anchor = len(PROMPT) + place
            wanted = (own["numbers"](seed, anchor, PARENTS)
                      + own["numbers_by_anchor"](seed, anchor, len(PARENTS)))
            assert in_steps(rows) == in_steps(wanted), (seed, anchor, rows, wanted)
            count += 4 * len(PARENTS)
    print(f"{count} numbers, as the page has them")


def main():
    if sys.argv[1] == "--write":
        with open(sys.argv[3], encoding="utf8") as target, \
                open(sys.argv[2], "w", encoding="utf8") as file:
            file.write(MODEL + target.read())
    else:
        check(*sys.argv[1:])


if __name__ == "__main__":
    main()
