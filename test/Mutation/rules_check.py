#!/usr/bin/env python3
"""Runs the mutants of rules.py: rules_check.py RULES.mlir EXACT.py FOLDER"""

import pathlib
import subprocess
import sys

from rules import RULES


def run(command, folder):
    return subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False)


def check(source, exact, folder):
    folder, text = pathlib.Path(folder), pathlib.Path(source).read_text(encoding="utf-8")
    write = run([sys.executable, exact, "--write", "mutant.mlir", "mutant_rules.mlir"], folder)
    assert write.returncode == 0, write.stdout
    for name, (before, after) in {"": ("module", "module"), **RULES}.items():
        count = text.count(before)
        assert not name or count == 1, f"{name}: expected the text once, got it {count} times"
        mutant = text.replace(before, after, 1)
        (folder / "mutant_rules.mlir").write_text(mutant, encoding="utf-8")
        compiled = run(["mtpc", "mutant.mlir", "-o", "mutant.bin"], folder)
        assert compiled.returncode == 0, (name, compiled.stdout)
        ran = run([sys.executable, exact, "mutant.bin", "--few"], folder)
        said = f"{name or 'nothing wrong'}: {ran.stdout[-500:]}"
        assert (ran.returncode != 0) == bool(name), said
        assert not name or "AssertionError" in ran.stdout, said
    print(f"{len(RULES)} mistakes found out")


if __name__ == "__main__":
    check(*sys.argv[1:])
