"""Counts how often programs dispatch the weights of a target: dispatches.py EXEC.mlir PROGRAM...

A weight belongs to the target if its name matches the pattern below. Drafters dispatch weights
that they share with the target again. Prints the number of weights for each program, and each
weight that is dispatched more than once or not at all.
"""
import re
import sys

TARGET = re.compile(r"model\.layers\.\d+\.")
REF = re.compile(r"\s*(%\d+) = exec\.ref @(\S+) : ")


def count(lines, program):
    """Returns for each of the target's weights its dispatches in the program."""
    refs, counts, inside = {}, {}, False
    for line in lines:
        if "exec.program @" in line:
            inside = f"@{program} " in line
        elif inside and (found := REF.match(line)) and TARGET.match(found[2]):
            refs[found[1]] = found[2]
            counts.setdefault(found[2], 0)
        elif inside and "exec.dispatch @" in line:
            operands = line[line.index("("):line.index(")")]
            for name in {refs[o] for o in re.findall(r"%\d+", operands) if o in refs}:
                counts[name] += 1
    return counts


def main():
    with open(sys.argv[1]) as file:
        lines = file.readlines()
    for program in sys.argv[2:]:
        counts = count(lines, program)
        print(f"{program}: {len(counts)} weights")
        for name, dispatches in counts.items():
            if dispatches != 1:
                print(f"{program}: {name} {dispatches} times")


main()
