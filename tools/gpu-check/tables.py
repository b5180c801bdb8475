"""Tables of a run, in Markdown, with goals.

  tables.py RESULTS_JSON
"""

import json
import math
import re
import sys

# Goals for a plain step of one row, as a share of the copy's rate.
STEP_GOALS = {"llama-1b": 0.80, "llama-8b": 0.90, "llama-8b-int8": 0.85, "llama-8b-int4": 0.80}
# Goals for a step of n rows, relative to a step of one row.
ROW_GOALS = {4: 1.05, 8: 1.10}
R_GOAL = 1.05
# Maximum that a draft may add to R, with a draft vocabulary of 32,000.
R_PER_DRAFT = 0.07
ATTENTION_GOALS = {"attention-gqa": 0.85, "attention-mla": 0.6}
# Operations per second of an H100 SXM and an H200, dense bf16, by their data sheet.
TENSOR_OPS = 989e12
PRODUCT_SHAPES = ("wide-llama-1b", "wide-llama-8b", "wide-deepseek")
BASELINE_GOALS = {"llama-1b": 1.3, "llama-8b": 1.1}
# Goal with drafts, for the best k of each side, at one acceptance.
DRAFTED_GOAL = 1.5
START_GOAL = 1.0
# Bytes per second from the host, if not measured: PCIe 5 with 16 lanes.
HOST_RATE = 50e9
# Number of rounds in one launch of the host.
LAUNCH_ROUNDS = 16
IDLE_GOAL = 0.02
GRAPH_SECONDS_GOAL, GRAPH_MB_GOAL = 2, 500


def number(value, digits=2):
    return "-" if value is None else f"{value:.{digits}f}"


def base(model):
    """Returns the name without the way it was run ("llama-1b, in the loop")."""
    return model.split(",")[0]


def in_loop(model):
    return model.endswith(", in the loop")


