"""Prints the number of nodes of a program's graph in a plan report: nodes.py PLAN.json PROGRAM.
"""
import json
import sys

with open(sys.argv[1]) as file:
    programs = json.load(file)["graphs"]["programs"]
(program,) = [p for p in programs if p["name"] == sys.argv[2]]
print(f"{program['name']}: {program['most_nodes']} nodes")
