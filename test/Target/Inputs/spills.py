"""Counts the kernels of a plan report that spill: spills.py PLAN.json."""
import json
import sys

with open(sys.argv[1]) as file:
    kernels = json.load(file)["gpu_kernels"]
for kernel in kernels:
    if kernel["spill_bytes"] or kernel["stack_bytes"]:
        print(kernel)
spill = sum(1 for k in kernels if k["spill_bytes"])
stack = sum(1 for k in kernels if k["stack_bytes"])
print(f"{len(kernels)} kernels, {spill} spill, {stack} need a stack")
