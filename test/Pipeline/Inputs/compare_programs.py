#!/usr/bin/env python3
"""Compares programs for ranges of n with programs for one n each.

Both files are modules after exec-bufferize. At every n of the second file's programs, the
first file's programs must have the same kernels, params, offsets and buffers, call by call,
with n inserted into their counts. With --stages the order of calls may differ, and the first
file must not have more barriers than the second.
"""

import argparse
import collections
import sys

from programs import read


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ranges")
    parser.add_argument("single")
    parser.add_argument("--stages", action="store_true")
    options = parser.parse_args()
    kernels, programs = read(options.ranges)
    single_kernels, single = read(options.single)
    bad = compared = 0
    for want in single:
        if want.least != want.most:
            sys.exit(f"expected a program for one n, got {want.name}")
        n = want.least
        found = [
            p
            for p in programs
            if (p.kind, p.sequences, p.k) == (want.kind, want.sequences, want.k)
            and p.least <= n <= p.most
            and (p.kind != "function" or p.name == want.name)
        ]
        if len(found) != 1:
            sys.exit(f"expected one program for {want.name}, got {len(found)}")
        got = found[0].calls(n, kernels, not options.stages)
        expected = want.calls(n, single_kernels, not options.stages)
        if options.stages:
            got, expected = collections.Counter(got), collections.Counter(expected)
            more = found[0].barriers(n) - want.barriers(n)
            if more > 0:
                print(f"{want.name}: {more} barriers more than by itself")
                bad += 1
        if got != expected:
            print(f"{want.name}: differs from {found[0].name} at n = {n}")
            if not options.stages:
                for a, b in zip(got, expected):
                    if a != b:
                        print(f"  got      {a}\n  expected {b}")
                        break
            bad += 1
        compared += 1
    print(f"{compared} programs compared with {len(programs)}")
    sys.exit(bad != 0 or compared == 0)


main()
