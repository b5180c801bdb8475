#!/usr/bin/env python3
"""Draws the report of `mtp-bench --json` as an SVG: the rounds of the first batch and context, the
kernels of the largest k, and how time grows with rows, context and batch.

An axis is linear: most quantities grow by an equal amount per row or token, which gives a straight
line.
"""

import argparse
import json
import math
import re
import sys
from xml.sax import saxutils

WIDTH, EDGE, RIGHT, MARGIN, BAR = 760, 20, 190, 40, 20
# The smallest left edge of bars and axes, and the height of a chart.
LEAST_LEFT, CHART_HEIGHT = 110, 200
# The left end of a legend, unless the title is longer.
LEGEND = 330
# Space between labels, and between an axis' end and its first point.
GAP, INSET = 8, 20
# The width of a bold title relative to plain text.
BOLD = 1.3
# Kernels with a smaller share of the time are drawn as one.
LEAST_SHARE = 0.01
COLORS = 8

STYLE = """<style>
text { font: 12px sans-serif; fill: #1f2328 }
.title { font-size: 14px; font-weight: bold }
.muted { fill: #59636e }
.ground { fill: #ffffff }
.grid { stroke: #d1d9e0; stroke-width: 1 }
.mark { stroke: #1f2328; stroke-width: 2 }
.series { fill: none; stroke: currentColor; stroke-width: 2 }
.limit { fill: none; stroke: currentColor; stroke-width: 1.5 }
.limit { stroke-dasharray: 5 4 }
.dot { fill: currentColor }
svg { color: #59636e }
.color0 { color: #2f6fc4 } .color1 { color: #e07b22 } .color2 { color: #2e8b57 }
.color3 { color: #8250c8 } .color4 { color: #c2325f } .color5 { color: #1b8a99 }
.color6 { color: #8a6d1f } .color7 { color: #59636e }
.draft { fill: #e07b22 }
.next { fill: #f0b27a }
.target { fill: #2f6fc4 }
.accept { fill: #2e8b57 }
.wait { fill: #b9c2cc }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 }
.muted { fill: #9aa4af }
.ground { fill: #0d1117 }
.grid { stroke: #30363d }
.mark { stroke: #e6edf3 }
svg { color: #9aa4af }
.color0 { color: #5b96e6 } .color1 { color: #e8913f } .color2 { color: #46a874 }
.color3 { color: #a983e6 } .color4 { color: #e6678f } .color5 { color: #4bb8c7 }
.color6 { color: #c2a24e } .color7 { color: #9aa4af }
.draft { fill: #e8913f }
.next { fill: #a8652b }
.target { fill: #5b96e6 }
.accept { fill: #46a874 }
.wait { fill: #484f58 }
}
</style>
"""


def text_width(words):
    """The width of plain text in pixels, slightly more than wide fonts take."""
    return 6.6 * len(words)


def milliseconds(seconds):
    return f"{seconds * 1e3:.3g} ms"


def share(part, whole):
    return f"{100 * part / whole if whole > 0 else 0:.0f} %"


class Svg:
    """Shapes on a canvas, in pixels from the upper left. A style is one or more classes."""

    def __init__(self):
        self.parts = []

    def add(self, name, style, content=None, **attributes):
        words = "".join(f' {key.replace("_", "-")}={saxutils.quoteattr(value)}'
                        if isinstance(value, str) else f' {key}="{value:.1f}"'
                        for key, value in attributes.items())
        if style:
            words += f' class="{style}"'
        end = "/>" if content is None else f">{content}</{name}>"
        self.parts.append(f"<{name}{words}{end}\n")

    def text(self, x, y, words, style="", anchor="start"):
        words = saxutils.escape(re.sub(r"[\x00-\x1f]", "", words))
        at = {} if anchor == "start" else {"text_anchor": anchor}
        self.add("text", style, words, x=x, y=y, **at)

    def rect(self, x, y, width, height, style, hint=None):
        self.add("rect", style, hint and f"<title>{saxutils.escape(hint)}</title>", x=x, y=y,
                 width=width, height=height)

    def line(self, x1, y1, x2, y2, style):
        self.add("path", style, d=f"M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}")

    def curve(self, points, style):
        self.add("polyline", style, points=" ".join(f"{x:.1f},{y:.1f}" for x, y in points))

    def dot(self, x, y, style, hint):
        self.add("circle", style, f"<title>{saxutils.escape(hint)}</title>", cx=x, cy=y, r="4")

    def finish(self, height):
        """Returns the document, `height` pixels high."""
        return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.1f}"'
                f' width="{WIDTH}" height="{height:.1f}">\n{STYLE}'
                f'<rect width="{WIDTH}" height="{height:.1f}" class="ground"/>\n'
                + "".join(self.parts) + "</svg>\n")


