#!/usr/bin/env python3
"""Prints the list of paths in an oracle's file: static_tree.py EXPECTED.json"""
import json
import sys

with open(sys.argv[1], encoding="utf8") as file:
    runs = json.load(file)["runs"]
print(json.dumps(next(run["topology"] for run in runs if isinstance(run["topology"], list))))
