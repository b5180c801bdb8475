#!/usr/bin/env python3
"""Reads the constraints that the .td of the dialects label, and writes the
tables of the dialects' README.md from them.

usage: labels.py [--write] [ROOT]

A description lists its constraints under a line "Constraints:" as
`- (C1) text`. Their label is the mnemonic of the op or attribute and the
number, as `per_slot_c1`; an attribute whose mnemonic is an op's, too, is
`rope_attr_c1`. What a whole dialect asks for names its subject itself:
`- (module_c1) text`. Prints the tables that are not so, and labels without a negative case of their
name in test/Dialect, and exits with 1 if there are any; with --write, writes
the tables first. check_style.py asks for the same.
"""

import collections
import pathlib
import re
import sys

Constraint = collections.namedtuple("Constraint", "label text path line")

BEGIN = "<!-- constraints: written by test/Style/labels.py --write -->"
END = "<!-- end of constraints -->"

DEFINITION = re.compile(r"(def|class) +(\w+)")
OP = re.compile(r'\w*Op *<\s*"([a-z_0-9]+)"')
MNEMONIC = re.compile(r'let mnemonic = "([a-z_0-9]+)"')
ITEM = re.compile(r"\s+- \((C\d+|[a-z_]+_c\d+)\) (.*)")


class Record:
    """What a .td defines in one `def`: its header and its labelled lines."""

    def __init__(self, path, text, first):
        self.path, self.first = path, first
        self.lines = text.splitlines()
        header = re.split(r"\{", text, maxsplit=1)[0]
        op = OP.search(header.split(":", 1)[-1])
        quoted = re.findall(r'"(\w+)"', header)
        mnemonic = MNEMONIC.search(text)
        self.is_op = bool(op)
        self.name = (op[1] if op else mnemonic[1] if mnemonic
                     else quoted[1] if len(quoted) > 1 else None)

    def constraints(self):
        """(label as it is written, text, line) of each constraint."""
        number = 0
        while number < len(self.lines):
            match = ITEM.fullmatch(self.lines[number])
            line = self.first + number
            number += 1
            if not match:
                continue
            words = [match[2]]
            while (number < len(self.lines) and self.lines[number].strip()
                   and not re.match(r"\s*(- |\}\])", self.lines[number])):
                words.append(self.lines[number].strip())
                number += 1
            yield match[1], " ".join(words), line


def records(path):
    """The definitions of a .td: each starts in column 0."""
    lines = path.read_text(encoding="utf-8").splitlines()
    starts = [n for n, line in enumerate(lines) if DEFINITION.match(line)]
    for first, last in zip(starts, starts[1:] + [len(lines)]):
        yield Record(path, "\n".join(lines[first:last]), first + 1)


def td_files(folder):
    """The .td of a dialect: what all begins with, then in the order in which
    the file of its ops includes them, then the rest by name."""
    files = sorted(folder.glob("IR/*.td"))
    order = []
    for path in files:
        if path.name == f"{folder.name}Ops.td":
            order = re.findall(r'include ".*/(\w+\.td)"', path.read_text())
    first = ["Dialect.td", "Attrs.td"]
    place = {name: n for n, name in
             enumerate([folder.name + name for name in first] + order)}
    return sorted(files, key=lambda p: (place.get(p.name, len(place)), p.name))


def constraints(folder):
    """All constraints of a dialect, in the order of its table."""
    found = [r for path in td_files(folder) for r in records(path)]
    ops = {r.name for r in found if r.is_op}
    result = []
    for record in found:
        suffix = "_attr" if not record.is_op and record.name in ops else ""
        for label, text, line in record.constraints():
            if re.fullmatch(r"C\d+", label):
                label = f"{record.name}{suffix}_{label.lower()}"
            result.append(Constraint(label, text, record.path, line))
    return result


def table(folder):
    rows = [f"| {c.label} | {c.text.rstrip('.').replace('|', chr(92) + '|')} |"
            for c in constraints(folder)]
    return "\n".join([BEGIN, "", "| label | constraint |", "|---|---|",
                      *rows, "", END])


def written(folder):
    """The README.md of a dialect as it should be, and as it is."""
    text = (folder / "README.md").read_text(encoding="utf-8")
    block = re.compile(re.escape(BEGIN) + ".*?" + re.escape(END), re.DOTALL)
    return block.sub(lambda _: table(folder), text), text


def places(folder):
    """What is wrong with a dialect's table and its constraints' tests, as
    (path, line, message)."""
    wanted, found = written(folder)
    if wanted != found or BEGIN not in found:
        yield (folder / "README.md", 1,
               "expected the table that test/Style/labels.py --write makes")
    tests = folder.parents[1] / "test/Dialect" / folder.name
    cases = [(path, number, case) for path in sorted(tests.glob("invalid*.mlir"))
             for number, case in split_cases(path.read_text(encoding="utf-8"))]
    known = constraints(folder)
    for constraint in known:
        if not any(named(constraint.label).search(case)
                   and "expected-error" in case for _, _, case in cases):
            yield (constraint.path, constraint.line,
                   f"expected a test case for '{constraint.label}'")
    labels = {constraint.label for constraint in known}
    for path, number, case in cases:
        for name in re.findall(r"\b[a-z_]+_c\d+(?!\d)", case):
            if name not in labels:
                yield path, number, f"expected a label of the .td, got '{name}'"


def named(label):
    return re.compile(rf"\b{label}(?!\d)")


def split_cases(text):
    """(first line, text) of each case of a test that is split."""
    line = 1
    for case in re.split(r"^// -----$", text, flags=re.MULTILINE):
        yield line, case
        line += case.count("\n")


def main():
    arguments = [a for a in sys.argv[1:] if a != "--write"]
    root = pathlib.Path(arguments[0] if arguments
                        else pathlib.Path(__file__).parents[2])
    found = []
    for readme in sorted(root.glob("dialects/*/README.md")):
        if "--write" in sys.argv:
            readme.write_text(written(readme.parent)[0], encoding="utf-8")
        found += places(readme.parent)
    for path, line, message in found:
        print(f"{path}:{line}: {message}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