def time_of(point):
    """The time of a point's commands, which its phases divide."""
    return sum(phase["seconds"] for phase in point["phases"])


def find(report, batch, k, context):
    """The point of a batch, a k and a context, or None."""
    return next((point for point in report["points"]
                 if (point["batch"], point["k"], point["context"]) == (batch, k, context)), None)


def shown_point(report):
    """The point whose kernels are drawn: the largest k, at the first batch and context."""
    point = find(report, report["batches"][0], max(report["ks"]), report["contexts"][0])
    return point or report["points"][-1]


# A chart of growth has lines, and a line has points (place, seconds, limit) of ascending places.


def named_lines(lines):
    """The lines that have two or more points."""
    return [(name, points) for name, points in lines if len(points) > 1]


def growth_with_rows(report):
    """The target's pass at the first context: one row per slot, and one slot with its drafts."""
    points = sorted((point for point in report["points"]
                     if point["context"] == report["contexts"][0]),
                    key=lambda point: (point["rows"], point["k"]))

    def line(keeps):
        return [(point["rows"], point["target_seconds"], point["target_limit_seconds"])
                for point in points if keeps(point)]

    return "The target's pass against rows", "rows", named_lines([
        ("one row a slot", line(lambda point: point["k"] == 0)),
        ("one slot, k + 1 rows", line(lambda point: point["batch"] == 1))])


def line_of_rounds(k, places, find_at):
    """Whole rounds of k drafts at each place that was measured."""
    found = [(at, find_at(k, at)) for at in sorted(set(places))]
    return ("plain step" if k == 0 else f"k = {k}",
            [(at, point["seconds"], point["limit_seconds"]) for at, point in found if point])


def growth_with_context(report):
    """Plain steps, and rounds of the largest k measured at more than one context."""
    batch = report["batches"][0]
    lines = [line_of_rounds(k, report["contexts"],
                            lambda k, context: find(report, batch, k, context))
             for k in [0] + sorted(set(report["ks"]) - {0}, reverse=True)]
    steps = named_lines(lines[:1])
    return (f"A round against context, batch {batch}", "context, tokens in each slot",
            steps + named_lines(lines[1:])[:1])


def growth_with_batch(report):
    """Plain steps and rounds of every k. Batches that only the rows need are left out."""
    context = report["contexts"][0]
    return (f"A round against batch, context {context}", "batch, slots of a round",
            named_lines(line_of_rounds(k, report["batches"],
                                       lambda k, batch: find(report, batch, k, context))
                        for k in sorted(set(report["ks"]) | {0})))


def grid_step(most):
    """A step of 1, 2 or 5 times a power of ten that fits four to ten times into `most`."""
    power = 10 ** math.floor(math.log10(most))
    return next((factor * power for factor in (0.2, 0.5) if most <= 10 * factor * power), power)


def labels_that_fit(centers, widths):
    """The labels that fit side by side: the first, the last, and between them, from the left, each
    that touches no other. `centers` ascend."""

    def touch(a, b):
        return centers[b] - widths[b] / 2 < centers[a] + widths[a] / 2 + GAP

    kept, last = [], len(centers) - 1
    for i in range(len(centers)):
        if i in (0, last) or not touch(kept[-1], i) and not touch(i, last):
            kept.append(i)
    return kept


def draw_legend(svg, title, lines, y, right):
    """Draws the title and the names of lines; returns the position of the last line of text."""
    svg.text(EDGE, y, title, "title")
    begin = x = max(LEGEND, EDGE + BOLD * text_width(title) + 2 * GAP)
    entries = [(f"series color{i % COLORS}", name) for i, (name, _) in enumerate(lines)]
    for style, words in entries + [("limit", "limit")]:
        width = 28 + text_width(words)
        if x > begin and x + width > right:
            x, y = begin, y + 18
        svg.line(x, y - 4, x + 22, y - 4, style)
        svg.text(x + 28, y, words, "muted")
        x += width + 2 * GAP
    return y


def draw_axes(svg, axis, places, most, across, up, left, right):
    step, bottom = grid_step(most), up(0)
    for i in range(int(most / step) + 1):
        svg.line(left, up(i * step), right, up(i * step), "grid")
        svg.text(left - GAP, up(i * step) + 4, f"{i * step:g}", "muted", "end")
    svg.text(left - GAP, up(most) - 12, "ms", "muted", "end")
    centers = [across(place) for place in places]
    for i in labels_that_fit(centers, [text_width(str(place)) for place in places]):
        svg.line(centers[i], bottom, centers[i], bottom + 4, "grid")
        svg.text(centers[i], bottom + 18, str(places[i]), "muted", "middle")
    svg.text((left + right) / 2, bottom + 36, axis, "muted", "middle")


