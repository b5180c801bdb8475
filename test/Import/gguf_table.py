#!/usr/bin/env python3
"""Compares the table of GGUF in FAMILIES.md with the error that lists the reader's architectures.

  mtp-import FILE 2>&1 | gguf_table.py FAMILIES.md
"""
import re, sys

page = open(sys.argv[1], encoding="utf8").read()


def rows(title, end):
    text = page[page.index(title):]
    lines = text[:text.index(end)].splitlines()
    return [line.split("|")[1:-1] for line in lines if line.startswith("| ")][1:]


def names(cell):
    return re.findall("`([^`]+)`", cell)


known = re.search("expected one of (.*), got", sys.stdin.read())[1].split(", ")
families = {n for row in rows("## Families", "[e, h] is") for n in names(row[0])}
table = rows("## GGUF", "`test/Import")
listed = {n for row in table if row[1].strip().startswith("`") for n in names(row[1])[:1]}
print("missing architectures:", sorted(set(known) - listed))
print("unknown architectures:", sorted(listed - set(known) - {"eagle3", "dflash"}))
print("missing families:", sorted(families - {n for row in table for n in names(row[0])}))
