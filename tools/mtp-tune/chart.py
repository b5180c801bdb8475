#!/usr/bin/env python3
"""mtp-tune-chart REPORT: draws a report of `mtp-tune --report FILE --json` as SVG. The first
row of charts has the seconds of a round over its drafts, for each number of slots, with the
chosen k as a dot. The second row has the acceptance length over the time of a round in plain
steps: drafts pay above the diagonal. The third row has the seconds over the rows of all slots,
with a line where another program takes over. The last row has the acceptance by position and by
node of a draft tree, the best tree's nodes filled. REPORT is a file, or - for standard input."""
import argparse
import json
import sys
from html import escape

WIDTH, HEIGHT, MARGIN = 300, 220, 46
COLORS = ["#1b6ca8", "#c8553d", "#3a7d44", "#7d4f9e", "#b8860b", "#4f5d75", "#d1495b", "#00798c"]


def ticks(most):
    """Round numbers from 0 to `most`."""
    step = 10.0 ** len(str(int(most))) / 10 if most >= 1 else 0.1
    while most / step > 5:
        step *= 2
    while most / step < 2.5:
        step /= 2
    return [step * i for i in range(int(most / step) + 1)]


class Chart:
    """One chart: lines and dots in a frame with two axes."""

    def __init__(self, left, top, title, x_text, y_text, x_most, y_most):
        self.left, self.top = left + MARGIN, top + MARGIN
        self.x_most, self.y_most = x_most or 1, y_most or 1
        self.parts = [self.text(WIDTH / 2, -14, title, "middle", 13),
                      self.text(WIDTH / 2, HEIGHT + 34, x_text, "middle"),
                      self.text(-MARGIN + 8, -14, y_text, "start")]
        for value in ticks(self.x_most):
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

    def label(self, point, words, color):
        x, y = self.at(*point)
        self.parts.append(f'<text x="{x + 5:.1f}" y="{y - 5:.1f}" font-size="10" '
                          f'fill="{color}">{escape(words)}</text>')


def contexts_of(machine):
    """Decisions by context; each has several numbers of slots."""
    by_context = {}
    for decision in machine["decisions"]:
        if len(decision["alternatives"]) > 1:
            by_context.setdefault(decision["context"], []).append(decision)
    return {context: pick(decisions) for context, decisions in by_context.items()}


