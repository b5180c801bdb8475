#!/usr/bin/env python3
"""Parts of a run of tools/gpu-check by calls, if each takes all its seconds: what begins in
the first, second, .. call of so many seconds.

  gpu_check_calls.py GPU_CHECK_FOLDER SECONDS
"""

import sys

sys.path.insert(0, sys.argv[1])
sys.dont_write_bytecode = True
import parts  # pylint: disable=wrong-import-position,import-error

# Unpacking, and the tables.
OWN_SECONDS = 10
rest = dict(parts.PARTS)
while rest:
    left, begun = int(sys.argv[2]) - OWN_SECONDS, []
    for name, part in rest.items():
        if left >= part.seconds:
            begun.append(name)
            left -= part.seconds
    print(" ".join(begun) or "none has room")
    if not begun:
        break
    rest = {name: part for name, part in rest.items() if name not in begun}
