#!/usr/bin/env python3
"""Compares a run with the expected results of drafters.py. Standard library only.

  compare_run.py EXPECTED.json TOPOLOGY ARTIFACT [mtp-run's flags...]

TOPOLOGY is one of the file's: chain:4, dynamic:3,4,12, dynamic:3,4,12@0.8 at a temperature, or
`static` for a list of paths. The script runs mtp-run on the prompt until the file's rounds have
emitted their tokens. It compares the tokens, the number of rounds, and the number of drafts
accepted at each depth.

Further comparisons, by flags of mtp-run:

- `--request-output seen`: the drafts of each round. `--request-output above`: the parents of a
dynamic tree's nodes. The module must have these outputs (test/E2E/Inputs/show_drafts.py).

- `--draft-rounds`, for an artifact whose rounds may stop: the nodes of each round, the accepted
path and its tokens, and the parents of a dynamic tree. An artifact does not have a static tree's
parents, so they come from the module that `--module FILE` names.

`--save FILE` writes the run's JSON.

`--near` with `--draft-rounds` allows other arithmetic, such as files of bf16, which round only
weights. Near ties of the target and the drafter may then have either result. So only the drafts of
rounds after equal texts are compared, up to the first difference of the texts. Three of four drafts
must be equal, and the texts must have a third of their tokens in common.
"""
import json
import re
import subprocess
import sys


def expected_run(expected, topology):
    for run in expected["runs"]:
        if run["topology"] == topology or topology == "static" and isinstance(run["topology"], list):
            return run
    sys.exit(f"expected a topology of {[r['topology'] for r in expected['runs']]}, got {topology}")


def by_depth(rounds, depths):
    return [sum(len(r["path"]) > d for r in rounds) for d in range(depths)]


def walk(drafts, parents, tokens):
    """Returns the path of nodes (0 is the anchor) whose drafts are a round's tokens."""
    path, node = [], 0
    for wanted in tokens:
        node = next((i for i, (parent, draft) in enumerate(zip(parents, drafts), start=1)
                     if parent == node and draft == wanted), None)
        if node is None:
            break
        path.append(node)
    return path


def drafted(drafts, parents, tokens):
    """Returns a round's drafts, parents, tokens and path, without missing drafts. A chain's parents
    if none are given."""
    count = max((i for i, token in enumerate(drafts, start=1) if token >= 0), default=0)
    drafts, parents = drafts[:count], (parents or [])[1:count + 1] or list(range(count))
    return {"drafts": drafts, "parents": parents, "tokens": tokens,
            "path": walk(drafts, parents, tokens[:-1])}


def drafted_rounds(rounds, run, module):
    """Returns the drafted and the expected rounds of a run. `module` is a file or None."""
    static = None
    if isinstance(run["topology"], list):
        static = static_parents(module) if module else run["rounds"][0]["parents"]
    got = [drafted(r["drafts"], r.get("parents", static), r["tokens"]) for r in rounds]
    wanted = [drafted(r["tokens"][1:], r["parents"], r["emitted"]) for r in run["rounds"]]
    for theirs, round_ in zip(wanted, run["rounds"]):
        theirs["path"] = round_["path"]
    return got, wanted


def static_parents(module):
    """Returns the parents of the tree that a module's round verifies."""
    with open(module, encoding="utf8") as file:
        return json.loads(re.search(r"mtp\.verify %\S+ tree (\[[^]]*])", file.read()).group(1))


def take(command, flag):
    """Removes a flag with a value from a command and returns the value, or None."""
    if flag not in command:
        return None
    at = command.index(flag)
    value = command[at + 1]
    del command[at:at + 2]
    return value


def by_place(rounds):
    """Returns the drafts of each round by the number of tokens emitted before it."""
    found, place = {}, 0
    for round_ in rounds:
        found[place] = round_["drafts"]
        place += len(round_["tokens"])
    return found


def nearly(got, wanted):
    """Returns lines for differences that are more than near ties."""
    texts = list(zip(got["output_ids"], wanted["output_ids"]))
    common = next((i for i, (mine, theirs) in enumerate(texts) if mine != theirs), len(texts))
    mine, theirs = by_place(got["draft_rounds"]), by_place(wanted["draft_rounds"])
    # The first token is part of the prompt.
    places = [place for place in mine if place in theirs and place < common]
    equal = sum(mine[place] == theirs[place] for place in places)
    if common * 3 >= len(texts) and len(places) >= 4 and equal * 4 >= len(places) * 3:
        return []
    return [f"expected nearly the oracle's text and drafts, got {common} of {len(texts)} tokens and "
            f"the drafts of {equal} of {len(places)} rounds"]


def compare(prompt, run, artifact, flags):
    """Returns lines for all differences; empty if there are none."""
    emitted = [t for r in run["rounds"] for t in r["emitted"]]
    count = 1 + len(emitted)   # the first token is part of the prompt
    sampling = ["--temperature", "0"]
    if "temperature" in run:
        sampling = ["--temperature", str(run["temperature"]), "--seed", str(run["seed"]),
                    "--top-k", "0", "--top-p", "1", "--min-p", "0", "--ignore-eos"]
    command = ["mtp-run", artifact, "--json", "--threads=1", *sampling, "-n", str(count), "--ids",
               ",".join(map(str, prompt["prompt"])), *flags]
    save, module = take(command, "--save"), take(command, "--module")
    command = [part for part in command if part != "--near"]
    result = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    if save:
        with open(save, "wb") as file:
            file.write(result.stdout)
    got = json.loads(result.stdout)["sequences"][0]
    wanted = {"output_ids": run.get("text", prompt["greedy"])[:count], "slot_rounds": len(run["rounds"]),
              "accepted": by_depth(run["rounds"], len(got["accepted"]))}
    assert wanted["output_ids"][1:] == emitted
    for name, shown, of in (("drafts", "seen", "tokens"), ("parents", "above", "parents")):
        if shown in flags:
            got[name] = next(o["rows"] for o in got["outputs"] if o["name"] == shown)
            most = len(got[name][0])
            wanted[name] = [(r[of][1:] + [-1] * most)[:most] for r in run["rounds"]]
    if "--draft-rounds" in flags:
        got["draft_rounds"], wanted["draft_rounds"] = drafted_rounds(got["draft_rounds"], run, module)
    if "--near" in flags:
        return nearly(got, wanted)
    return [f"{key}: expected {value}, got {got[key]}" for key, value in wanted.items()
            if got[key] != value]


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    with open(sys.argv[1], encoding="utf8") as f:
        x = json.load(f)
    differences = []
    for prompt in x.get("prompts", [x]):
        differences += compare(prompt, expected_run(prompt, sys.argv[2]), sys.argv[3], sys.argv[4:])
    if differences:
        sys.exit("\n".join(differences))


if __name__ == "__main__":
    main()
