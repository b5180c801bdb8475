"""openai_tools.py ANSWERS: gives answers of mtp_tool_answers to the client of PyPI's openai."""
import json, sys

import openai
from openai.lib.streaming.chat import ChatCompletionStreamState
from serving import check

# The HTTP library of this version.
httpx = sys.modules[openai.DefaultHttpxClient.__mro__[1].__module__.split(".")[0]]

with open(sys.argv[1]) as file:
    ANSWERS = json.load(file)
ARGUMENTS = json.loads(ANSWERS["arguments"])
TALK = {"model": "m", "messages": [{"role": "user", "content": "q"}],
        "tools": [{"type": "function", "function": {"name": "add", "parameters": {}}}]}


def client_of(name):
    """Returns a client of a server that has one answer."""
    kind = "text/event-stream" if name.endswith("events") else "application/json"
    transport = httpx.MockTransport(lambda request: httpx.Response(
        200, headers={"content-type": kind}, text=ANSWERS[name]))
    return openai.OpenAI(base_url="http://server/v1", api_key="none",
                         http_client=httpx.Client(transport=transport))


def streamed(name):
    """Returns the chat that the client makes of a stream."""
    state = ChatCompletionStreamState(input_tools=TALK["tools"])
    for chunk in client_of(name).chat.completions.create(stream=True, **TALK):
        state.handle_chunk(chunk)
    return state.current_completion_snapshot.choices[0]


def calls_of(message):
    return [(call.type, call.function.name, json.loads(call.function.arguments))
            for call in message.tool_calls]


EXPECTED = [("function", "add", ARGUMENTS)] * 2
choice = client_of("chat").chat.completions.create(**TALK).choices[0]
for one, where in ((choice, "a chat"), (streamed("chat_events"), "a stream")):
    check((one.finish_reason, one.message.content), ("tool_calls", "Two:"), where)
    check(calls_of(one.message), EXPECTED, f"the calls of {where}")
    check(len({call.id for call in one.message.tool_calls}), 2, f"the ids of {where}")

choice = client_of("broken_chat").chat.completions.create(**TALK).choices[0]
check((choice.finish_reason, choice.message.content, choice.message.tool_calls),
      ("length", ANSWERS["broken"], None), "a broken call")
choice = streamed("broken_events")
check((choice.finish_reason, choice.message.content), ("length", ANSWERS["broken"]),
      "a stream with a broken call")

ASK = {"model": "m", "input": "q",
       "tools": [{"type": "function", "name": "add", "parameters": {}, "strict": False}]}
response = client_of("response").responses.create(**ASK)
events = list(client_of("response_events").responses.create(stream=True, **ASK))
for one, where in ((response, "a response"), (events[-1].response, "its stream")):
    calls = [item for item in one.output if item.type == "function_call"]
    check([(call.name, json.loads(call.arguments)) for call in calls], [("add", ARGUMENTS)] * 2,
          f"the calls of {where}")
    check(one.output_text, "Two:", f"the text of {where}")
deltas = [e.delta for e in events if e.type == "response.function_call_arguments.delta"]
check((json.loads("".join(deltas[:len(deltas) // 2])), len(deltas) > 4), (ARGUMENTS, True),
      "pieces of arguments")
print(f"the client of openai {openai.__version__} reads calls")
