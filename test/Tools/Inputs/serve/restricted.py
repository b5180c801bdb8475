"""Requests whose answers are restricted by schemas, grammars, expressions, choices and bad words,
for tests under load."""
import json, re, sys

from json_check import errors_of
from serving import Server

SCHEMA = {"type": "object",
          "properties": {"kind": {"enum": ["cat", "dog"]},
                         "ages": {"type": "array", "minItems": 1, "maxItems": 3,
                                  "items": {"type": "integer", "minimum": 0, "maximum": 99}},
                         "name": {"type": "string", "pattern": "^[a-z]{2,8}$"}},
          "required": ["kind", "ages", "name"], "additionalProperties": False}
# No longer token of the tiny model has the words of one character.
BAD_WORDS = ["the", "E*", "v", "}"]


def is_animal(text):
    return not errors_of(SCHEMA, json.loads(text))


def has_no_bad_word(text):
    return not any(word in text for word in BAD_WORDS if len(word) == 1)


# The fields of a request, and a check of an answer that has ended.
KINDS = [({"structured_outputs": {"json": SCHEMA, "disable_any_whitespace": True}}, is_animal),
         ({"grammar": 'root ::= word (" " word){1,3} "."\n'
                      'word ::= [a-z]{2,9} | "<" [0-9]{3} ">"\n'},
          lambda text: re.fullmatch(r"([a-z]{2,9}|<\d{3}>)( ([a-z]{2,9}|<\d{3}>)){1,3}\.", text)),
         ({"guided_regex": "[0-9]{4}-[01][0-9]( the answer to this)?"},
          lambda text: re.fullmatch(r"\d{4}-[01]\d( the answer to this)?", text)),
         ({"guided_choice": ["one", "another one", "the other"]},
          lambda text: text in ("one", "another one", "the other")),
         ({"bad_words": BAD_WORDS, "ignore_eos": True}, has_no_bad_word)]


def restrict(body, number):
    """Returns a request with the restriction of a number."""
    return {**body, "ignore_eos": False, **KINDS[number % len(KINDS)][0]}


def texts_alone(artifact, bodies, *flags):
    """Returns the answers of restricted requests, by number, to one request at a time without
    drafts. Answers that end must match."""
    answers, ended = {}, 0
    with Server(artifact, "--no-request-log", *flags) as server:
        for number, body in bodies.items():
            choice, = server.complete(**body, k=0)["choices"]
            answers[number] = choice["text"]
            if choice["finish_reason"] == "stop" or body["ignore_eos"]:
                ended += 1
                if not KINDS[number % len(KINDS)][1](choice["text"]):
                    sys.exit(f"{body}: {choice} does not match")
    if 2 * ended < len(bodies):
        sys.exit(f"expected that most answers end, got {ended} of {len(bodies)}")
    return answers
