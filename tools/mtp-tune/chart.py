#!/usr/bin/env python3
"""mtp-tune-chart REPORT: draws a report of `mtp-tune --report FILE --json` as SVG. The first
row of charts has the seconds of a round over its drafts, for each number of slots, with the
chosen k as a dot. The second row has the acceptance length over the time of a round in plain
steps: drafts pay above the diagonal. The third row has the seconds over the rows of all slots: a
bar crosses the line where another program begins, and a ring is a round whose slots do not all
have k drafts. Then come the seconds of passes over prompts, with the rows that a session reads
beside running sequences, and a list of all decisions with their gains over the defaults. The last
row has the acceptance by position and by node of a draft tree, the best tree's nodes filled. REPORT
is a file, or - for standard input."""
import argparse
import json
import math
import sys
from html import escape

WIDTH, HEIGHT, MARGIN = 300, 220, 46
COLORS = ["#1b6ca8", "#c8553d", "#3a7d44", "#7d4f9e", "#b8860b", "#4f5d75", "#d1495b", "#00798c"]


def ticks(most, is_whole=False):
    """Round numbers from 0 to `most`; whole ones of something that is counted."""
    step = 10.0 ** len(str(int(most))) / 10 if most >= 1 else 0.1
    while most / step > 5:
        step *= 2
    while most / step < 2.5:
        step /= 2
    if is_whole:
        step = max(1, int(step))
    return [step * i for i in range(int(most / step) + 1)]


def spread_out(places, distance, most):
    """Moves ascending places apart to at least `distance`, none of them beyond `most`."""
    moved = []
    for place in places:
        moved.append(max(place, moved[-1] + distance) if moved else place)
    for i in reversed(range(len(moved))):
        moved[i] = min(moved[i], most - distance * (len(moved) - 1 - i))
    return moved


class Chart:
    """One chart: lines and dots in a frame with two axes. If `is_whole`, x has whole numbers."""

    def __init__(self, left, top, title, x_text, y_text, x_most, y_most, is_whole=False):
        self.left, self.top = left + MARGIN, top + MARGIN
        self.x_most, self.y_most = x_most or 1, y_most or 1
        self.parts = [self.text(WIDTH / 2, -14, title, "middle", 13),
                      self.text(WIDTH / 2, HEIGHT + 34, x_text, "middle"),
                      self.text(-MARGIN + 8, -14, y_text, "start")]
        for value in ticks(self.x_most, is_whole):
            x, _ = self.at(value, 0)
            self.parts.append(self.text(x - self.left, HEIGHT + 16, f"{value:g}", "middle"))
        for value in ticks(self.y_most):
            _, y = self.at(0, value)
            self.parts.append(f'<line x1="{self.left}" x2="{self.left + WIDTH}" y1="{y:.1f}" '
                              f'y2="{y:.1f}" stroke="#ddd"/>')
            self.parts.append(self.text(-6, y - self.top + 4, f"{value:g}", "end"))

    def at(self, x, y):
        return (self.left + WIDTH * x / self.x_most, self.top + HEIGHT * (1 - y / self.y_most))

    def text(self, x, y, words, anchor, size=11):
        return (f'<text x="{self.left + x:.1f}" y="{self.top + y:.1f}" font-size="{size}" '
                f'text-anchor="{anchor}">{escape(words)}</text>')

    def line(self, points, color, dashes=""):
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in (self.at(*p) for p in points))
        self.parts.append(f'<polyline points="{path}" fill="none" stroke="{color}" '
                          f'stroke-width="1.8" stroke-dasharray="{dashes}"/>')

    def dot(self, point, color, radius, title):
        x, y = self.at(*point)
        self.parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" fill="{color}">'
                          f'<title>{escape(title)}</title></circle>')

    def ring(self, point, color, title):
        x, y = self.at(*point)
        self.parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" fill="white" '
                          f'stroke="{color}"><title>{escape(title)}</title></circle>')

    def bar(self, point, color):
        x, y = self.at(*point)
        self.parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{y - 9:.1f}" y2="{y + 9:.1f}" '
                          f'stroke="{color}" stroke-width="1.8"/>')

    def names(self, lines):
        """Names lines beside the frame, as near to their last points as there is room. Each line
        has its last point, words and a color."""
        lines = sorted(lines, key=lambda line: (self.at(*line[0])[1], -line[0][0]))
        places = spread_out([self.at(*point)[1] for point, _, _ in lines], 12, self.top + HEIGHT)
        for (_, words, color), y in zip(lines, places):
            self.parts.append(f'<text x="{self.left + WIDTH + 9}" y="{y + 3:.1f}" font-size="10" '
                              f'fill="{color}">{escape(words)}</text>')


