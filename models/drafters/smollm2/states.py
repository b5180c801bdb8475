#!/usr/bin/env python3
"""Adds a function that returns the target's states to a module of mtp-import.

  states.py MODEL.mlir OUT.mlir [--rows 128] [--taps 30]

The exported function @states takes tokens, slots and positions (-1: padding) of `rows` rows, and
runs them as chunks of prompts. Its results are the residual streams that enter the layers `taps`,
f32 [rows, width] each; the number of layers names the input of the final norm.
"""

import argparse
import re

INPUTS = ("tokens", "slots", "positions")


def copies(module, rows):
    """Returns the module's private functions, for a fixed number of rows and with new names."""
    found = re.findall(r"  func\.func private @(\w+)(\(.*?\n  }\n)", module, re.S)
    out = {}
    for name, body in found:
        body = body.replace("tensor<?x", f"tensor<{rows}x")
        for other, _ in found:
            body = body.replace(f"@{other}(", f"@states_{other}(")
        out[name] = body
    return out


def with_states(module, rows, taps):
    functions = copies(module, rows)
    target = functions["target"]
    stream = re.search(r"= mtp\.embed .* -> (tensor<\S+>)", target).group(1)
    streams = re.findall(r"%(\w+) = mtp\.embed", target)
    streams += re.findall(r"%(\w+) = mtp\.apply @\w+_layer", target)
    types = ", ".join([stream] * len(taps))
    values = ", ".join("%" + streams[t] for t in taps)
    target = re.sub(r"-> \(.*\) \{\n", f"-> ({types}) {{\n", target, count=1)
    target = re.sub(
        r"    %norm_w = .*?\n    return .*?\n",
        f"    return {values} : {types}\n",
        target,
        flags=re.S,
    )
    functions["target"] = target
    ints = f"tensor<{rows}xi32>"
    inputs = ", ".join(f'%{name}: {ints} {{mtp.name = "{name}"}}' for name in INPUTS)
    results = ", ".join(f"%s#{i}" for i in range(len(taps)))
    text = "".join(f"  func.func private @states_{n}{b}" for n, b in functions.items())
    text += f"""  func.func @states({inputs}) -> ({types}) {{
    %rows = mtp.make_rows %slots, %positions : {ints}
    %s:{len(taps)} = mtp.apply @states_target(%tokens, %rows) : ({ints}, !mtp.rows) -> ({types})
    return {results} : {types}
  }}
"""
    at = module.index("  mtp.round")
    return module[:at] + text + module[at:]


def main():
    ap = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    ap.add_argument("model")
    ap.add_argument("out")
    ap.add_argument("--rows", type=int, default=128)
    ap.add_argument("--taps", default="30")
    a = ap.parse_args()
    with open(a.model, encoding="utf-8") as f:
        module = with_states(f.read(), a.rows, [int(t) for t in a.taps.split(",")])
    with open(a.out, "w", encoding="utf-8") as f:
        f.write(module)


if __name__ == "__main__":
    main()
