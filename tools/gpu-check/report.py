"""Output of a part: lines of JSON, which `gpu-check` collects."""

import json


def _line(**entry):
    print(json.dumps(entry), flush=True)


def report(name, value):
    """Prints a figure or a word."""
    _line(name=name, value=value)


def check(name, good, found=""):
    """Reports a condition that must hold; `found` is the observed value."""
    _line(name=name, value="yes" if good else f"NO: {found}", check=bool(good))


def data(name, value):
    """Keeps results for the tables, without printing them."""
    _line(name=name, data=value)
