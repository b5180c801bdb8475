"""Prints how many nodes the graph of a program in a plan report has: nodes.py PLAN.json PROGRAM.
"""
import json
import sys

with open(sys.argv[1]) as file:
    programs = json.load(file)["graphs"]["programs"]
(program,) = [p for p in programs if p["name"] == sys.argv[2]]
print(f"{program['name']}: {program['most_nodes']} nodes")
