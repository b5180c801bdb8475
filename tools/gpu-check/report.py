"""What a part says: lines of JSON, which `gpu-check` collects."""

import json


def _line(**entry):
    print(json.dumps(entry), flush=True)


def report(name, value):
    """A figure or a word."""
    _line(name=name, value=value)


def check(name, good, found=""):
    """Something that must hold; `found` says what was seen instead."""
    _line(name=name, value="yes" if good else f"NO: {found}", check=bool(good))


def data(name, value):
    """Results for the tables, not printed."""
    _line(name=name, data=value)
