#!/usr/bin/env python3
"""Prints the cases of a split test that contain a name, to run them alone.

usage: case.py FILE NAME | build/bin/mtp-opt --split-input-file --verify-diagnostics

A case is the text between two lines `// -----`. NAME is a label, a symbol or any
other word in it. The RUN lines at the head of the file have the flags.
"""

import pathlib
import re
import sys


def main():
    if len(sys.argv) != 3:
        sys.exit("case: error: expected FILE NAME")
    text = pathlib.Path(sys.argv[1]).read_text(encoding="utf-8")
    cases = [case for case in re.split(r"^// -----\n", text, flags=re.MULTILINE)
             if re.search(rf"(?<!\w){re.escape(sys.argv[2])}(?!\w)", case)]
    if not cases:
        sys.exit(f"case: error: expected a case with '{sys.argv[2]}' in {sys.argv[1]}, "
                 "found none")
    print("// -----\n".join(cases), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