def pick(decisions):
    """At most one decision for each color, the first and the last among them."""
    count = min(len(decisions), len(COLORS))
    if count < 2:
        return decisions
    return [decisions[i * (len(decisions) - 1) // (count - 1)] for i in range(count)]


def cost_chart(left, top, context, decisions):
    most_k = max(a["k"] for d in decisions for a in d["alternatives"])
    most = max(a["seconds"] for d in decisions for a in d["alternatives"]) * 1e3
    chart = Chart(left, top, f"Round, context {context} and more", "drafts k", "ms", most_k,
                  most * 1.05)
    for decision, color in zip(decisions, COLORS):
        points = [(a["k"], a["seconds"] * 1e3) for a in decision["alternatives"]]
        chart.line(points, color)
        for a, point in zip(decision["alternatives"], points):
            chosen = a["k"] == decision["best_k"]
            chart.dot(point, color, 5 if chosen else 2.2,
                      f"{decision['slots']} slots, k = {a['k']}: {point[1]:.2f} ms")
        slots = decision["slots"]
        chart.label(points[-1], f"{slots} slot{'s' if slots > 1 else ''}", color)
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
    for (decision, ratio), color in zip(ratios, COLORS):
        points = [(r, a["length"]) for r, a in zip(ratio, decision["alternatives"])]
        chart.line(points, color)
        for a, point in zip(decision["alternatives"], points):
            chosen = a["k"] == decision["best_k"]
            chart.dot(point, color, 5 if chosen else 2.2,
                      f"{decision['slots']} slots, k = {a['k']}: {a['gain']:.2f} of plain steps")
        chart.label(points[-1], str(decision["slots"]), color)
    return chart.parts


def rows_chart(left, top, context, costs):
    """The cost of plain steps and rounds over their rows. A program is a range of slots for one
    k: a dashed line is where the next one begins."""
    most_rows = max(c["rows"] for c in costs)
    most = max(c["seconds"] for c in costs) * 1e3
    chart = Chart(left, top, f"Rows, context {context} and more", "rows of all slots", "ms",
                  most_rows * 1.05, most * 1.05)
    ks = sorted({c["k"] for c in costs})
    for k, color in zip(ks, COLORS):
        line = sorted((c["rows"], c["seconds"] * 1e3, c["program"]) for c in costs
                      if c["k"] == k)
        chart.line([point[:2] for point in line], color)
        for before, after in zip(line, line[1:]):
            if before[2] != after[2]:
                chart.line([(after[0], 0), after[:2]], color, "2 4")
        for rows, ms, _ in line:
            chart.dot((rows, ms), color, 2.2, f"k = {k}, {rows} rows: {ms:.2f} ms")
        chart.label(line[-1][:2], f"k {k}", color)
    return chart.parts


def rows_charts(top, cell_width, machine):
    """Charts over rows, one for each context."""
    by_context = {}
    for cost in machine["costs"]:
        by_context.setdefault(cost["context"], []).append(cost)
    # A context with a single cost says nothing about rows.
    charts = [(context, costs) for context, costs in sorted(by_context.items())
              if len({c["rows"] for c in costs}) > 1]
    return [part for column, (context, costs) in enumerate(charts)
            for part in rows_chart(column * cell_width, top, context, costs)]


# Limits of a drawn tree.
TREE_DEPTH, TREE_RANKS = 6, 4


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


def nodes_chart(left, top, report, width):
    """The measured tree. A node has the share of its parent's acceptances; the nodes of the best
    tree are filled."""
    counts = {tuple(n["path"]): n for n in report["nodes"]
              if len(n["path"]) <= TREE_DEPTH and max(n["path"]) < TREE_RANKS and n["tried"]}
    chosen = {tuple(path) for path in report["tree"]}
    places = node_places(set(counts))
    parts = [f'<text x="{left + width / 2:.1f}" y="{top + MARGIN - 14}" font-size="13" '
             'text-anchor="middle">Acceptance by node, chosen tree filled</text>']

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
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="11" stroke="{COLORS[0]}" '
                     f'fill="{COLORS[0] if inside else "white"}"><title>{escape(title)}</title>'
                     '</circle>')
        if node:
            parts.append(f'<text x="{x:.1f}" y="{y + 3:.1f}" font-size="8" text-anchor="middle" '
                         f'fill="{"white" if inside else "black"}">{rate:.2f}</text>')
    return parts


def acceptance_chart(left, top, report):
    tried, accepted = report["tried"], report["accepted"]
    chart = Chart(left, top, "Acceptance by position", "draft", "share", len(tried) + 0.5, 1)
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


def draw(report):
    """Returns a report as SVG."""
    parts, rows, most = [], 0, 1
    cell_width, cell_height = WIDTH + 2 * MARGIN + 20, HEIGHT + 2 * MARGIN + 10
    node_width = 2 * cell_width if report["nodes"] else 0
    for machine in report["machines"]:
        contexts = contexts_of(machine)
        if not contexts:
            continue
        top = 40 + 3 * rows * cell_height
        name = f"{machine['name']}, {machine['threads']} threads"
        if machine["busy"]:
            name += ", busy during the measurement"
        parts.append(f'<text x="16" y="{top - 14}" font-size="14" font-weight="bold">'
                     f"{escape(name)}</text>")
        for column, (context, decisions) in enumerate(sorted(contexts.items())):
            left = column * cell_width
            parts += cost_chart(left, top, context, decisions)
            parts += gain_chart(left, top + cell_height, context, decisions)
            most = max(most, column + 1)
        parts += rows_charts(top + 2 * cell_height, cell_width, machine)
        rows += 1
    top = 40 + 3 * rows * cell_height
    if report["tried"]:
        parts += acceptance_chart(0, top, report)
    if report["nodes"]:
        parts += nodes_chart(cell_width, top, report, node_width)
    if report["tried"] or report["nodes"]:
        top += cell_height
    width, height = max(most * cell_width, cell_width + node_width), top + 10
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
