#!/usr/bin/env python3
"""Checks that each constraint of a dialect's .td files has a test case.

usage: labels.py [ROOT]
       labels.py --table FOLDER FILE

A description lists its constraints after a line "Constraints:" as `- (C1) text`.
The label of a constraint is the mnemonic of the op or attribute and the number,
for example `per_slot_c1`. An attribute with the mnemonic of an op has labels
like `rope_attr_c1`. A constraint of the whole dialect names its subject:
`- (module_c1) text`.

Prints each label without a negative test case of its name in test/Dialect, and
exits with 1 if there is one. check_style.py runs the check, too. With --table,
writes the table of the dialect in FOLDER to FILE instead.
"""

import collections
import pathlib
import re
import sys

Constraint = collections.namedtuple("Constraint", "label text path line")

DEFINITION = re.compile(r"(def|class) +(\w+)")
OP = re.compile(r'\w*Op *<\s*"([a-z_0-9]+)"')
MNEMONIC = re.compile(r'let mnemonic = "([a-z_0-9]+)"')
ITEM = re.compile(r"\s+- \((C\d+|[a-z_]+_c\d+)\) (.*)")


class Record:
    """One `def` of a .td file: its header and its labelled lines."""

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
        """Yields (label as written, text, line) of each constraint."""
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
    """Yields the definitions of a .td file. Each starts in column 0."""
    lines = path.read_text(encoding="utf-8").splitlines()
    starts = [n for n, line in enumerate(lines) if DEFINITION.match(line)]
    for first, last in zip(starts, starts[1:] + [len(lines)]):
        yield Record(path, "\n".join(lines[first:last]), first + 1)


def td_files(folder):
    """Returns the .td files of a dialect: the dialect, its attributes, the files
    that the file of its ops includes, in that order, and the rest by name."""
    files = sorted(folder.glob("IR/**/*.td"))
    order = []
    for path in files:
        if path.name == f"{folder.name}Ops.td":
            order = re.findall(r'include ".*/(\w+\.td)"', path.read_text())
    first = ["Dialect.td", "Attrs.td"]
    place = {name: n for n, name in
             enumerate([folder.name + name for name in first] + order)}
    return sorted(files, key=lambda p: (place.get(p.name, len(place)), p.name))


def constraints(folder):
    """Returns all constraints of a dialect, in the order of its table."""
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


def dialects(root):
    """Returns the folders of all dialects."""
    return sorted(path.parent for path in root.glob("dialects/*/IR"))


def table(folder):
    """Returns the constraints of a dialect as a page."""
    rows = [f"| {c.label} | {c.text.rstrip('.').replace('|', chr(92) + '|')} |"
            for c in constraints(folder)]
    return "\n".join([f"# Constraints of `{folder.name}`", "",
                      "| label | constraint |", "|---|---|", *rows, ""])


def places(folder):
    """Yields (path, line, message) of each label and test case of a dialect
    without its counterpart."""
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
    """Yields (first line, text) of each case of a test that is split."""
    line = 1
    for case in re.split(r"^// -----$", text, flags=re.MULTILINE):
        yield line, case
        line += case.count("\n")


def main():
    if sys.argv[1:2] == ["--table"]:
        folder, file = map(pathlib.Path, sys.argv[2:])
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(table(folder.resolve()), encoding="utf-8")
        return 0
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1
                        else pathlib.Path(__file__).parents[2])
    found = [place for folder in dialects(root) for place in places(folder)]
    for path, line, message in found:
        print(f"{path}:{line}: {message}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