def contexts_of(machine):
    """Decisions by context; each has several numbers of slots."""
    by_context = {}
    for decision in machine["decisions"]:
        if len(decision["alternatives"]) > 1:
            by_context.setdefault(decision["context"], []).append(decision)
    return {context: pick(decisions) for context, decisions in by_context.items()}


def pick(items):
    """At most one item for each color, the first and the last among them."""
    count = min(len(items), len(COLORS))
    if count < 2:
        return items
    return [items[i * (len(items) - 1) // (count - 1)] for i in range(count)]


def slots_text(slots):
    return f"{slots} slot{'s' if slots > 1 else ''}"


def cost_chart(left, top, context, decisions):
    most_k = max(a["k"] for d in decisions for a in d["alternatives"])
    most = max(a["seconds"] for d in decisions for a in d["alternatives"]) * 1e3
    chart = Chart(left, top, f"Round, context {context} and more", "drafts k", "ms", most_k,
                  most * 1.05, is_whole=True)
    names = []
    for decision, color in zip(decisions, COLORS):
        points = [(a["k"], a["seconds"] * 1e3) for a in decision["alternatives"]]
        chart.line(points, color)
        for a, point in zip(decision["alternatives"], points):
            chosen = a["k"] == decision["best_k"]
            chart.dot(point, color, 5 if chosen else 2.2,
                      f"{slots_text(decision['slots'])}, k = {a['k']}: {point[1]:.2f} ms")
        names.append((points[-1], slots_text(decision["slots"]), color))
    chart.names(names)
    return chart.parts


def gain_chart(left, top, context, decisions):
    ratios = [(d, [a["seconds"] / d["alternatives"][0]["seconds"] for a in d["alternatives"]])
              for d in decisions]
    most = max(max(r) for _, r in ratios)
    longest = max(a["length"] for d in decisions for a in d["alternatives"])
    chart = Chart(left, top, f"AL over R, context {context} and more", "R: round / plain step",
                  "AL", most * 1.05, longest * 1.1)
    end = min(most * 1.05, longest * 1.1)
    chart.line([(0, 0), (end, end)], "#999", "4 3")
    names = []
    for (decision, ratio), color in zip(ratios, COLORS):
        points = [(r, a["length"]) for r, a in zip(ratio, decision["alternatives"])]
        chart.line(points, color)
        for a, point in zip(decision["alternatives"], points):
            chosen = a["k"] == decision["best_k"]
            chart.dot(point, color, 5 if chosen else 2.2,
                      f"{slots_text(decision['slots'])}, k = {a['k']}: {a['gain']:.2f} of plain "
                      "steps")
        names.append((points[-1], slots_text(decision["slots"]), color))
    chart.names(names)
    return chart.parts


def full_rounds(costs):
    """The costs of rounds in which all slots have k drafts: those with the most rows."""
    most = {}
    for cost in costs:
        shape = cost["slots"], cost["k"]
        most[shape] = max(most.get(shape, 0), cost["rows"])
    return [cost for cost in costs if cost["rows"] == most[cost["slots"], cost["k"]]]


def cost_text(cost):
    return (f"{slots_text(cost['slots'])}, k = {cost['k']}, {cost['rows']} rows: "
            f"{cost['seconds'] * 1e3:.2f} ms")


def rows_chart(left, top, context, costs):
    """The cost of plain steps and rounds over their rows. A program is a range of slots for one
    k: a bar crosses the line where the next one begins."""
    most_rows = max(c["rows"] for c in costs)
    most = max(c["seconds"] for c in costs) * 1e3
    chart = Chart(left, top, f"Rows, context {context} and more",
                  "rows of all slots (bar: next program; ring: fewer drafts)", "ms",
                  most_rows * 1.05, most * 1.05, is_whole=True)
    full, names = full_rounds(costs), []
    for k, color in zip(pick(sorted({c["k"] for c in costs})), COLORS):
        for cost in costs:
            if cost["k"] == k and cost not in full:
                chart.ring((cost["rows"], cost["seconds"] * 1e3), color, cost_text(cost))
        line = sorted((c for c in full if c["k"] == k), key=lambda c: (c["rows"], c["seconds"]))
        points = [(c["rows"], c["seconds"] * 1e3) for c in line]
        chart.line(points, color)
        for before, after, point in zip(line, line[1:], points[1:]):
            if before["program"] != after["program"]:
                chart.bar(point, color)
        for cost, point in zip(line, points):
            chart.dot(point, color, 2.2, cost_text(cost))
        names.append((points[-1], f"k = {k}", color))
    chart.names(names)
    return chart.parts


def rows_of(machine):
    """The costs of rounds by context. A context with a single number of rows says nothing."""
    by_context = {}
    for cost in machine["costs"]:
        by_context.setdefault(cost["context"], []).append(cost)
    return [(context, costs) for context, costs in sorted(by_context.items())
            if len({c["rows"] for c in costs}) > 1]


def prompts_chart(left, top, machine):
    """The cost of passes over prompts: measured (dots) and predicted (line). A bar crosses the
    line at each number of rows that a session reads beside running sequences."""
    passes = sorted(machine["prefills"], key=lambda p: p["rows"])
    chart = Chart(left, top, "Passes over prompts", "rows (bar: chosen beside running sequences)",
                  "ms", passes[-1]["rows"] * 1.05,
                  max(max(p["seconds"], p["predicted"]) for p in passes) * 1.05e3, is_whole=True)
    line = [(p["rows"], p["predicted"] * 1e3) for p in passes]
    chart.line(line, COLORS[0])
    for p in passes:
        chart.dot((p["rows"], p["seconds"] * 1e3), COLORS[0], 2.2,
                  f"{p['rows']} rows: {p['seconds'] * 1e3:.2f} ms")
    chosen = {int(d["choice"]) for d in machine["readers"]
              if d["name"] == "prompt rows" and d["choice"]}
    first, last = line[0], line[-1]
    for rows in sorted(chosen):
        # The prediction is a line.
        share = (rows - first[0]) / max(last[0] - first[0], 1)
        chart.bar((rows, first[1] + share * (last[1] - first[1])), COLORS[1])
    return chart.parts


# The list of decisions: the height of a line, the characters of a name, and the places of the
# frame and of the numbers beside it.
LINE, NAME_LENGTH, GAINS_LEFT, GAINS_RIGHT, LIST_WIDTH = 16, 72, 440, 700, 860
GAIN_TICKS = [0.1, 0.2, 0.5, 1, 1.5, 2, 3, 5, 10, 20, 50]


def decision_name(decision):
    shape = f" ({decision['shape']})" if decision["shape"] else ""
    name = f"{decision['reader']}: {decision['name']}{shape}"
    if decision["choice"]:
        name += f" = {decision['choice']}"
        if decision["choice"] != decision["default"]:
            name += f", default {decision['default']}"
    return name if len(name) <= NAME_LENGTH else name[:NAME_LENGTH - 3] + "..."


def decision_result(decision):
    if not decision["choice"]:
        return "not decided"
    if decision["choice"] == decision["default"]:
        return "the default"
    if "gain" not in decision:
        return "gain unknown"
    if "doubt" not in decision:
        return f"{decision['gain']:.2f}"
    return (f"{decision['gain']:.2f} +- {decision['doubt']:.2f}, "
            f"{decision['confidence'] * 100:.1f} %")


def decisions_list(left, top, decisions):
    """All decisions with the rate over the default's: one deviation on both sides, on a
    logarithmic scale. Returns the parts and the height."""
    shown = [d for d in decisions if "gain" in d and d["choice"] != d["default"]]
    ends = [(max(d["gain"] - d.get("doubt", 0), 0.1), d["gain"] + d.get("doubt", 0))
            for d in shown]
    least = min([0.8] + [end[0] for end in ends])
    most = max([1.25] + [end[1] for end in ends])
    height = (len(decisions) + 3) * LINE

    def x_of(gain):
        share = math.log(max(gain, least) / least) / math.log(most / least)
        return left + GAINS_LEFT + (GAINS_RIGHT - GAINS_LEFT) * share

    def words(x, y, text, anchor="start", size=10, color="black"):
        return (f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" '
                f'fill="{color}">{escape(text)}</text>')

    parts = [words(left, top + LINE, "Decisions, rate over the default's", size=13),
             words(left + GAINS_RIGHT + 12, top + LINE, "gain, confidence")]
    bottom = top + (len(decisions) + 2) * LINE
    before = -math.inf
    for tick in GAIN_TICKS:
        if not least <= tick <= most or x_of(tick) - before < 24:
            continue
        before = x_of(tick)
        parts.append(f'<line x1="{before:.1f}" x2="{before:.1f}" y1="{top + LINE + 4}" '
                     f'y2="{bottom - LINE + 4}" stroke="{"#888" if tick == 1 else "#ddd"}"/>')
        parts.append(words(before, bottom, f"{tick:g}", "middle"))
    for i, decision in enumerate(decisions):
        y = top + (i + 2) * LINE
        color = COLORS[0] if decision in shown else "#777"
        parts.append(words(left, y, decision_name(decision), color=color))
        parts.append(words(left + GAINS_RIGHT + 12, y, decision_result(decision), color=color))
        if decision not in shown:
            continue
        gain, doubt = decision["gain"], decision.get("doubt", 0)
        parts.append(f'<line x1="{x_of(gain - doubt):.1f}" x2="{x_of(gain + doubt):.1f}" '
                     f'y1="{y - 3:.1f}" y2="{y - 3:.1f}" stroke="{color}" stroke-width="1.8"/>')
        parts.append(f'<circle cx="{x_of(gain):.1f}" cy="{y - 3:.1f}" r="3.5" fill="{color}">'
                     f'<title>{escape(decision["note"])}</title></circle>')
    return parts, height


# Limits of a drawn tree, the radius of a node, and the room for a leaf.
TREE_DEPTH, TREE_RANKS, RADIUS, LEAF_WIDTH = 6, 4, 11, 24


def node_places(paths):
    """The place of each node, 0 to 1 in both directions: leaves side by side."""
    places, leaves = {}, [0]

    def place(path):
        children = sorted(p for p in paths if p[:-1] == path)
        for child in children:
            place(child)
        if children:
            x = sum(places[c][0] for c in children) / len(children)
        else:
            x = leaves[0] = leaves[0] + 1
        places[path] = (x, len(path))

    place(())
    deepest = max(len(p) for p in places) or 1
    return {p: (x / (leaves[0] + 1), y / deepest) for p, (x, y) in places.items()}


def nodes_to_draw(nodes, width):
    """The nodes of the best tree first, then those that were tried most, as long as the circles
    have room beside each other. A parent comes before its children."""
    counts, leaves = {}, 0
    for node in nodes:
        path = tuple(node["path"])
        if len(path) > TREE_DEPTH or max(path) >= TREE_RANKS or not node["tried"]:
            continue
        # A first child takes the place of its parent, the only child so far.
        has_siblings = any(len(p) == len(path) and p[:-1] == path[:-1] for p in counts)
        is_added = has_siblings or not counts
        if len(path) > 1 and path[:-1] not in counts:
            continue
        if (leaves + is_added + 1) * LEAF_WIDTH > width:
            continue
        leaves += is_added
        counts[path] = node
    return counts


def nodes_chart(left, top, report, width):
    """The measured tree. A node has the share of its parent's acceptances; the nodes of the best
    tree are filled."""
    chosen = {tuple(path) for path in report["tree"]}
    order = sorted(report["nodes"], key=lambda n: (tuple(n["path"]) not in chosen, -n["tried"],
                                                   len(n["path"])))
    counts = nodes_to_draw(order, width - MARGIN)
    places = node_places(set(counts))
    title = "Acceptance by node, chosen tree filled"
    if len(counts) < len(order):
        title += f" ({len(counts)} of {len(order)} nodes)"
    parts = [f'<text x="{left + width / 2:.1f}" y="{top + MARGIN - 14}" font-size="13" '
             f'text-anchor="middle">{title}</text>']

    def at(path):
        x, y = places[path]
        return left + MARGIN + x * (width - MARGIN), top + MARGIN + 10 + y * (HEIGHT - 20)

    for path in counts:
        (x1, y1), (x2, y2) = at(path[:-1]), at(path)
        parts.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" '
                     'stroke="#bbb"/>')
    for path in [(), *counts]:
        x, y = at(path)
        inside = not path or path in chosen
        node = counts.get(path)
        rate = node["accepted"] / node["tried"] if node else 1
        title = (f"ranks {list(path)}: {node['accepted']} of {node['tried']}" if node
                 else "anchor")
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{RADIUS}" stroke="{COLORS[0]}" '
                     f'fill="{COLORS[0] if inside else "white"}"><title>{escape(title)}</title>'
                     '</circle>')
        if node:
            parts.append(f'<text x="{x:.1f}" y="{y + 3:.1f}" font-size="8" text-anchor="middle" '
                         f'fill="{"white" if inside else "black"}">{rate:.2f}</text>')
    return parts