def draw_chart(svg, growth, left, right, y):
    """Draws each line with its limit, from `y` down; returns the next free position. Draws nothing
    without lines."""
    title, axis, lines = growth
    most = 1.05e3 * max((max(seconds, limit) for _, points in lines
                         for _, seconds, limit in points), default=0)
    if not most > 0:
        return y
    top = draw_legend(svg, title, lines, y, right) + 32
    places = sorted({at for _, points in lines for at, _, _ in points})

    def across(place):
        span = (place - places[0]) / (places[-1] - places[0])
        return left + INSET + span * (right - left - 2 * INSET)

    def up(value):
        return top + CHART_HEIGHT * (1 - value / most)

    draw_axes(svg, axis, places, most, across, up, left, right)
    for i, (name, points) in enumerate(lines):
        color = f"color{i % COLORS}"
        svg.curve([(across(at), up(limit * 1e3)) for at, _, limit in points], "limit " + color)
        svg.curve([(across(at), up(seconds * 1e3)) for at, seconds, _ in points],
                  "series " + color)
        for at, seconds, limit in points:
            svg.dot(across(at), up(seconds * 1e3), "dot " + color,
                    f"{name} at {at}: {milliseconds(seconds)}, {share(limit, seconds)} of limit")
    return top + CHART_HEIGHT + 64


def phase_style(name):
    """The class of a phase. Drafts alternate between two colors, so that neighbours differ."""
    if name in ("verify", "accept"):
        return {"verify": "target", "accept": "accept"}[name]
    return "draft" if name[-1:] in "13579" else "next"


def draw_box(svg, x, y, style, words):
    svg.rect(x, y - 9, 10, 10, style)
    svg.text(x + 15, y, words, "muted")


def draw_round(svg, point, left, scale, y):
    x, whole, limit = left, time_of(point), point["limit_seconds"]
    svg.text(left - GAP, y + 14, f"k = {point['k']}", anchor="end")
    for phase in point["phases"]:
        seconds = phase["seconds"]
        svg.rect(x, y, seconds * scale, BAR, phase_style(phase["name"]),
                 f"{phase['name']}: {milliseconds(seconds)}, "
                 f"{share(phase['limit_seconds'], seconds)} of limit")
        x += seconds * scale
    mark = left + limit * scale
    svg.line(mark, y - 2, mark, y + BAR + 2, "mark")
    svg.text(max(x, mark) + GAP, y + 14, f"{milliseconds(whole)}, {share(limit, whole)} of limit",
             "muted")


def draw_rounds(svg, report, left, y):
    """Draws a bar for each k, from `y` down; returns the next free position."""
    shown = shown_point(report)
    points = sorted((point for point in report["points"]
                     if (point["batch"], point["context"]) == (shown["batch"], shown["context"])),
                    key=lambda point: point["k"])
    svg.text(EDGE, y, f"A round, batch {shown['batch']}, context {shown['context']}", "title")
    draw_box(svg, 330, y, "draft", "draft")
    draw_box(svg, 400, y, "target", "verify")
    draw_box(svg, 475, y, "accept", "accept")
    svg.line(555, y - 10, 555, y + 2, "mark")
    svg.text(563, y, "limit of this machine", "muted")
    most = max(max(time_of(point), point["limit_seconds"]) for point in points)
    y += 16
    for point in points:
        draw_round(svg, point, left, (WIDTH - left - RIGHT) / most, y)
        y += BAR + 8
    return y + 28


def main_kernels(point):
    """The kernels that take time, the longest first, and the sum of the others."""
    least = LEAST_SHARE * time_of(point)
    kernels = [kernel for kernel in point["kernels"] if kernel["seconds"] >= least]
    others = [kernel for kernel in point["kernels"] if kernel["seconds"] < least]
    if others:
        keys = ("seconds", "busy_seconds", "wait_seconds", "limit_seconds")
        kernels.append({"name": "others",
                        **{key: sum(kernel[key] for kernel in others) for key in keys}})
    return kernels


