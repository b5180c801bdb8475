"""Compares the two plans of an artifact as mtp-dump --json prints it.

  python3 compare_plans.py DUMP.json

Prints which weights both plans have at the same place, and which each plan has alone. Checks
that no segment has bytes that no plan names.
"""
import json
import sys

with open(sys.argv[1]) as file:
    dump = json.load(file)
toy, cpu = dump["plans"]


def places(plan):
    return {b["name"]: (b["segment"], b["offset"], b["bytes"])
            for kind in ("weights", "constants") for b in plan[kind]}


a, b = places(toy), places(cpu)
assert a.keys() == b.keys(), a.keys() ^ b.keys()
shared = sorted(name for name in a if a[name] == b[name])
own = sorted(name for name in a if a[name] != b[name])
for name in own:
    assert a[name][0] != b[name][0], f"{name} is in one segment twice"
for name in shared:
    print("shared", name)
for name in own:
    print("own", name)

# Each byte belongs to one blob, except padding.
for number, segment in enumerate(dump["segments"]):
    if segment["kind"] not in ("Weights", "Constants"):
        continue
    blobs = sorted({p[1:] for plan in (a, b) for p in plan.values()
                    if p[0] == number})
    end = 0
    for offset, size in blobs:
        assert offset == (end + 63) // 64 * 64, (number, offset, end)
        end = offset + size
    assert end == segment["bytes"], (number, end, segment)
print("no byte twice")
