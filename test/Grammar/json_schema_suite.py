#!/usr/bin/env python3
"""Compares the schema compiler with the JSON-Schema-Test-Suite.

usage: json_schema_suite.py PROBE [--download] [--verbose]

PROBE is mtp_grammar_probe. The suite is part of the source package of `jsonschema` on PyPI.
--download fetches the package with pip into $XDG_CACHE_HOME/mtpc/jsonschema; without it and without
the package there, the test is skipped.

A test case counts as supported if the compiler takes its schema. Then each instance must be
accepted or rejected as the suite says. Instances are written in the compiler's form: an instance
is accepted if some order of its members is, and whole numbers are written as integers. SUPPORTED
has the least number of supported cases per file.
"""

import itertools
import json
import os
import pathlib
import subprocess
import sys
import tarfile

PACKAGE = "jsonschema==4.26.0"
SKIPPED = 77
DRAFT = "draft2020-12"
MOST_ORDERS = 720

# The files of supported keywords, with the least number of cases that the compiler takes.
SUPPORTED = {
    "additionalProperties.json": 5, "allOf.json": 9, "anyOf.json": 7, "const.json": 15,
    "enum.json": 14, "exclusiveMaximum.json": 1, "exclusiveMinimum.json": 1, "items.json": 10,
    "maxItems.json": 2, "maxLength.json": 2, "maximum.json": 2, "minItems.json": 2,
    "minLength.json": 2, "minimum.json": 2, "oneOf.json": 2, "pattern.json": 2,
    "prefixItems.json": 4, "properties.json": 5, "ref.json": 12, "required.json": 5,
    "type.json": 11}

# Answers that the compiler gives on purpose: a part of the name of the test, and the reason.
EXCLUDED = {
    "is only an annotation by default": "formats are checked",
    "no validation: invalid number, but it still validates": "meta-schemas are not read",
    "valid leap second, positive": "leap seconds have no offset",
    "valid leap second, large positive": "leap seconds have no offset",
    "valid leap second, negative": "leap seconds have no offset",
    "valid leap second, large negative": "leap seconds have no offset",
    "with a leap second, with minus offset": "leap seconds have no offset",
}


def folder():
    cache = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(cache) / "mtpc" / "jsonschema"


def find_package(download):
    """Returns the source package, or None."""
    if download and not list(folder().glob("*.tar.gz")):
        folder().mkdir(parents=True, exist_ok=True)
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps",
                        "--no-binary", "jsonschema", "--dest", str(folder()), PACKAGE], check=True)
    return next(iter(sorted(folder().glob("*.tar.gz"))), None)


def read_suite(package):
    """Yields the name of a file and its cases."""
    with tarfile.open(package) as tar:
        for member in sorted(tar.getmembers(), key=lambda m: m.name):
            _, found, name = member.name.partition(f"/json/tests/{DRAFT}/")
            if found and name.endswith(".json"):
                yield name, json.load(tar.extractfile(member))


def orders(value):
    """Yields the value with the members of all its objects in each order."""
    if isinstance(value, dict):
        for names in itertools.permutations(value):
            for parts in itertools.product(*(list(orders(value[name])) for name in names)):
                yield dict(zip(names, parts))
    elif isinstance(value, list):
        for parts in itertools.product(*(list(orders(item)) for item in value)):
            yield list(parts)
    elif isinstance(value, float) and value.is_integer() and abs(value) < 2**63:
        yield int(value)
    else:
        yield value


def texts_of(instance):
    found = itertools.islice(orders(instance), MOST_ORDERS)
    return list(dict.fromkeys(json.dumps(value, ensure_ascii=False) for value in found))


def escape(text):
    for plain, escaped in (("\\", "\\\\"), ("\t", "\\t"), ("\n", "\\n"), ("\r", "\\r")):
        text = text.replace(plain, escaped)
    return text


def ask(probe, cases):
    """Returns the probe's answer for each case."""
    lines = []
    for case in cases:
        schema = json.dumps(case["schema"], ensure_ascii=False)
        texts = [text for test in case["tests"] for text in texts_of(test["data"])]
        lines.append("\t".join(["schema", escape(schema), *map(escape, texts)]))
    done = subprocess.run([probe, "accept"], input="\n".join(lines) + "\n", capture_output=True,
                          text=True, check=True, encoding="utf-8", errors="surrogatepass")
    answers = done.stdout.splitlines()
    assert len(answers) == len(cases)
    return answers


def check_case(name, case, answer):
    """Returns whether the case is supported, and the messages of wrong answers."""
    place = f"{name}: {case['description']}"
    if not set(answer) <= set("01"):
        return False, []
    wrong, position = [], 0
    for test in case["tests"]:
        count = len(texts_of(test["data"]))
        accepted = "1" in answer[position:position + count]
        position += count
        is_excluded = any(part in test["description"] for part in EXCLUDED)
        if accepted != test["valid"] and not is_excluded:
            wrong.append(f"{place}: {test['description']}: expected {test['valid']}, "
                         f"got {accepted}")
    return True, wrong


def main():
    if len(sys.argv) < 2:
        sys.exit("usage: json_schema_suite.py PROBE [--download] [--verbose]")
    verbose = "--verbose" in sys.argv
    package = find_package("--download" in sys.argv)
    if not package:
        print(f"skipped: {folder()} has no source package of jsonschema; --download fetches it")
        sys.exit(SKIPPED)
    wrong, refused, counts = [], [], {}
    for name, cases in read_suite(package):
        answers = ask(sys.argv[1], cases)
        supported = 0
        for case, answer in zip(cases, answers):
            is_supported, messages = check_case(name, case, answer)
            supported += is_supported
            wrong += messages
            if not is_supported:
                refused.append(f"{name}: {case['description']}: {answer}")
        counts[name] = (supported, len(cases))
        if supported < SUPPORTED.get(name, 0):
            wrong.append(f"{name}: expected at least {SUPPORTED[name]} supported cases, "
                         f"got {supported}")
    if verbose:
        print("\n".join(refused))
        print("\n".join(f"{name}: {a} of {b}" for name, (a, b) in counts.items()))
    print("\n".join(wrong))
    total = [sum(column) for column in zip(*counts.values())]
    print(f"{total[0]} of {total[1]} cases are supported, {len(wrong)} answers are wrong")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
