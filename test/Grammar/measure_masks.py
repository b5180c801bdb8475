#!/usr/bin/env python3
"""Measures masks beside llguidance, for MEASURED.md.

usage: measure_masks.py PROBE VOCABULARY [ROUNDS]

PROBE is mtp_grammar_probe. VOCABULARY is a wheel of `mistral-common` (PyPI), which has the
vocabulary of Tekken, 131,072 tokens. Python needs `llguidance`. Both libraries compile each schema
anew in each round and make a mask before each token of a document, in alternation. Tokens are the
longest ones of the vocabulary.
"""

import base64
import ctypes
import json
import pathlib
import subprocess
import sys
import tempfile
import time
import zipfile

import llguidance

SIZE, SPECIAL = 131072, 1000
STRING, INTEGER = {"type": "string"}, {"type": "integer"}


def strict(properties, **more):
    return {"type": "object", "properties": properties, "required": list(properties),
            "additionalProperties": False, **more}


PERSON = strict({
    "name": STRING, "age": {"type": "integer", "minimum": 0, "maximum": 150},
    "email": {"type": "string", "format": "email"},
    "role": {"enum": ["admin", "developer", "designer", "manager", "guest"]},
    "address": strict({"street": STRING, "city": STRING, "zip": {"type": "string",
                                                                 "pattern": "^[0-9]{5}$"}}),
    "tags": {"type": "array", "items": STRING, "maxItems": 8}})
PEOPLE = strict({"people": {"type": "array", "items": PERSON}})
TREE = {"$ref": "#/$defs/node", "$defs": {"node": strict({
    "label": STRING, "weight": {"type": "number"},
    "children": {"type": "array", "items": {"$ref": "#/$defs/node"}}})}}
EVENT = strict({
    "id": {"type": "string", "format": "uuid"}, "at": {"type": "string", "format": "date-time"},
    "kind": {"enum": ["created", "updated", "deleted"]},
    "summary": {"type": "string", "maxLength": 200},
    "payload": {"anyOf": [{"type": "null"}, strict({"before": STRING, "after": STRING}),
                          {"type": "array", "items": INTEGER}]}})
LOOSE = {"type": "object", "properties": {
    "title": STRING, "count": INTEGER, "ratio": {"type": "number"}, "done": {"type": "boolean"}},
    "additionalProperties": {"type": "string"}}
CALL = strict({"tool": {"const": "search"}, "arguments": strict({
    "query": STRING, "limit": INTEGER, "filters": {"type": "object"}})})
LARGE = strict({f"field_{i}_{name}": kind for i, (name, kind) in enumerate(
    [("text", STRING), ("count", INTEGER), ("state", {"enum": ["open", "closed", "pending"]}),
     ("flag", {"type": "boolean"}), ("list", {"type": "array", "items": STRING})] * 8)})

TEXT = "The quick brown fox jumps over the lazy dog, and \"quotes\" the caf\u00e9's menu.\n"
SOMEONE = {"name": "Ada Lovelace", "age": 36, "email": "ada.l@analytical-engine.org",
           "role": "developer", "address": {"street": "12 St James's Square", "city": "London",
                                            "zip": "12345"},
           "tags": ["mathematics", "first programmer", "poetry"]}
NODE = {"label": "root node", "weight": 1.5, "children": [
    {"label": f"child {i}", "weight": -0.25e3, "children": [
        {"label": TEXT, "weight": 7, "children": []}]} for i in range(4)]}


def large_document():
    values = {"text": TEXT, "count": 12345, "state": "pending", "flag": True, "list": ["a b", TEXT]}
    return {name: values[name.split("_")[2]] for name in LARGE["properties"]}


CASES = [
    (PERSON, SOMEONE), (PEOPLE, {"people": [SOMEONE] * 5}), (TREE, NODE),
    (EVENT, {"id": "2eb8aa08-aa98-11ea-b4aa-73b441d16380", "at": "2024-02-29T12:30:00.5Z",
             "kind": "updated", "summary": TEXT + "A summary of at most 200 characters.",
             "payload": {"before": TEXT * 3, "after": "short"}}),
    (LOOSE, {"title": TEXT, "count": -17, "ratio": 0.001, "done": False, "note": TEXT, "x": "y"}),
    (CALL, {"tool": "search", "arguments": {"query": TEXT, "limit": 10, "filters": {
        "a": [1, 2, {"b": None, "c": [True, "text of some length"]}], "d": TEXT}}}),
    ({"type": "object"}, {"free": NODE, "person": SOMEONE, "list": list(range(30))}),
    (LARGE, large_document()),
]


