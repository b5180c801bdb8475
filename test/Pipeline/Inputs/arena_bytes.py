"""Prints the arena's bytes of programs of k = K at n = N: arena_bytes.py K N PLAN.json..."""
import json
import sys


def arena_bytes(plan, k, n):
    for program in plan["programs"]:
        least, most = program["n"]
        if program["kind"] == "decode" and program["k"] == k and least <= n <= most:
            return program["arena_bytes"]["base"] + program["arena_bytes"]["step"] * n
    raise LookupError(f"no program of k = {k} for {n}")


def main():
    k, n = int(sys.argv[1]), int(sys.argv[2])
    sizes = []
    for name in sys.argv[3:]:
        with open(name) as file:
            sizes.append(arena_bytes(json.load(file), k, n))
    for name, size in zip(sys.argv[3:], sizes):
        print(f"{name}: {size} bytes, {sizes[0] / size:.2f} times less")


if __name__ == "__main__":
    main()
