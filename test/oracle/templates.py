#!/usr/bin/env python3
"""Compares chat templates as runtime/jinja renders them with what Jinja makes
of them in the environment that transformers sets up.

usage: templates.py RENDERER [--templates DIR] [--only NAME] [--show N]

RENDERER is mtp_template_render. The templates are the files in DIR (default:
$MTP_SHARED_DATA/templates or ../shared/data/templates, if that folder exists), and the cases of
template_cases.py. The renderer must fail exactly if Jinja raises. Exits with 77, which ctest shows
as skipped, if Python has no jinja2.
"""

import argparse
import datetime
import functools
import itertools
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import template_cases

ROOT = pathlib.Path(__file__).resolve().parents[2]
NOW = datetime.datetime(2026, 3, 5, 6, 7, 8)

try:
    import jinja2
    import jinja2.ext
    import jinja2.sandbox
except ImportError:
    print("skipped: no jinja2")
    sys.exit(77)


class Generation(jinja2.ext.Extension):
    """transformers' tag that marks the assistant's text."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        call = self.call_method("_render")
        return jinja2.nodes.CallBlock(call, [], [], body).set_lineno(line)

    def _render(self, caller):
        return caller()


class Dict:
    def __call__(self, *args, **kwargs):
        return dict(*args, **kwargs)


class TemplateNamespace(jinja2.utils.Namespace):
    def __init__(*args, **kwargs):
        self, args = args[0], args[1:]
        attributes = dict(*args, **kwargs)
        for name in attributes:
            TemplateNamespace.check(name)
        jinja2.utils.Namespace.__init__(self, attributes)

    def __setitem__(self, name, value):
        TemplateNamespace.check(name)
        jinja2.utils.Namespace.__setitem__(self, name, value)

    @staticmethod
    def check(name):
        if isinstance(name, str) and name.startswith("_"):
            raise jinja2.exceptions.SecurityError(name)


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent,
                      separators=separators, sort_keys=sort_keys)


def environment():
    """Returns the environment of transformers.utils.chat_template_utils, with a fixed clock."""
    env = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True,
        extensions=[Generation, jinja2.ext.loopcontrols])
    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = NOW.strftime
    env.globals["dict"] = Dict()
    env.globals["namespace"] = TemplateNamespace
    return env


@functools.lru_cache(maxsize=64)
def compiled(env, source):
    return env.from_string(source)


def expect(env, source, context):
    try:
        return {"text": compiled(env, source).render(**context)}
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}


def render(renderer, cases):
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        for case in cases:
            file.write(json.dumps(case) + "\n")
        file.flush()
        run = subprocess.run([renderer, file.name], capture_output=True, check=True)
    return [json.loads(line) for line in run.stdout.splitlines()]


def template_folder():
    shared = os.environ.get("MTP_SHARED_DATA", ROOT.parent / "shared" / "data")
    return pathlib.Path(shared) / "templates"


def collect(folder, only, flags):
    """Returns pairs of a name and a case."""
    cases = []
    for name, source, context in template_cases.language():
        cases.append((name, {"source": source, "context": context}))
    files = sorted(folder.glob("*.jinja")) if folder.is_dir() else []
    if not files:
        print(f"no templates in {folder}: the pieces of language alone")
    for path in files:
        source = path.read_text(encoding="utf-8")
        for shape, settings in itertools.product(template_cases.conversations(),
                                              template_cases.flags()[:flags]):
            context = {"bos_token": "<s>", "eos_token": "</s>", "tools": None,
                       "documents": None, **shape[1], **settings}
            name = f"{path.stem} {shape[0]} {settings}"
            cases.append((name, {"source": source, "context": context}))
    return [case for case in cases if only in case[0]]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("renderer")
    parser.add_argument("--templates", type=pathlib.Path, default=template_folder())
    parser.add_argument("--only", default="")
    parser.add_argument("--show", type=int, default=5)
    parser.add_argument("--flags", type=int, default=100, help="how many sets of flags")
    args = parser.parse_args()
    env = environment()
    cases = collect(args.templates, args.only, args.flags)
    got = render(args.renderer, [case for _, case in cases])
    if len(got) != len(cases):
        print(f"expected {len(cases)} results, got {len(got)}")
        return 1
    texts = differences = 0
    for (name, case), actual in zip(cases, got):
        # The default of requests.
        default = {"add_generation_prompt": True} if "messages" in case["context"] else {}
        expected = expect(env, case["source"], {**default, **case["context"]})
        texts += "text" in expected
        same = expected == actual if "text" in expected else "error" in actual
        differences += not same
        if not same and differences <= args.show:
            print(f"{name}:\n  expected {expected}\n  got      {actual}")
    print(f"{len(cases)} cases, {texts} of them texts, {differences} differ")
    return differences != 0


if __name__ == "__main__":
    sys.exit(main())