def draw_kernels(svg, point, left, y):
    """Draws a bar for each kernel, from `y` down; returns the next free position."""
    kernels = main_kernels(point)
    scale = (WIDTH - left - RIGHT) / max(max(kernel["seconds"], kernel["limit_seconds"])
                                         for kernel in kernels)
    svg.text(EDGE, y, f"Its kernels, k = {point['k']}", "title")
    draw_box(svg, 330, y, "target", "running")
    draw_box(svg, 420, y, "wait", "waiting for other threads")
    y += 16
    for kernel in kernels:
        seconds, limit = kernel["seconds"], kernel["limit_seconds"]
        # Workers' means differ slightly from worker 0's time, so only the shares are drawn.
        both = kernel["busy_seconds"] + kernel["wait_seconds"]
        busy = seconds * kernel["busy_seconds"] / both if both > 0 else 0
        svg.text(left - GAP, y + 14, kernel["name"], anchor="end")
        svg.rect(left, y, busy * scale, BAR, "target")
        svg.rect(left + busy * scale, y, (seconds - busy) * scale, BAR, "wait")
        words = milliseconds(seconds)
        mark = left + limit * scale
        if limit > LEAST_SHARE * seconds:
            svg.line(mark, y - 2, mark, y + BAR + 2, "mark")
            words += f", {share(limit, seconds)} of limit"
        svg.text(max(left + seconds * scale, mark) + GAP, y + 14, words, "muted")
        y += BAR + 6
    return y + 28


def facts(report):
    """The subject and the machine of the measurement."""
    machine, estimate = report["machine"], report["estimate"]
    features = f" ({machine['features']})" if machine["features"] else ""
    lines = [f"{report['model']}: {report['weight_formats']}",
             f"{machine['processor']}{features}, {machine['processors']} processors",
             f"{machine['threads']} threads" + (", pinned" if machine["pinned"] else ""),
             f"read {machine[estimate]['bytes_per_second'] * 1e-9:.1f} GB/s",
             "fastest runs" if estimate == "fastest" else f"medians of {report['turns']} turns",
             report["producer"], report["date"]]
    return lines + ["too noisy to tell"] * machine["too_noisy_to_tell"]


def draw_caption(svg, words, y):
    """Writes the facts, wrapped into lines; returns the next free position."""
    lines = []
    for fact in words:
        joined = f"{lines[-1]}; {fact}" if lines else fact
        if lines and EDGE + text_width(joined) > WIDTH - EDGE:
            lines.append(fact)
        else:
            lines[-1:] = [joined]
    for line in lines:
        svg.text(EDGE, y - 8, line, "muted")
        y += 18
    return y


def draw(report):
    """The picture of a report."""
    svg, shown = Svg(), shown_point(report)
    left = max([LEAST_LEFT] + [EDGE + text_width(kernel["name"]) + GAP
                               for kernel in main_kernels(shown)])
    y = draw_rounds(svg, report, left, 28)
    y = draw_kernels(svg, shown, left, y)
    for growth in (growth_with_rows, growth_with_context, growth_with_batch):
        y = draw_chart(svg, growth(report), left, WIDTH - MARGIN, y)
    return svg.finish(draw_caption(svg, facts(report), y) - 8)


class Help(argparse.RawDescriptionHelpFormatter):
    """Prints options like the other tools, so that tools/docs/tool_pages.py reads them."""

    def _format_action_invocation(self, action):
        if not action.option_strings:
            return super()._format_action_invocation(action)
        return " ".join([",".join(action.option_strings)] + [action.metavar] * bool(action.metavar))


EXAMPLES = """Examples:
  mtp-bench model.bin --pin --json > round.json
  mtp-chart round.json -o round.svg
  mtp-bench model.bin --json | mtp-chart - > round.svg
"""


def read_report(path):
    """Reads a report, and fails if it has no points."""
    with sys.stdin if path == "-" else open(path, encoding="utf-8") as file:
        report = json.load(file)
    if not isinstance(report, dict) or "points" not in report:
        raise ValueError(f"{path}: expected the report of mtp-bench --json, got other JSON")
    if not report["points"]:
        raise ValueError(f"{path}: expected a report with points (--measure=decode, rows or "
                         "speculative without --ids), got none")
    return report


def main():
    parser = argparse.ArgumentParser(
        prog="mtp-chart", description="Draw the report of mtp-bench --json", epilog=EXAMPLES,
        formatter_class=Help)
    parser.add_argument("report", help="File with the report; - is standard input")
    parser.add_argument("-o", "--output", metavar="FILE",
                        help="Write the picture to this file (default: standard output)")
    args = parser.parse_args()
    try:
        picture = draw(read_report(args.report))
        if args.output:
            with open(args.output, "w", encoding="utf-8") as file:
                file.write(picture)
        else:
            print(picture, end="", flush=True)
    except (OSError, ValueError) as error:
        sys.exit(f"mtp-chart: error: {error}")


if __name__ == "__main__":
    main()
