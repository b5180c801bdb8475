"""Compares the graphs of a plan report with the graphs that gpu-check's watch saw, built for 1
and 2 slots of each k: graphs.py PLAN.json WATCH.json"""
import json
import sys

with open(sys.argv[1]) as file:
    graphs = json.load(file)["graphs"]
with open(sys.argv[2]) as file:
    built = json.load(file)["graphs"]


def count(loops, nodes):
    return sum(graph["loops"] == loops and graph["nodes"] == nodes for graph in built)


rounds = [p for p in graphs["programs"] if p["name"].startswith("decode")]
for program in rounds:
    print(f"{program['name']}: {count(False, program['most_nodes'])} graphs, "
          f"{count(True, program['most_nodes_in_loop'])} in a loop")
total = 0
for program in graphs["programs"]:
    least, most = program["n"]
    total += (most - least + 1) * (program["most_nodes"] + program.get("most_nodes_in_loop", 0))
if total == graphs["nodes_of_all"] and len(built) == 4 * len(rounds):
    print("the sum is right")
