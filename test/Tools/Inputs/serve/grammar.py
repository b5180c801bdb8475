"""grammar.py ARTIFACT: checks that answers match the schema, expression or grammar of a request, in
the fields of OpenAI, vLLM and llama-server, with and without drafts and beside free requests."""
import concurrent.futures, json, re, sys

from serving import Server, alone, check, texts

SCHEMA = {"type": "object", "properties": {"kind": {"enum": ["cat", "dog"]},
                                           "age": {"type": "integer", "minimum": 0, "maximum": 99}},
          "required": ["kind", "age"], "additionalProperties": False}
PROMPT = "Once upon a time"
OPTIONS = {"prompt": PROMPT, "max_tokens": 100, "temperature": 1, "seed": 3}
DATE = "[0-9]{4}-[01][0-9]"


def is_animal(text):
    value = json.loads(text)
    return value["kind"] in ("cat", "dog") and 0 <= value["age"] <= 99


def is_number(text):
    return text in ("one", "two")


def is_date(text):
    return re.fullmatch(DATE, text)


CASES = [
    ({"response_format": {"type": "json_schema",
                          "json_schema": {"name": "x", "strict": True, "schema": SCHEMA}}},
     is_animal),
    ({"guided_json": SCHEMA}, is_animal),
    ({"json_schema": SCHEMA}, is_animal),
    ({"structured_outputs": {"json": SCHEMA, "disable_any_whitespace": True}}, is_animal),
    ({"guided_regex": DATE}, is_date),
    ({"guided_choice": ["one", "two"]}, is_number),
    ({"grammar": 'root ::= "one" | "two"'}, is_number),
]


def check_case(server, fields, matches):
    def ask(k):
        choice, = server.complete(**OPTIONS, **fields, k=k)["choices"]
        if choice["finish_reason"] == "stop" and not matches(choice["text"]):
            sys.exit(f"{fields}: got {choice['text']!r}")
        return choice["text"]

    check(ask(3), ask(0), f"the text of {fields}")


def check_forms(server):
    fields, matches = CASES[0]
    talk = [{"role": "user", "content": PROMPT}]
    choice, = server.complete("/v1/chat/completions", messages=talk, max_tokens=100,
                              **fields)["choices"]
    if choice["finish_reason"] == "stop" and not matches(choice["message"]["content"]):
        sys.exit(f"a chat: got {choice}")
    (text,), ends = texts(server.stream(**OPTIONS, **fields, n=1))
    if ends == ["stop"] and not matches(text):
        sys.exit(f"a stream: got {text} {ends}")
    answer = server.complete("/completion", prompt=PROMPT, n_predict=100, json_schema=SCHEMA)
    if not answer["stop_type"] == "limit" and not matches(answer["content"]):
        sys.exit(f"llama-server's form: got {answer}")
    text = server.complete(prompt=PROMPT, max_tokens=60,
                           response_format={"type": "json_object"})["choices"][0]["text"]
    check(text.lstrip()[:1], "{", "an object")


def check_mixture(artifact, server):
    free = alone(artifact, PROMPT, max_tokens=40, temperature=0)["text"]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = [pool.submit(server.complete, prompt=PROMPT, max_tokens=40, temperature=0,
                               **({} if i % 2 else CASES[i % 4][0])) for i in range(8)]
        for i, answer in enumerate(answers):
            text = answer.result()["choices"][0]["text"]
            if i % 2:
                check(text, free, "a free answer beside others")


def check_errors(server):
    for field, body in (("guided_json", {"guided_json": {"properties": {"a": {"not": {}}}}}),
                        ("guided_regex", {"guided_regex": "(?=a)"}),
                        ("grammar", {"grammar": "root ::= x"}),
                        ("response_format.type", {"response_format": {"type": "xml"}})):
        status, error = server.refuse(**OPTIONS, **body)
        check((status, error["param"]), (400, field), f"the error of {body}: {error}")
    _, error = server.refuse(**OPTIONS, guided_json={"properties": {"a": {"not": {}}}})
    if "/properties/a/not" not in error["message"]:
        sys.exit(f"expected the keyword, got {error}")


def main():
    artifact = sys.argv[1]
    with Server(artifact) as server:
        for fields, matches in CASES:
            check_case(server, fields, matches)
        check_forms(server)
        check_mixture(artifact, server)
        check_errors(server)
    print("all answers match")


main()
