#!/usr/bin/env python3
"""Checks texts of mtp-run with a schema and a grammar. Standard library only.

  run_grammar.py MODEL.bin

All texts end and match, and their tokens are the same without drafts, with drafts, alone and in a
batch.
"""

import json
import re
import subprocess
import sys

SCHEMA = {
    "type": "object",
    "properties": {
        "kind": {"enum": ["cat", "dog", "fox"]},
        "age": {"type": "integer", "minimum": 0, "maximum": 99},
        "names": {"type": "array", "items": {"type": "string", "maxLength": 8}, "maxItems": 2},
        "wild": {"type": "boolean"},
    },
    "required": ["kind", "age", "names", "wild"],
    "additionalProperties": False,
}
GRAMMAR = ('root ::= word (" " word){2,4} "."\n'
           'word ::= letters | "<" (letters | "<" letters ">") ">"\n'
           'letters ::= [a-z]{1,6}\n')
WORD = r"(<*[a-z]{1,6}>*)"
PROMPTS = ["Once upon a time", "The fox", "A list:", "1 2 3"]


def run(artifact, flags, prompts, k):
    command = ["mtp-run", artifact, "--json", "-n", "900", "--threads=1", "-k", str(k), *flags]
    for prompt in prompts:
        command += ["--prompt", prompt]
    result = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    return json.loads(result.stdout)["sequences"]


def is_animal(text):
    value = json.loads(text)
    assert list(value) == SCHEMA["required"], text
    assert value["kind"] in ("cat", "dog", "fox") and type(value["wild"]) is bool, text
    assert type(value["age"]) is int and 0 <= value["age"] <= 99, text
    assert len(value["names"]) <= 2 and all(len(name) <= 8 for name in value["names"]), text


def is_sentence(text):
    assert re.fullmatch(rf"{WORD}( {WORD}){{2,4}}\.", text), text
    assert text.count("<") == text.count(">"), text


def main():
    artifact = sys.argv[1]
    with open("schema.json", "w") as file:
        json.dump(SCHEMA, file)
    with open("grammar.gbnf", "w") as file:
        file.write(GRAMMAR)
    ended = accepted = 0
    for flag, matches in (("--json-schema-file=schema.json", is_animal),
                          ("--grammar-file=grammar.gbnf", is_sentence)):
        for sampling in (["--temperature=0"], ["--temperature=1", "--seed=5"]):
            flags = [flag, *sampling]
            whole = run(artifact, flags, PROMPTS, 3)
            for sequence, prompt in zip(whole, PROMPTS):
                alone, = run(artifact, flags, [prompt], 0)
                assert sequence["output_ids"] == alone["output_ids"], (flags, prompt)
                accepted += sum(sequence["accepted"])
                assert sequence["finish"] == "stop", (flags, prompt, sequence["text"])
                matches(sequence["text"])
                ended += 1
    print(f"{ended} texts match")
    print(f"{accepted} drafts accepted")


if __name__ == "__main__":
    main()
