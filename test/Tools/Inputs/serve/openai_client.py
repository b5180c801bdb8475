"""openai_client.py ARTIFACT [FILE]: tests the unmodified client of the openai package with a
server. With FILE it writes the requests for openai_recorded.py there."""
import asyncio, json, sys

import openai
from serving import Server, alone, check

ARTIFACT = sys.argv[1]
SENT = []
GREEDY = {"model": "m", "max_tokens": 12, "temperature": 0}
TALK = {"model": "m", "messages": [{"role": "system", "content": "be"},
                                   {"role": "user", "content": [{"type": "text", "text": "one"}]}],
        "max_completion_tokens": 12, "temperature": 0}
OWN_HEADERS = ("accept", "content-type", "user-agent", "x-stainless")


def record(request):
    """Records a request of this package's client, without fields that identify the client."""
    headers = {name: value for name, value in request.headers.items()
               if name.startswith(OWN_HEADERS)}
    SENT.append({"method": request.method, "path": request.url.path, "headers": headers,
                 "body": request.content.decode()})


def connect(server, key="secret"):
    return openai.OpenAI(
        base_url=f"http://127.0.0.1:{server.port}/v1", api_key=key, max_retries=0,
        http_client=openai.DefaultHttpxClient(event_hooks={"request": [record]}, trust_env=False))


def refused(kind, call):
    """Returns the error of a call that the client raises as `kind`."""
    try:
        call()
    except kind as error:
        return error
    sys.exit(f"expected {kind.__name__}")


def check_completions(client):
    text = alone(ARTIFACT, "the one", max_tokens=12, temperature=0)["text"]
    answer = client.completions.create(prompt="the one", **GREEDY)
    check((answer.choices[0].text, answer.choices[0].finish_reason), (text, "length"), "an answer")
    check(answer.usage.completion_tokens, 12, "its tokens")
    parts = list(client.completions.create(prompt="the one", stream=True, **GREEDY,
                                           stream_options={"include_usage": True}))
    check("".join(p.choices[0].text for p in parts if p.choices), text, "a stream")
    check(parts[-1].usage.completion_tokens, 12, "its usage")
    answer = client.completions.create(prompt=["the", "and"], n=2, seed=4, stop=["zzz"], top_p=0.9,
                                       user="u", extra_body={"k": 1, "ignore_eos": True},
                                       **dict(GREEDY, temperature=1))
    check([c.index for c in answer.choices], [0, 1, 2, 3], "answers to two prompts")
    answer = client.completions.with_raw_response.create(prompt=[5, 6, 7], **GREEDY)
    check(answer.headers["x-request-id"] in answer.parse().id, True, "an id")


def check_chats(client):
    answer = client.chat.completions.create(**TALK)
    message = answer.choices[0].message
    check((answer.object, message.role), ("chat.completion", "assistant"), "a chat")
    check(answer.usage.total_tokens, answer.usage.prompt_tokens + 12, "its tokens")
    with client.chat.completions.create(stream=True, **TALK) as stream:
        text = "".join(part.choices[0].delta.content or "" for part in stream)
    check(text, message.content, "a streamed chat")
    # A client that leaves in the middle does not affect the next one.
    with client.chat.completions.create(stream=True, **TALK) as stream:
        next(iter(stream))
    # This helper rejects an answer that max_tokens ends.
    with client.chat.completions.stream(stop=text[5:7], **TALK) as stream:
        final = stream.get_final_completion().choices[0]
    check((final.message.content, final.finish_reason), (text[:text.find(text[5:7])], "stop"),
          "events of a chat")


def check_responses(client):
    text = client.chat.completions.create(**TALK).choices[0].message.content
    body = {"model": "m", "instructions": "be", "input": "one", "max_output_tokens": 12,
            "temperature": 0}
    check(client.responses.create(**body).output_text, text, "a response")
    with client.responses.create(stream=True, **body) as stream:
        parts = [event.delta for event in stream if event.type == "response.output_text.delta"]
    check("".join(parts), text, "a streamed response")


