"""grammar.py ARTIFACT: checks that answers match the schema, expression or grammar of a request, in
the fields of OpenAI, vLLM and llama-server, with and without drafts and beside free requests."""
import concurrent.futures, json, re, sys

from json_check import errors_of
from serving import Server, alone, check, texts

SCHEMA = {"type": "object", "properties": {"kind": {"enum": ["cat", "dog"]},
                                           "age": {"type": "integer", "minimum": 0, "maximum": 99}},
          "required": ["kind", "age"], "additionalProperties": False}
PROMPT = "Once upon a time"
# All texts of the grammars are short enough to end.
OPTIONS = {"prompt": PROMPT, "max_tokens": 240, "temperature": 1, "seed": 3}
DATE = "[0-9]{4}-[01][0-9]"


def is_animal(text):
    return not errors_of(SCHEMA, json.loads(text))


def is_beginning(text):
    """Whether text is JSON, or becomes JSON if it goes on."""
    try:
        return isinstance(json.loads(text), dict)
    except json.JSONDecodeError as error:
        return error.pos >= len(text.rstrip()) or "Unterminated" in error.msg


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
        if choice["finish_reason"] != "stop" or not matches(choice["text"]):
            sys.exit(f"{fields}: got {choice}")
        return choice["text"]

    check(ask(3), ask(0), f"the text of {fields}")


def check_forms(server):
    fields, matches = CASES[0]
    talk = [{"role": "user", "content": PROMPT}]
    choice, = server.complete("/v1/chat/completions", messages=talk, max_tokens=200,
                              **fields)["choices"]
    if choice["finish_reason"] != "stop" or not matches(choice["message"]["content"]):
        sys.exit(f"a chat: got {choice}")
    whole, = server.complete(**OPTIONS, **fields, return_token_ids=True)["choices"]
    events = server.stream(**OPTIONS, **fields, n=1, return_token_ids=True)
    (text,), ends = texts(events)
    check((text, ends), (whole["text"], ["stop"]), "a stream")
    ids = [token for event in events for choice in event["choices"]
           for token in choice.get("token_ids") or []]
    check(ids, whole["token_ids"], "the ids of a stream")
    answer = server.complete("/completion", prompt=PROMPT, n_predict=200, json_schema=SCHEMA)
    if answer["stop_type"] != "eos" or not matches(answer["content"]):
        sys.exit(f"llama-server's form: got {answer}")
    text = server.complete(prompt=PROMPT, max_tokens=60,
                           response_format={"type": "json_object"})["choices"][0]["text"]
    if not is_beginning(text):
        sys.exit(f"an object: got {text}")
    check_other_apis(server, talk, matches)


def check_other_apis(server, talk, matches):
    """Responses and messages take a schema as well, and responses log-probabilities."""
    kind = {"type": "json_schema", "name": "x", "schema": SCHEMA}
    ask = {"input": PROMPT, "text": {"format": kind}, "max_output_tokens": 200, "top_logprobs": 1,
           "include": ["message.output_text.logprobs"]}
    answer = server.complete("/v1/responses", **ask)
    part = answer["output"][-1]["content"][0]
    if answer["status"] != "completed" or not matches(part["text"]):
        sys.exit(f"a response: got {answer}")
    check(answer["text"]["format"], kind, "the format of a response")
    scores = part["logprobs"]
    check("".join(score["token"] for score in scores), part["text"], "the tokens of a response")
    check({len(score["top_logprobs"]) for score in scores}, {1}, "the likeliest tokens")
    events = server.events("/v1/responses", **ask)
    deltas = [score for event in events if event["type"] == "response.output_text.delta"
              for score in event["logprobs"]]
    done, = [event["logprobs"] for event in events if event["type"] == "response.output_text.done"]
    check((deltas, done), (scores, scores), "the log-probabilities of events")
    for field in ({"output_format": kind}, {"output_config": {"format": kind}}):
        answer = server.complete("/v1/messages", messages=talk, max_tokens=200, **field)
        if answer["stop_reason"] != "end_turn" or not matches(answer["content"][0]["text"]):
            sys.exit(f"a message: got {answer}")


def check_mixture(artifact, server):
    free = alone(artifact, PROMPT, max_tokens=40, temperature=0)["text"]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        cases = [None if i % 2 else CASES[i // 2] for i in range(2 * len(CASES))]
        answers = [pool.submit(server.complete, prompt=PROMPT, max_tokens=200 if case else 40,
                               temperature=0, **(case[0] if case else {})) for case in cases]
        for case, answer in zip(cases, answers):
            choice, = answer.result()["choices"]
            if not case:
                check(choice["text"], free, "a free answer beside others")
            elif choice["finish_reason"] != "stop" or not case[1](choice["text"]):
                sys.exit(f"{case[0]} beside free answers: got {choice}")


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