def against(value, goal, most=False, digits=2):
    """Formats a value with its goal."""
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
        # Rate of a warm GPU if it was measured, else the rate in mtp-bench.
        self.copy = self.value("bandwidth", "copy GB/s, both directions")

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
        """Returns (model, rate of the copy, point) of all runs."""
        for bench in self.benches:
            rate = (self.copy * 1e9 if self.copy
                    else bench["machine"]["median"]["bytes_per_second"])
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
            looped = in_loop(model)
            goal = STEP_GOALS.get(base(model)) if looped and point["rows"] == 1 else None
            row_goal = ROW_GOALS.get(point["rows"]) if (
                looped and base(model) == "llama-8b") else None
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
                few, looped = "drafts-32k" in bench["model"], in_loop(bench["model"])
                rows.append([bench["model"], str(s["batch"]), str(s["k"]),
                             number(s["seconds_per_round"] * 1e6, 0),
                             against(s["r"], 1 + R_PER_DRAFT * s["k"] if few and looped
                                     else None, most=True),
                             against(s["r"] / s["r_at_limit"], R_GOAL if looped else None,
                                     most=True),
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
                read = sum(k["bytes"] for k in kinds) / rate
                multiplied = sum(k["ops"] for k in kinds) / TENSOR_OPS
                share = max(read, multiplied) / seconds
                goal = ATTENTION_GOALS.get(model) if point["batch"] > 1 else None
                rows.append([model, str(point["batch"]), str(point["context"]),
                             str(point["k"] + 1), number(seconds * 1e6, 0),
                             "bytes" if read >= multiplied else "operations",
                             against(share, goal)])
        self.table("Attention, its kernels alone, one by one: share of the copy, or of "
                   f"{TENSOR_OPS / 1e12:.0f} Tops, whichever takes longer (goal)",
                   ["model", "slots", "context", "rows of a window", "us", "limit", "share"],
                   rows)

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
            shape = name.removesuffix("_prepared")
            library = self.value("products", f"{shape}, rows {tokens} us, best")
            if library and name.startswith(PRODUCT_SHAPES):
                ratios.setdefault(tokens, []).append(library / us)
            rows.append([name, tokens, number(us, 1), number(entry["value"]),
                         number(library and library / us)])
        for tokens, values in ratios.items():
            mean = math.exp(sum(map(math.log, values)) / len(values))
            rows.append(["geometric mean", tokens, "", "", against(mean, 1.0)])
        self.table("Products in a chain, cold weights: share of the copy, and times faster than "
                   "cuBLASLt's best (goal)",
                   ["product", "rows", "us", "share", "faster"], rows)

    def tokens_of_baseline(self, model, acceptance):
        """Returns the tokens per second of PyTorch's best k, and that k."""
        found = []
        for k in range(len(acceptance) + 1):
            us = self.value("baseline", f"{model}, k {k}: us" if k else f"{model}: us")
            if us:
                found.append(((1 + sum(acceptance[:k])) / us * 1e6, k))
        return max(found, default=None)

    def baseline(self):
        rows = []
        own = {}
        for model, _, point in self.points():
            # The loop comes first.
            if point["k"] == 0 and point["batch"] == 1:
                own.setdefault(base(model), point["seconds"] * 1e6)
        for model in own:
            us = self.value("baseline", f"{model}: us")
            if us:
                rows.append([model, number(us, 0),
                             number(self.value("baseline", f"{model}: share")),
                             against(us / own[model], BASELINE_GOALS.get(model))])
        for bench in self.benches:
            speeds = [(s["tokens_per_second"], s["k"]) for s in bench["speculative"]
                      if s["batch"] == 1 and s["tokens_per_second"]]
            theirs = self.tokens_of_baseline(base(bench["model"]),
                                             bench["simulated_acceptance"])
            if theirs and speeds and bench["simulated_acceptance"]:
                best, k = max(speeds)
                goal = DRAFTED_GOAL if in_loop(bench["model"]) else None
                rows.append([f"{bench['model']}, k {k}, PyTorch's {theirs[1]}", "", "",
                             against(best / theirs[0], goal)])
        self.table("PyTorch's step of the same shape, and times its tokens, with drafts the best k "
                   "of each at the same acceptance (goal)",
                   ["model", "us", "its share", "faster"], rows)

    def tuning(self):
        rows = []
        for entry in self.entries:
            match = re.match(r"((.*): slots (\d+), k (\d+)): us$", entry["name"])
            if entry["part"] != "tune" or not match or "value" not in entry:
                continue
            r = self.value("tune", f"{match[1]}: R")
            ratio = self.value("tune", f"{match[1]}: predicted us over measured")
            best = self.value("tune", f"{match[2]}: slots {match[3]}: best k")
            rows.append([match[2], match[3], match[4] + (" (best)" if best == int(match[4])
                                                         else ""),
                         number(entry["value"], 0), number(r), number(ratio)])
        self.table("A profile of mtp-tune, and the predictions of mtp-tune --simulate",
                   ["model", "slots", "k", "us", "R", "predicted over measured"], rows)

    def prompts(self):
        rows = []
        for entry in self.entries:
            if entry["name"] == "prompts":
                found = entry["data"]
                rows += [[found["model"], str(prompt["tokens"]),
                          number(prompt["tokens"] / prompt["tokens_per_second"] * 1e3, 1),
                          number(prompt["tokens_per_second"], 0), found["kernels"]]
                         for prompt in found["prefill"]]
        self.table("Prompts", ["model", "tokens", "ms", "tokens/s", "products by"], rows)

    def launches(self):
        rows = []
        for entry in self.entries:
            match = re.match(r"((.*), k \d+): host launches$", entry["name"])
            if not match:
                continue
            part, what = entry["part"], match[1]
            rounds = self.value(part, f"{what}: rounds")
            gap = self.value(part, f"{what}: us of idle GPU between launches")
            idle = self.value(part, f"{what}: share of idle GPU between rounds")
            rows.append([what, str(rounds), str(entry["value"]),
                         against(entry["value"] / -(-rounds // LAUNCH_ROUNDS), 1, most=True),
                         number(gap, 0), against(idle, IDLE_GOAL, most=True, digits=3)])
        self.table("A session of one slot: launches of the host, and idle GPU by its own clock "
                   "(goal)",
                   ["model", "rounds", "launches", f"for {LAUNCH_ROUNDS} rounds",
                    "us between launches",
                    "share of idle"], rows)

    def graphs(self):
        rows = []
        for entry in self.entries:
            match = re.match(r"(.*: graphs of (.*))$", entry["name"])
            if match and "value" in entry and ": one for" not in match[2]:
                part, what = entry["part"], match[1]
                if self.value(part, f"{what}: nodes") is None:
                    continue
                rows.append([what, str(entry["value"]), str(self.value(part, f"{what}: nodes")),
                             against(self.value(part, f"{what}: seconds to build"),
                                     GRAPH_SECONDS_GOAL, most=True, digits=3),
                             against(self.value(part, f"{what}: MB of the device"),
                                     GRAPH_MB_GOAL, most=True, digits=1)])
        self.table("Graphs for every number of slots and drafts (goal)",
                   ["graphs", "number", "nodes", "s to build", "MB"], rows)

    def starts(self):
        rows = []
        rate = self.value("bandwidth", "copy from the host, GB/s")
        rate = rate * 1e9 if rate else HOST_RATE
        for entry in self.entries:
            match = re.match(r"(.*): seconds from start to first token$", entry["name"])
            if match:
                size = self.value(entry["part"], f"{match[1]}: GB of artifact")
                goal = START_GOAL if match[1] == "llama-8b" else None
                rest = entry["value"] - size * 1e9 / rate
                rows.append([match[1], number(size, 1), number(entry["value"]),
                             against(rest, goal, most=True)])
        self.table("From the start of mtp-run to the first token, the file in memory; less the "
                   f"copy of the weights at {rate / 1e9:.0f} GB/s (goal)",
                   ["model", "GB", "s", "less the copy"], rows)

    def ends(self):
        rows = [[e["part"], str(e["value"])] for e in self.entries
                if e["name"] in ("ended", "not run", "skipped")]
        self.table("Parts", ["part", "ended after"], rows)


def make(results):
    tables = Tables(results)
    tables.lines += [f"{results['date']}, commit {results['commit']}, {results['chip']}", ""]
    if results.get("gpu"):
        tables.lines += [results["gpu"], ""]
    for write in (tables.checks, tables.steps, tables.rounds, tables.attention,
                  tables.tuning, tables.baseline, tables.prompts, tables.launches,
                  tables.graphs, tables.starts, tables.products, tables.kernels, tables.ends):
        write()
    return "\n".join(tables.lines)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with open(sys.argv[1], encoding="utf-8") as results_file:
        print(make(json.load(results_file)))
