"""Counts the kernels of a plan report that spill or take more than half of a multiprocessor:
spills.py PLAN.json."""
import json
import sys

REGISTERS = 65536
MOST_THREADS = 1024


def registers(kernel):
    """Returns a block's registers: a warp gets units of 256, 8 per thread."""
    return (kernel["registers"] + 7) // 8 * 8 * kernel["threads"]


def is_large(kernel):
    return not 0 < kernel["threads"] <= MOST_THREADS or registers(kernel) > REGISTERS // 2


def is_faulty(kernel):
    return kernel["spill_bytes"] or kernel["stack_bytes"] or is_large(kernel)


def main():
    with open(sys.argv[1]) as file:
        kernels = json.load(file)["gpu_kernels"]
    for kernel in filter(is_faulty, kernels):
        print(kernel)
    spill = sum(1 for k in kernels if k["spill_bytes"])
    stack = sum(1 for k in kernels if k["stack_bytes"])
    large = sum(map(is_large, kernels))
    print(f"{len(kernels)} kernels, {spill} spill, {stack} need a stack, "
          f"{large} take more than half of a processor")


if __name__ == "__main__":
    main()
