#!/usr/bin/env python3
"""Checks the memory plans of all programs of a module after exec-plan-memory.

At every n of a program, buffers that are live at the same time must not overlap, and each
buffer begins at a multiple of 64. The stages of the threads at that n decide when a buffer is
live.
"""

import sys

from programs import read


def check(program, n):
    """Returns the error at n, or nothing."""
    lives = sorted(program.lives(n), key=lambda life: life.first)
    running = []
    for life in lives:
        if life.offset % 64:
            return f"{life.value} begins at {life.offset}"
        running = [other for other in running if other.last >= life.first]
        for other in running:
            if life.offset < other.end and other.offset < life.end:
                return f"{life.value} and {other.value} share bytes"
        running.append(life)
    return None


def main():
    _, programs = read(sys.argv[1])
    plans = buffers = 0
    for program in programs:
        for n in range(program.least, program.most + 1):
            wrong = check(program, n)
            if wrong:
                sys.exit(f"{program.name} at n = {n}: {wrong}")
            plans += 1
            buffers += len(program.lives(n))
    if buffers == 0:
        sys.exit("expected programs with buffers, got none")
    print(f"{plans} plans of {len(programs)} programs, {buffers} buffers")


main()
