"""ids.py ARTIFACT OTHER: tests a server of an artifact without a tokenizer. OTHER has the same
weights and a tokenizer."""
import sys

from serving import Server, alone, check

ARTIFACT, OTHER = sys.argv[1:]
PROMPT = [5, 6, 7]
BODY = {"max_tokens": 20, "temperature": 0.8, "seed": 3, "ignore_eos": True}

expected = alone(OTHER, PROMPT, **BODY)["output_ids"]
with Server(ARTIFACT) as server:
    choice = server.complete(prompt=PROMPT, **BODY)["choices"][0]
    check((choice["token_ids"], choice["text"]), (expected, ""), "an answer of ids")
    events = server.stream(prompt=PROMPT, **BODY)
    got = [i for event in events for choice in event["choices"] for i in choice["token_ids"]]
    check(got, expected, "a stream of ids")
    for field, value in [("prompt", "the one"), ("stop", "x")]:
        status, error = server.refuse(**{"prompt": PROMPT, **BODY, field: value})
        check((status, error["param"]), (400, field), f"{field} without a tokenizer")
    for path, body in [("/tokenize", {"prompt": "one"}), ("/detokenize", {"tokens": [5]})]:
        status, error = server.refuse(path, **body)
        check((status, "tokenizer" in error["message"]), (400, True), path)
    status, error = server.refuse("/v1/chat/completions",
                                  messages=[{"role": "user", "content": "one"}])
    check((status, "template" in error["message"] or "tokenizer" in error["message"]),
          (400, True), f"a chat without a template: {error}")
print("ids are answered as texts are")