def acceptance_chart(left, top, report):
    tried, accepted = report["tried"], report["accepted"]
    chart = Chart(left, top, "Acceptance by position", "draft", "share", len(tried) + 0.5, 1,
                  is_whole=True)
    for i, (of, kept) in enumerate(zip(tried, accepted)):
        if of == 0:
            continue
        x, y = chart.at(i + 1, kept / of)
        bottom = chart.at(0, 0)[1]
        chart.parts.append(f'<rect x="{x - 12:.1f}" y="{y:.1f}" width="24" '
                           f'height="{bottom - y:.1f}" fill="{COLORS[0]}"/>')
        chart.parts.append(f'<text x="{x:.1f}" y="{y - 4:.1f}" font-size="10" '
                           f'text-anchor="middle">{kept / of:.2f}</text>')
    return chart.parts


def draw_machine(machine, top, cell_width, cell_height):
    """Returns the parts of a machine's pictures, their width and their height."""
    contexts, by_rows = contexts_of(machine), rows_of(machine)
    name = f"{machine['name']}, {machine['threads']} threads"
    if machine["busy"]:
        name += ", busy during the measurement"
    parts = [f'<text x="16" y="{top - 14}" font-size="14" font-weight="bold">{escape(name)}</text>']
    for column, (context, decisions) in enumerate(sorted(contexts.items())):
        left = column * cell_width
        parts += cost_chart(left, top, context, decisions)
        parts += gain_chart(left, top + cell_height, context, decisions)
    for column, (context, costs) in enumerate(by_rows):
        parts += rows_chart(column * cell_width, top + 2 * cell_height, context, costs)
    height = 3 * cell_height
    # Passes of a single number of rows say nothing.
    if len({p["rows"] for p in machine["prefills"]}) > 1:
        parts += prompts_chart(0, top + height, machine)
        height += cell_height
    of_list, list_height = decisions_list(16, top + height, machine["readers"])
    return (parts + of_list, max(len(contexts), len(by_rows), 1) * cell_width,
            height + list_height)


