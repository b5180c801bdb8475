#!/usr/bin/env python3
"""mtp-tune-chart REPORT: draws a report of `mtp-tune --report FILE --json` as SVG. The first
row of charts has the seconds of a round over its drafts, for each number of slots, with the
chosen k as a dot. The second row has the acceptance length over the time of a round in plain
steps: drafts pay above the diagonal. REPORT is a file, or - for standard input."""
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
    for machine in report["machines"]:
        contexts = contexts_of(machine)
        if not contexts:
            continue
        top = 40 + 2 * rows * cell_height
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
        rows += 1
    top = 40 + 2 * rows * cell_height
    if report["tried"]:
        parts += acceptance_chart(0, top, report)
        top += cell_height
    width, height = most * cell_width, top + 10
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
