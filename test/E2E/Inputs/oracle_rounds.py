#!/usr/bin/env python3
"""Prints the rounds of a topology in an oracle's file, for models/drafters/draw.py.

  oracle_rounds.py EXPECTED.json TOPOLOGY
"""
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "oracle"))
import compare_run

with open(sys.argv[1], encoding="utf8") as file:
    run = compare_run.expected_run(json.load(file), sys.argv[2])
print(json.dumps({"rounds": run["rounds"]}))
