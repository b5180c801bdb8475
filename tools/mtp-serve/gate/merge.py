"""One page of metrics from the pages of several servers, in Prometheus' text format."""

import re

SAMPLE = re.compile(r"([A-Za-z_:][\w:]*)(\{?)")


def quoted(value):
    """Returns a label's value in quotes."""
    for special, written in (("\\", r"\\"), ('"', r"\""), ("\n", r"\n")):
        value = value.replace(special, written)
    return f'"{value}"'


def labelled(line, label):
    """Returns a sample with one more label."""
    match = SAMPLE.match(line)
    if not match:
        return line
    rest = line[match.end():]
    if not match[2]:
        return f"{match[1]}{{{label}}}{rest}"
    comma = "" if rest.startswith("}") else ","
    return f"{match[1]}{{{label}{comma}{rest}"


def merged(pages):
    """Returns the metrics of all servers. `pages` has (name, text) of each. Samples get the label
    `replica` with the server's name. The samples of a metric are together, as the format asks."""
    comments, samples = {}, {}
    for name, text in pages:
        label = f"replica={quoted(name)}"
        family = ""
        for line in text.splitlines():
            if line.startswith(("# HELP ", "# TYPE ")):
                family = line.split(" ", 3)[2]
                comments.setdefault(family, {}).setdefault(line[:6], line)
            elif line and not line.startswith("#"):
                samples.setdefault(family, []).append(labelled(line, label))
    lines = []
    for family in dict.fromkeys([*comments, *samples]):
        lines += [*comments.get(family, {}).values(), *samples.get(family, [])]
    return "".join(line + "\n" for line in lines)
