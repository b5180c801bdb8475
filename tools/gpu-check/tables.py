"""Tables of a run, in Markdown, with the goals beside them.

  tables.py RESULTS_JSON
"""

import json
import math
import re
import sys

# Share of the copy's rate of a plain step of one row.
STEP_GOALS = {"llama-1b": 0.80, "llama-8b": 0.90, "llama-8b-int8": 0.85, "llama-8b-int4": 0.80}
# A step of so many rows over a step of one.
ROW_GOALS = {4: 1.05, 8: 1.10}
R_GOAL = 1.05
# With a draft vocabulary of 32,000: what a draft may add to R.
R_PER_DRAFT = 0.07
ATTENTION_GOALS = {"attention-gqa": 0.85, "attention-mla": 0.6}
BASELINE_GOALS = {"llama-1b": 1.3, "llama-8b": 1.1}
# With drafts, over PyTorch's plain step.
DRAFTED_GOAL = 1.5
START_GOAL = 1.0


def number(value, digits=2):
    return "-" if value is None else f"{value:.{digits}f}"


def base(model):
    """The name without how it was run ("llama-1b, in the loop")."""
    return model.split(",")[0]


def against(value, goal, most=False, digits=2):
    """A value beside its goal."""
    if goal is None or value is None:
        return number(value, digits)
    good = value <= goal if most else value >= goal
    sign = "<=" if most else ">="
    return f"{value:.{digits}f} ({'' if good else 'not '}{sign} {goal:.2f})"


