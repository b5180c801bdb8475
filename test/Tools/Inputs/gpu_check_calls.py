#!/usr/bin/env python3
"""Prints which parts of tools/gpu-check begin in the first, second, .. call if each part takes
its whole time. The first line has the time limits of a call and a part.

  gpu_check_calls.py GPU_CHECK_FOLDER
"""

import sys

sys.path.insert(0, sys.argv[1])
sys.dont_write_bytecode = True
import parts  # pylint: disable=wrong-import-position,import-error

# Unpacking, and the tables.
OWN_SECONDS = 10
rest = dict(parts.PARTS)
longest = max(part.seconds for part in rest.values())
assert longest <= parts.MOST_SECONDS, longest
print(f"{parts.SECONDS} seconds a call, at most {parts.MOST_SECONDS} for a part")
while rest:
    left, begun = parts.SECONDS - OWN_SECONDS, []
    for name, part in rest.items():
        if left >= part.seconds:
            begun.append(name)
            left -= part.seconds
    print(" ".join(begun) or "none has room")
    if not begun:
        break
    rest = {name: part for name, part in rest.items() if name not in begun}