def draw(report):
    """Returns a report as SVG."""
    parts, width = [], LIST_WIDTH
    cell_width, cell_height = WIDTH + 2 * MARGIN + 20, HEIGHT + 2 * MARGIN + 10
    node_width = 2 * cell_width if report["nodes"] else 0
    top = 40
    for machine in report["machines"]:
        if not contexts_of(machine):
            continue
        of_machine, its_width, height = draw_machine(machine, top, cell_width, cell_height)
        parts += of_machine
        width = max(width, its_width)
        top += height + 30
    if report["tried"]:
        parts += acceptance_chart(0, top, report)
    if report["nodes"]:
        parts += nodes_chart(cell_width, top, report, node_width)
    if report["tried"] or report["nodes"]:
        top += cell_height
    width, height = max(width, cell_width + node_width), top + 10
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'font-family="sans-serif"><rect width="100%" height="100%" fill="white"/>'
            f'{"".join(parts)}</svg>\n')


EXAMPLES = """Examples:
  mtp-tune --report model.profile --json | mtp-tune-chart - > tune.svg
  mtp-tune-chart report.json -o tune.svg
"""


class Help(argparse.RawDescriptionHelpFormatter):
    """Prints options like the other tools, so that tools/docs/tool_pages.py reads them."""

    def _format_action_invocation(self, action):
        if not action.option_strings:
            return super()._format_action_invocation(action)
        return " ".join([",".join(action.option_strings)] + [action.metavar] * bool(action.metavar))


def main():
    parser = argparse.ArgumentParser(
        prog="mtp-tune-chart", description="Draw a report of mtp-tune --report FILE --json as SVG",
        epilog=EXAMPLES, formatter_class=Help)
    parser.add_argument("report", help="File with the report; - is standard input")
    parser.add_argument("-o", "--output", metavar="FILE",
                        help="Write the picture to this file (default: standard output)")
    args = parser.parse_args()
    try:
        with sys.stdin if args.report == "-" else open(args.report, encoding="utf-8") as file:
            report = json.load(file)
        picture = draw(report)
    except (ValueError, KeyError, TypeError, IndexError) as error:
        sys.exit("mtp-tune-chart: error: expected a report of mtp-tune --report FILE --json, "
                 f"got one with {error!r}")
    except OSError as error:
        sys.exit(f"mtp-tune-chart: error: {error}")
    try:
        if args.output:
            with open(args.output, "w", encoding="utf-8") as file:
                file.write(picture)
        else:
            print(picture, end="", flush=True)
    except OSError as error:
        sys.exit(f"mtp-tune-chart: error: {error}")


if __name__ == "__main__":
    main()
