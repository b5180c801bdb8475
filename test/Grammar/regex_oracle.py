#!/usr/bin/env python3
"""Compares random regular expressions with Python's `re`.

usage: regex_oracle.py PROBE [SEED]

PROBE is mtp_grammar_probe. Each pattern is matched with texts of its characters. Nesting and texts
are short, because `re` can take exponential time.
"""

import random
import re
import subprocess
import sys

PATTERNS, TEXTS = 600, 40
ITEMS = ["a", "b", "\\d", "\\w", "\\s", "a-b", "1", "\\-", "\\."]
ATOMS = ["a", "b", "1", "-", " ", "\\.", ".", "\\d", "\\w", "\\s", "\\D", "\\W", "\\S"]
QUANTIFIERS = ["", "", "", "*", "+", "?", "{2}", "{1,}", "{0,2}", "{1,3}", "*?", "+?"]


def random_class(source):
    items = "".join(source.choice(ITEMS) for _ in range(source.randint(1, 3)))
    return f"[{source.choice(['', '', '^'])}{items}]"


def random_atom(source, depth):
    kind = source.random()
    if kind < 0.5 or depth == 0:
        return source.choice(ATOMS)
    if kind < 0.65:
        return random_class(source)
    return f"({source.choice(['', '?:'])}{random_choice(source, depth - 1)})"


def random_sequence(source, depth):
    return "".join(random_atom(source, depth) + source.choice(QUANTIFIERS)
                   for _ in range(source.randint(0, 3)))


def random_choice(source, depth):
    return "|".join(random_sequence(source, depth) for _ in range(source.choice([1, 1, 2, 3])))


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit("usage: regex_oracle.py PROBE [SEED]")
    source = random.Random(int(sys.argv[2]) if len(sys.argv) == 3 else 1)
    patterns = [random_choice(source, 2) for _ in range(PATTERNS)]
    texts = ["".join(source.choice("ab1-. ") for _ in range(source.randint(0, 5)))
             for _ in range(TEXTS)]
    lines = "".join("\t".join(["regex", pattern.replace("\\", "\\\\"), *texts]) + "\n"
                    for pattern in patterns)
    done = subprocess.run([sys.argv[1], "accept"], input=lines, capture_output=True, text=True,
                          check=True)
    answers, matches, wrong = done.stdout.splitlines(), 0, 0
    for pattern, answer in zip(patterns, answers, strict=True):
        expected = "".join(str(int(bool(re.fullmatch(pattern, text)))) for text in texts)
        matches += expected.count("1")
        if answer != expected:
            wrong += 1
            print(f"{pattern!r}: expected {expected}, got {answer}")
    print(f"{len(patterns)} patterns, {matches} matches, {wrong} patterns are wrong")
    sys.exit(bool(wrong) or matches < PATTERNS)


if __name__ == "__main__":
    main()