def read_vocabulary(wheel):
    with zipfile.ZipFile(wheel) as archive:
        data = json.loads(archive.read("mistral_common/data/tekken_240911.json"))
    plain = [base64.b64decode(row["token_bytes"]) for row in data["vocab"][:SIZE - SPECIAL]]
    return [b""] * SPECIAL + plain


class Tokenizer:
    """The vocabulary in the form that llguidance takes."""

    def __init__(self, pieces):
        self.tokens = [piece or b"<SPECIAL_%d>" % i for i, piece in enumerate(pieces)]
        self.special_token_ids = list(range(SPECIAL))
        self.bos_token_id, self.eos_token_id = 1, 2
        self.ids = {piece: i for i, piece in enumerate(pieces) if piece}
        self.longest = max(map(len, pieces))

    def __call__(self, text):
        text = text.encode() if isinstance(text, str) else bytes(text)
        ids = []
        while text:
            size = next(n for n in range(min(self.longest, len(text)), 0, -1)
                        if text[:n] in self.ids)
            ids.append(self.ids[text[:size]])
            text = text[size:]
        return ids


def measure_ours(probe, vocabulary, lines):
    """Returns nanoseconds of masks, and of compiling with the first mask per schema."""
    done = subprocess.run([probe, "masks", vocabulary], input=lines, capture_output=True, text=True,
                          check=True)
    masks, firsts = [], []
    for line in done.stdout.splitlines():
        if "refused" in line or ":" not in line:
            sys.exit(f"expected times, got {line[:200]}")
        compiled, first, *rest = line.split()
        firsts.append(int(compiled) + int(first))
        masks += [int(pair.split(":")[0]) for pair in rest]
    return masks, firsts


def measure_theirs(tokenizer, cases):
    masks, firsts = [], []
    buffer = ctypes.create_string_buffer(SIZE // 8)
    address = ctypes.addressof(buffer)
    for schema, ids in cases:
        begin = time.perf_counter_ns()
        matcher = llguidance.LLMatcher(tokenizer, llguidance.LLMatcher.grammar_from_json_schema(
            json.dumps(schema)))
        compiled = time.perf_counter_ns() - begin
        for index, token in enumerate(ids):
            begin = time.perf_counter_ns()
            matcher.unsafe_compute_mask_ptr(address, SIZE // 8)
            taken = time.perf_counter_ns() - begin
            if index == 0:
                firsts.append(compiled + taken)
            masks.append(taken)
            if not matcher.consume_token(token):
                sys.exit(f"llguidance refuses token {index}: {matcher.get_error()}")
    return masks, firsts


def report(name, masks, firsts):
    masks = sorted(masks)

    def at(share):
        return masks[min(len(masks) - 1, int(share * len(masks)))] / 1000

    print(f"{name}: masks {len(masks)}, p50 {at(0.5):.1f} us, p90 {at(0.9):.1f} us, "
          f"p99 {at(0.99):.1f} us, most {masks[-1] / 1000:.1f} us, "
          f"mean {sum(masks) / len(masks) / 1000:.1f} us; first mask at most "
          f"{max(firsts) / 1e6:.2f} ms")


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit("usage: measure_masks.py PROBE VOCABULARY [ROUNDS]")
    pieces = read_vocabulary(sys.argv[2])
    wrapper = Tokenizer(pieces)
    tokenizer = llguidance.LLTokenizer(llguidance.TokenizerWrapper(wrapper))
    cases = [(schema, wrapper(json.dumps(document, ensure_ascii=False)))
             for schema, document in CASES]
    lines = "".join("\t".join(["schema", json.dumps(schema).replace("\\", "\\\\"),
                               *map(str, ids)]) + "\n" for schema, ids in cases)
    ours, theirs = ([], []), ([], [])
    with tempfile.TemporaryDirectory() as work:
        vocabulary = pathlib.Path(work) / "vocabulary"
        vocabulary.write_text("".join(piece.hex() + "\n" for piece in pieces))
        for _ in range(int(sys.argv[3]) if len(sys.argv) == 4 else 5):
            for both, made in ((ours, measure_ours(sys.argv[1], str(vocabulary), lines)),
                               (theirs, measure_theirs(tokenizer, cases))):
                both[0].extend(made[0])
                both[1].extend(made[1])
    report("mtp", *ours)
    report("llguidance", *theirs)
    print("schemas of", [len(json.dumps(schema)) for schema, _ in CASES], "bytes")


if __name__ == "__main__":
    main()
