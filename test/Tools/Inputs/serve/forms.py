"""forms.py ARTIFACT: checks the forms of Anthropic, of OpenAI's responses and of llama-server with
requests as their clients send them, and with the package anthropic if Python has it."""
import contextlib, json, sys

from serving import Server, alone, check

try:
    import anthropic
except ImportError:
    anthropic = None

ARTIFACT = sys.argv[1]
TEMPLATE = """{% for m in messages %}<|endoftext|>{{ m.role }}: {{ m.content }}
{% endfor %}{% if add_generation_prompt %}a:{% endif %}"""
PROMPT = "<|endoftext|>user: the one\na:"
ANTHROPIC = {"x-api-key": "secret", "anthropic-version": "2023-06-01",
             "content-type": "application/json", "user-agent": "Anthropic/Python 0.40.0"}
OPENAI = {"authorization": "Bearer secret", "content-type": "application/json"}
TALK = {"model": "claude-x", "max_tokens": 20, "temperature": 0,
        "messages": [{"role": "user", "content": [{"type": "text", "text": "the one"}]}]}


def send(server, path, body, headers):
    """Returns status and JSON of a reply, or the events of a stream as (name, data)."""
    with contextlib.closing(server.connect()) as connection:
        connection.request("POST", path, json.dumps(body), headers)
        reply = connection.getresponse()
        text = reply.read().decode()
        if not reply.headers["Content-Type"].startswith("text/event-stream"):
            return reply.status, json.loads(text)
        events = []
        for block in text.split("\n\n")[:-1]:
            lines = dict(line.split(": ", 1) for line in block.split("\n"))
            events.append((lines.get("event"), json.loads(lines["data"])))
        return reply.status, events


def expected(prompt=PROMPT, tokens=20):
    return alone(ARTIFACT, prompt, special=True, max_tokens=tokens, temperature=0)["text"]


def check_messages(server):
    status, answer = send(server, "/v1/messages", TALK, ANTHROPIC)
    check((status, answer["type"], answer["stop_reason"]), (200, "message", "max_tokens"),
          "a message")
    check(answer["content"], [{"type": "text", "text": expected()}], "its content")
    check(answer["usage"]["output_tokens"], 20, "its tokens")
    _, events = send(server, "/v1/messages?beta=true", dict(TALK, stream=True), ANTHROPIC)
    check([name for name, data in events if name != data["type"]], [], "names of events")
    text = "".join(data["delta"]["text"] for name, data in events if name == "content_block_delta")
    check(text, expected(), "a streamed message")
    check((events[0][0], events[-1][0]), ("message_start", "message_stop"), "begin and end")
    prefill = TALK["messages"] + [{"role": "assistant", "content": "So"}]
    _, answer = send(server, "/v1/messages", dict(TALK, messages=prefill), ANTHROPIC)
    check(answer["content"][0]["text"],
          expected("<|endoftext|>user: the one\n<|endoftext|>assistant: So"), "a prefill")
    body = {"model": "claude-x", "messages": TALK["messages"]}
    _, count = send(server, "/v1/messages/count_tokens", body, ANTHROPIC)
    check(count, {"input_tokens": alone(ARTIFACT, PROMPT, special=True, max_tokens=1)
                  ["prompt_tokens"]}, "a count")
    status, answer = send(server, "/v1/messages", dict(TALK, tools=[{"name": "a"}]), ANTHROPIC)
    check((status, answer["type"], answer["error"]["type"]),
          (400, "error", "invalid_request_error"), "an error")
    status, _ = send(server, "/v1/messages", TALK, dict(ANTHROPIC, **{"x-api-key": "wrong"}))
    check(status, 401, "a wrong key")


def check_responses(server):
    body = {"model": "gpt-x", "input": [{"role": "user", "content": [
        {"type": "input_text", "text": "the one"}]}], "max_output_tokens": 20, "temperature": 0}
    _, answer = send(server, "/v1/responses", body, OPENAI)
    check(answer["output"][0]["content"][0]["text"], expected(), "a response")
    check(answer["status"], "incomplete", "its status")
    _, events = send(server, "/v1/responses", dict(body, stream=True), OPENAI)
    check([data["sequence_number"] for _, data in events], list(range(len(events))), "numbers")
    text = "".join(data["delta"] for name, data in events if name == "response.output_text.delta")
    check(text, expected(), "a streamed response")
    check(events[-1][0], "response.incomplete", "its end")
    status, answer = send(server, "/v1/responses", dict(body, previous_response_id="a"), OPENAI)
    check((status, answer["error"]["param"]), (400, "previous_response_id"), "a stored response")


def check_native(server):
    body = {"prompt": PROMPT, "n_predict": 20, "temperature": 0, "cache_prompt": True,
            "id_slot": -1, "repeat_penalty": 1.0, "mirostat": 0, "samplers": None}
    _, answer = send(server, "/completion", body, OPENAI)
    check((answer["content"], answer["stop_type"]), (expected(), "limit"), "a native completion")
    _, events = send(server, "/completion",
                     dict(body, stream=True, return_progress=True, timings_per_token=True), OPENAI)
    check("".join(data["content"] for _, data in events), expected(), "a native stream")
    check([data["stop"] for _, data in events[-2:]], [False, True], "its end")
    progress = [data["prompt_progress"] for _, data in events if "prompt_progress" in data]
    check(progress[-1]["processed"], progress[-1]["total"], "a prompt that was read")
    for penalties in ({"repeat_penalty": 3}, {"presence_penalty": 2}):
        status, answer = send(server, "/completion", dict(body, **penalties), OPENAI)
        check((status, answer["error"]["param"]), (400, "repeat_last_n"), "the last 64 tokens")
        _, answer = send(server, "/completion", dict(body, repeat_last_n=-1, **penalties), OPENAI)
        check(answer["content"] != expected(), True, "penalties of all tokens")
        _, answer = send(server, "/completion", dict(body, repeat_last_n=0, **penalties), OPENAI)
        check(answer["content"], expected(), "penalties of no tokens")
    word = expected().split()[3]
    _, answer = send(server, "/completion", dict(body, bad_words=[word]), OPENAI)
    check(word in answer["content"].split(), False, "a bad word")
    rendered = send(server, "/apply-template", {"messages": [{"role": "user",
                                                              "content": "the one"}]}, OPENAI)[1]
    check(rendered, {"prompt": PROMPT}, "a rendered prompt")
    ids = send(server, "/tokenize", {"content": PROMPT}, OPENAI)[1]["tokens"]
    _, answer = send(server, "/completion", dict(body, prompt=[ids[0], PROMPT[13:]]), OPENAI)
    check(answer["tokens_evaluated"] > 1, True, "a prompt of ids and texts")


def check_package(server):
    client = anthropic.Anthropic(base_url=f"http://127.0.0.1:{server.port}", api_key="secret",
                                 max_retries=0)
    check(client.messages.create(**TALK).content[0].text, expected(), "anthropic's client")
    with client.messages.stream(**TALK) as stream:
        check("".join(stream.text_stream), expected(), "its stream")
    client.messages.count_tokens(model="m", messages=TALK["messages"])


with open("forms.jinja", "w") as file:
    file.write(TEMPLATE)
with Server(ARTIFACT, "--chat-template", "forms.jinja", "--api-key", "secret",
            "--reasoning-format", "none") as server:
    for part in (check_messages, check_responses, check_native):
        part(server)
    if anthropic:
        check_package(server)
print("all forms are right")