def check_tools(client):
    tool = {"type": "function", "function": {"name": "f"}}
    before = client.chat.completions.create(**TALK)
    answer = client.chat.completions.create(tools=[tool], tool_choice="auto", **TALK)
    check(answer.usage.prompt_tokens > before.usage.prompt_tokens, True, "tools in the prompt")
    check(answer.choices[0].message.tool_calls, None, "an answer without calls")
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    talk = dict(TALK, messages=[{"role": "user", "content": "one"},
                                {"role": "assistant", "content": None, "tool_calls": [call]},
                                {"role": "tool", "tool_call_id": "c", "content": "3"}])
    answer = client.chat.completions.create(tools=[tool], **talk)
    check(answer.object, "chat.completion", "an answer to a result")
    tool["function"]["parameters"] = {"type": "object", "additionalProperties": False}
    answer = client.chat.completions.create(tools=[tool], tool_choice="required",
                                            parallel_tool_calls=False,
                                            **dict(TALK, max_completion_tokens=60))
    [call] = answer.choices[0].message.tool_calls
    check((call.function.name, json.loads(call.function.arguments)), ("f", {}), "a required call")


def check_allowed_tools(client):
    schema = {"type": "object", "additionalProperties": False}
    tools = [{"type": "function", "function": {"name": name, "parameters": schema}}
             for name in ("f", "g")]
    body = dict(TALK, max_completion_tokens=60, parallel_tool_calls=False)
    for name in ("f", "g"):
        allowed = [{"type": "function", "function": {"name": name}}]
        answer = client.chat.completions.create(
            tools=tools, tool_choice={"type": "allowed_tools", "allowed_tools":
                                      {"mode": "required", "tools": allowed}}, **body)
        [call] = answer.choices[0].message.tool_calls
        check(call.function.name, name, "an allowed call")
        choice = {"type": "allowed_tools", "mode": "required",
                  "tools": [{"type": "function", "name": name}]}
        answer = client.responses.create(
            model="m", input="one", max_output_tokens=60, parallel_tool_calls=False,
            tools=[{"type": "function", **tool["function"]} for tool in tools], tool_choice=choice)
        [call] = answer.output
        check((call.type, call.name), ("function_call", name), "an allowed call of a response")
        check(answer.tool_choice.to_dict(), choice, "the choice in a response")
    error = refused(openai.BadRequestError, lambda: client.chat.completions.create(
        tools=tools, tool_choice={"type": "allowed_tools", "allowed_tools":
                                  {"mode": "auto", "tools": [
                                      {"type": "function", "function": {"name": "x"}}]}}, **body))
    check(error.param, "tool_choice.allowed_tools.tools[0].function.name", "an unknown tool")


def check_rest(client, server):
    check([model.id for model in client.models.list()], ["m"], "models")
    check(client.models.retrieve("m").object, "model", "a model")
    error = refused(openai.BadRequestError,
                    lambda: client.completions.create(prompt="the", logit_bias={"x": 1}, **GREEDY))
    check((error.param, error.type), ("logit_bias.x", "invalid_request_error"), "a refusal")
    refused(openai.NotFoundError,
            lambda: client.completions.create(prompt="the", **dict(GREEDY, model="other")))
    refused(openai.AuthenticationError, lambda: connect(server, "wrong").models.list())


async def check_together(server, text):
    async with openai.AsyncOpenAI(base_url=f"http://127.0.0.1:{server.port}/v1",
                                  api_key="secret") as client:
        answers = await asyncio.gather(*(client.completions.create(prompt="the one", **GREEDY)
                                         for _ in range(16)))
    check({answer.choices[0].text for answer in answers}, {text}, "answers at a time")


with open("openai.jinja", "w") as file:
    file.write("{{ tools | tojson if tools else '' }}"
               "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}a:")
with Server(ARTIFACT, "--strict", "--chat-template", "openai.jinja", "--api-key", "secret",
            "--served-model-name", "m", "--tool-parser", "hermes") as server:
    client = connect(server)
    check_completions(client)
    check_chats(client)
    check_tools(client)
    check_allowed_tools(client)
    check_responses(client)
    check_rest(client, server)
    asyncio.run(check_together(server, alone(ARTIFACT, "the one", max_tokens=12,
                                             temperature=0)["text"]))
if len(sys.argv) > 2:
    with open(sys.argv[2], "w") as file:
        file.write("[\n" + ",\n".join(json.dumps(request) for request in SENT) + "\n]\n")
print(f"the client of openai {openai.__version__} is served")
