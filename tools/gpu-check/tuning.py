"""A profile of mtp-tune on the machine, and the predictions for it."""

import json
import os

from report import check, data, report


# The share of all rounds that accept each draft; random weights accept none.
ACCEPTANCE = (0.85, 0.72, 0.6, 0.5)


def best_k(seconds):
    """Returns the k with the most tokens per second, from the time of each k."""
    return max(seconds, key=lambda k: (1 + sum(ACCEPTANCE[:k])) / seconds[k])


def compare_predictions(kit, name, path, measured_on, flags):
    """Compares measured rounds with the predictions of mtp-tune --simulate, for an H100 if the
    machine has no file of its own."""
    costs = measured_on["costs"]
    own = "h200" if "H200" in measured_on["name"] else "h100"
    machine = os.path.join(kit.folder, "machines", f"{own}.json")
    report(f"{name}: machine of the predictions", own)
    output = kit.output("mtp-tune", path, f"--simulate={machine}", "--json", *flags)
    predicted = {(r["batch"], r["k"]): r["seconds"] for r in json.loads(output)["rounds"]}
    by_slots = {}
    # A profile also has the shapes that rounds with padding rows may use.
    for cost in costs:
        if (cost["slots"], cost["k"]) in predicted:
            by_slots.setdefault(cost["slots"], {})[cost["k"]] = cost["seconds"]
    for slots, measured in sorted(by_slots.items()):
        what = f"{name}: slots {slots}"
        for k, seconds in sorted(measured.items()):
            report(f"{what}, k {k}: us", seconds * 1e6)
            report(f"{what}, k {k}: R", seconds / measured[0])
            report(f"{what}, k {k}: predicted us over measured",
                   predicted[slots, k] / seconds)
        report(f"{what}: best k", best_k(measured))
        report(f"{what}: best k of the prediction",
               best_k({k: predicted[slots, k] for k in measured}))


def record_machine(name, machine):
    """Checks that the profile names the GPU's driver and clocks, and reports the choice of rounds
    per launch."""
    key = [machine.get(of, 0) for of in ("driver", "clock", "memory_clock")]
    check(f"{name}: the profile names driver and clocks", all(key), key)
    launches = machine.get("launches")
    check(f"{name}: launches of several numbers of rounds", bool(launches), launches)
    if not launches:
        return
    for option in launches["alternatives"]:
        what = f"{name}: {option['rounds']} rounds per launch"
        report(f"{what}: us of a round", option["seconds"] * 1e6)
        report(f"{what}: rate over that of {launches['default_rounds']}", option["gain"])
    report(f"{name}: best rounds per launch", launches["rounds"])


def run(kit, generate):
    """Measures a profile with mtp-tune, compares it with predictions, and checks that tokens do
    not depend on it. `generate` returns the tokens of some sequences, and the number of rounds
    with padding rows."""
    for name in ("mimo-7b", "tiny"):
        if name not in kit.models:
            continue
        path, profile = kit.fill(name), os.path.join(kit.scratch, f"{name}.profile")
        shapes = (["--batch=1,2", "--context=16"] if kit.simulated else
                  ["--batch=1,2,4,8", "--context=512"])
        tokens, minutes = (2, 4) if kit.simulated else (96, 1)
        found = json.loads(kit.output(
            "mtp-tune", path, "--device=cuda", "-o", profile, "--json",
            f"--minutes={minutes}", f"--max-tokens={tokens}", *shapes))
        check(f"{name}: a profile of one machine", len(found["machines"]) == 1,
              len(found["machines"]))
        report(f"{name}: busy", found["machines"][0]["busy"])
        record_machine(name, found["machines"][0])
        data("tune", {**found, "model": name})
        compare_predictions(kit, name, path, found["machines"][0], shapes)
        plain, _ = generate(kit, path, 0)
        tuned, _ = generate(kit, path, "auto", f"--profile={profile}")
        check(f"{name}: -k auto with the profile gives k = 0's tokens", tuned == plain,
              f"{tuned} for {plain}")
        # Three sequences run in graphs of more slots.
        padded, rounds = generate(kit, path, 2,
                                  f"--capture-sizes={2 if kit.simulated else 4}")
        check(f"{name}: rounds with padding rows give k = 0's tokens",
              rounds > 0 and padded == plain, f"{padded} for {plain}, {rounds} rounds")
        os.remove(path)