class Tables:
    def __init__(self, results):
        self.entries = results["entries"]
        self.lines = []
        self.benches = [e["data"] for e in self.entries if e["name"] == "bench"]

    def table(self, title, head, rows):
        if not rows:
            return
        self.lines += [title, "", f"| {' | '.join(head)} |", "|" + "---|" * len(head),
                       *(f"| {' | '.join(row)} |" for row in rows), ""]

    def value(self, part, name):
        found = [e["value"] for e in self.entries
                 if e["part"] == part and e["name"] == name and "value" in e]
        return found[-1] if found else None

    def points(self):
        """(model, rate of the copy, point) of all runs."""
        for bench in self.benches:
            rate = bench["machine"]["median"]["bytes_per_second"]
            for point in bench["points"]:
                yield bench["model"], rate, point

    def checks(self):
        rows = {}
        for entry in self.entries:
            if "check" in entry and entry["name"] != "ended":
                counts = rows.setdefault(entry["part"], [0, []])
                counts[0] += 1
                if not entry["check"]:
                    counts[1].append(entry["name"])
        self.table("Checks", ["part", "checks", "failed"],
                   [[part, str(count), "; ".join(failed) or "none"]
                    for part, (count, failed) in rows.items()])

    def steps(self):
        rows = []
        first = {}
        for model, rate, point in self.points():
            if point["k"] != 0:
                continue
            place = (model, point["context"])
            if point["rows"] == 1:
                first.setdefault(place, point["seconds"])
            share = point["bytes"] / point["seconds"] / rate
            over = point["seconds"] / first[place] if place in first else None
            goal = STEP_GOALS.get(base(model)) if point["rows"] == 1 else None
            row_goal = ROW_GOALS.get(point["rows"]) if base(model) == "llama-8b" else None
            rows.append([model, str(point["context"]), str(point["rows"]),
                         number(point["seconds"] * 1e6, 0), against(share, goal),
                         against(over, row_goal, most=True)])
        self.table("Steps without drafts, share of the copy (goal)",
                   ["model", "context", "rows", "us", "share", "over 1 row"], rows)

    def rounds(self):
        rows = []
        for bench in self.benches:
            for s in bench["speculative"]:
                if s["k"] == 0 or "attention" in bench["model"]:
                    continue
                few = "drafts-32k" in bench["model"]
                rows.append([bench["model"], str(s["batch"]), str(s["k"]),
                             number(s["seconds_per_round"] * 1e6, 0),
                             against(s["r"], 1 + R_PER_DRAFT * s["k"] if few else None,
                                     most=True),
                             against(s["r"] / s["r_at_limit"], R_GOAL, most=True),
                             number(s["speedup"])])
        self.table("Rounds: R, over R at the limits (goal), and tokens over k = 0 at the given "
                   "acceptance",
                   ["model", "batch", "k", "us", "R", "over the limit", "speed"], rows)

    def attention(self):
        rows = []
        for model, rate, point in self.points():
            kinds = [k for k in point["kernels"] if "attention" in k["name"]]
            seconds = sum(k["seconds"] for k in kinds)
            if "attention" in model and seconds > 0:
                share = sum(k["bytes"] for k in kinds) / seconds / rate
                goal = ATTENTION_GOALS.get(model) if point["batch"] > 1 else None
                rows.append([model, str(point["batch"]), str(point["context"]),
                             str(point["k"] + 1), number(seconds * 1e6, 0),
                             against(share, goal)])
        self.table("Attention, its kernels alone, one by one: share of the copy (goal)",
                   ["model", "slots", "context", "rows of a window", "us", "share"], rows)

    def kernels(self):
        rows = []
        for model, rate, point in self.points():
            if point["batch"] != 1 or "attention" in model:
                continue
            whole = sum(k["seconds"] for k in point["kernels"])
            kinds = sorted(point["kernels"], key=lambda k: -k["seconds"])[:4]
            rows.append([f"{model}, k {point['k']}", number(whole / point["seconds"]),
                         *(f"{k['name']} {k['seconds'] / whole:.2f}"
                           + (f" (share {k['bytes'] / k['seconds'] / rate:.2f})"
                              if k["bytes"] and k["seconds"] else "") for k in kinds)])
        self.table("Where the time goes, kernels one by one (over the time of the graph)",
                   ["model", "sum", "most", "", "", ""],
                   [row + [""] * (6 - len(row)) for row in rows])

    def products(self):
        rows, ratios = [], {}
        for entry in self.entries:
            match = re.match(r"(.*), rows (\d+): share$", entry["name"])
            if not match or "value" not in entry:
                continue
            name, tokens = match[1], match[2]
            us = self.value("products", f"{name}, rows {tokens}: us")
            library = self.value("products", f"{name}, rows {tokens} us, best")
            if library:
                ratios.setdefault(tokens, []).append(library / us)
            rows.append([name, tokens, number(us, 1), number(entry["value"]),
                         number(library and library / us)])
        for tokens, values in ratios.items():
            mean = math.exp(sum(map(math.log, values)) / len(values))
            rows.append(["geometric mean", tokens, "", "", against(mean, 1.0)])
        self.table("Products in a chain, cold weights: share of the copy, and times faster than "
                   "cuBLASLt's best (goal)",
                   ["product", "rows", "us", "share", "faster"], rows)

    def baseline(self):
        rows = []
        own = {model: point["seconds"] * 1e6 for model, _, point in self.points()
               if point["k"] == 0 and point["batch"] == 1}
        for model, goal in [*BASELINE_GOALS.items(), ("tiny", None)]:
            us = self.value("baseline", f"{model}: us")
            if us:
                ratio = us / own[model] if model in own else None
                rows.append([model, number(us, 0),
                             number(self.value("baseline", f"{model}: share")),
                             against(ratio, goal)])
        for bench in self.benches:
            us = self.value("baseline", f"{base(bench['model'])}: us")
            speeds = [s["tokens_per_second"] for s in bench["speculative"]
                      if s["batch"] == 1 and s["k"] > 0 and s["tokens_per_second"]]
            if us and speeds:
                rows.append([f"{bench['model']}, the best k", number(us, 0), "",
                             against(max(speeds) * us / 1e6, DRAFTED_GOAL)])
        self.table("PyTorch's step of the same shape, and times the tokens of it (goal)",
                   ["model", "us", "its share", "faster"], rows)

    def starts(self):
        rows = []
        for entry in self.entries:
            match = re.match(r"(.*): seconds from start to first token$", entry["name"])
            if match:
                size = self.value(entry["part"], f"{match[1]}: GB of artifact")
                goal = START_GOAL if match[1] == "llama-8b" else None
                # The copy of the weights, at what PCIe 5 with 16 lanes gives in practice.
                rest = entry["value"] - size / 50
                rows.append([match[1], number(size, 1), number(entry["value"]),
                             against(rest, goal, most=True)])
        self.table("From the start of mtp-run to the first token, the file in memory; less the "
                   "copy of the weights at 50 GB/s (goal)",
                   ["model", "GB", "s", "less the copy"], rows)

    def ends(self):
        rows = [[e["part"], str(e["value"])] for e in self.entries
                if e["name"] in ("ended", "not run", "skipped")]
        self.table("Parts", ["part", "ended after"], rows)


def make(results):
    tables = Tables(results)
    tables.lines += [f"{results['date']}, commit {results['commit']}, {results['chip']}", ""]
    for bench in tables.benches[:1]:
        tables.lines += [bench["machine"]["processor"], ""]
    for write in (tables.checks, tables.steps, tables.rounds, tables.attention, tables.baseline,
                  tables.starts, tables.products, tables.kernels, tables.ends):
        write()
    return "\n".join(tables.lines)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with open(sys.argv[1], encoding="utf-8") as results_file:
        print(make(json.load(results_file)))
