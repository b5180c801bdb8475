"""agent.py ARTIFACT [TURNS] [--stops]: an agent with a calculator and a file lister. Each turn must
call a tool, and its arguments must be valid. Prints the number of turns that called, and the number
that a limit cut. With --stops no turn may be cut. Uses PyPI's openai if Python has it."""
import collections, json, sys

from json_check import errors_of
from serving import Server, check

try:
    import openai
except ImportError:
    openai = None

# The format "hermes" of Qwen and others, in a template for any model with ChatML.
TEMPLATE = """{%- if tools -%}
<|im_start|>system
You are an assistant with tools. Answer with a call in <tool_call></tool_call>.
{%- for tool in tools %}
{{ tool.function | tojson }}
{%- endfor %}<|im_end|>
{% endif -%}
{%- for message in messages -%}
<|im_start|>{{ message.role }}
{{ message.content }}
{%- for call in message.tool_calls or [] %}<tool_call>
{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}
</tool_call>{% endfor -%}<|im_end|>
{% endfor -%}
{%- if add_generation_prompt -%}<|im_start|>assistant
{% endif -%}
"""
FILES = {"": ["docs", "src", "notes.txt"], "docs": ["a.md", "b.md"], "src": ["main.c", "x.h"]}
CALCULATOR = {"type": "object", "additionalProperties": False, "required": ["a", "operator", "b"],
              "properties": {"a": {"type": "integer", "minimum": -9999, "maximum": 9999},
                             "operator": {"enum": ["+", "-", "*", "/"]},
                             "b": {"type": "integer", "minimum": -9999, "maximum": 9999}}}
LISTER = {"type": "object", "additionalProperties": False, "required": ["folder"],
          "properties": {"folder": {"enum": ["", "docs", "src"]},
                         "pattern": {"type": "string", "pattern": r"^[a-z*.]{1,12}$"},
                         "most": {"type": ["integer", "null"], "minimum": 1, "maximum": 20}}}
SCHEMAS = {"calculator": CALCULATOR, "list_files": LISTER}
ABOUT = {"calculator": "Computes", "list_files": "Lists the files of a folder"}
TOOLS = [{"type": "function",
          "function": {"name": name, "description": ABOUT[name], "parameters": schema}}
         for name, schema in SCHEMAS.items()]
QUESTIONS = ["What is 12 + 30?", "Which files are in docs?", "Multiply 7 by 6.",
             "List the folder src.", "How much is 100 / 8?"]


def run(name, arguments):
    """Runs a tool as a user's program would: wrong arguments would raise an error."""
    if name == "list_files":
        return json.dumps(FILES[arguments["folder"]][:arguments.get("most")])
    a, b = arguments["a"], arguments["b"]
    if arguments["operator"] == "/" and b == 0:
        return "division by zero"
    return str({"+": a + b, "-": a - b, "*": a * b, "/": a / (b or 1)}[arguments["operator"]])


class Agent:
    def __init__(self, server):
        self.server = server
        self.client = openai and openai.OpenAI(base_url=server.url + "/v1", api_key="none",
                                               max_retries=0, timeout=300)
        self.counts = collections.Counter()

    def ask(self, **body):
        """Returns the message and the reason of a chat."""
        if self.client:
            answer = json.loads(self.client.chat.completions.create(
                model="m", extra_body={"k": body.pop("k")}, **body).model_dump_json())
        else:
            answer = self.server.complete("/v1/chat/completions", **body)
        choice, = answer["choices"]
        return choice["message"], choice["finish_reason"]

    def turn(self, messages, number):
        """Asks for a call, runs it, and adds both to the conversation."""
        choice = "required" if number % 3 else {
            "type": "function", "function": {"name": list(SCHEMAS)[number // 3 % 2]}}
        message, reason = self.ask(
            messages=messages, tools=TOOLS, tool_choice=choice, parallel_tool_calls=number % 2 == 0,
            max_tokens=160, temperature=0.8, seed=number, k=number % 4)
        calls = message.get("tool_calls") or []
        if reason == "tool_calls" and message["content"]:
            sys.exit(f"turn {number}: text beside calls: {message}")
        if not calls and reason != "length":
            sys.exit(f"turn {number}: expected a call, got {message} ({reason})")
        if number % 2:
            check(len(calls) <= 1, True, f"the number of calls of turn {number}")
        messages.append({"role": "assistant", "content": "", "tool_calls": calls})
        for call in calls:
            name, arguments = call["function"]["name"], json.loads(call["function"]["arguments"])
            if isinstance(choice, dict):
                check(name, choice["function"]["name"], f"the tool of turn {number}")
            errors = errors_of(SCHEMAS[name], arguments)
            if errors:
                sys.exit(f"turn {number}: invalid arguments {arguments}: {errors}")
            messages.append({"role": "tool", "tool_call_id": call["id"],
                             "content": run(name, arguments)})
            self.counts["calls"] += 1
        self.counts["turns"] += 1
        self.counts["cut" if not calls else "called"] += 1
        return bool(calls)


def calls_of(events):
    """Returns the calls of a stream: [[name, arguments]]."""
    calls = []
    for event in events:
        for choice in event["choices"]:
            for delta in choice["delta"].get("tool_calls") or []:
                if "id" in delta:
                    check(delta["index"], len(calls), "the index of a call")
                    calls.append([delta["function"]["name"], ""])
                calls[delta["index"]][1] += delta["function"].get("arguments", "")
            check(bool(choice["delta"].get("content")), False, f"text in {choice}")
    return calls


def check_apis(server):
    """Demands calls in all APIs, as whole answers and as streams."""
    talk = [{"role": "user", "content": QUESTIONS[0]}]
    flat = [{"type": "function", **tool["function"]} for tool in TOOLS]
    forms = [{"name": tool["name"], "description": tool["description"],
              "input_schema": tool["parameters"]} for tool in flat]
    options = {"temperature": 1, "seed": 11, "parallel_tool_calls": False}
    body = {"messages": talk, "tools": TOOLS, "tool_choice": "required", "max_tokens": 300,
            "return_token_ids": True, **options}
    choice, = server.complete("/v1/chat/completions", **body)["choices"]
    check(choice["finish_reason"], "tool_calls", f"the end of {choice}")
    events = server.stream("/v1/chat/completions", **body)
    expected = [[call["function"]["name"], call["function"]["arguments"]]
                for call in choice["message"]["tool_calls"]]
    check(calls_of(events), expected, "the calls of a stream")
    ids = [token for event in events for one in event["choices"]
           for token in one.get("token_ids") or []]
    check(ids, choice["token_ids"], "the ids of a stream")
    name, arguments = expected[0]
    check(errors_of(SCHEMAS[name], json.loads(arguments)), [], "the arguments of a chat")

    body = {"input": QUESTIONS[0], "tools": flat, "max_output_tokens": 300, **options,
            "tool_choice": {"type": "function", "name": "calculator"}}
    item, = server.complete("/v1/responses", **body)["output"]
    check((item["type"], item["name"]), ("function_call", "calculator"), f"the item {item}")
    check(errors_of(CALCULATOR, json.loads(item["arguments"])), [], "a response's arguments")
    deltas = "".join(event["delta"] for event in server.events("/v1/responses", **body)
                     if event["type"] == "response.function_call_arguments.delta")
    check(deltas, item["arguments"], "the deltas of a response")

    del options["parallel_tool_calls"]
    body = {"messages": talk, "tools": forms, "max_tokens": 300, **options,
            "tool_choice": {"type": "any", "disable_parallel_tool_use": True}}
    answer = server.complete("/v1/messages", **body)
    block, = answer["content"]
    check((block["type"], answer["stop_reason"]), ("tool_use", "tool_use"), f"{answer}")
    check(errors_of(SCHEMAS[block["name"]], block["input"]), [], "a message's arguments")
    deltas = "".join(event["delta"].get("partial_json", "")
                     for event in server.events("/v1/messages", **body)
                     if event["type"] == "content_block_delta")
    check(json.loads(deltas), block["input"], "the deltas of a message")


def check_strict(server):
    """A strict tool gets valid arguments or a text, and an unknown keyword has a path."""
    tools = [{"type": "function", "function": dict(TOOLS[0]["function"], strict=True)}]
    talk = {"messages": [{"role": "user", "content": QUESTIONS[0]}], "tools": tools}
    for seed in range(3):
        choice, = server.complete("/v1/chat/completions", **talk, max_tokens=60, seed=seed,
                                  temperature=1)["choices"]
        for call in choice["message"].get("tool_calls") or []:
            check(errors_of(CALCULATOR, json.loads(call["function"]["arguments"])), [], "strict")
    tools[0]["function"]["parameters"] = {"properties": {"a": {"not": {}}}}
    _, error = server.refuse("/v1/chat/completions", **talk)
    check(error["param"], "tools[0].function.parameters/properties/a/not", f"{error}")


def main():
    turns = int(sys.argv[2]) if len(sys.argv) > 2 else 10
    with open("template.jinja", "w") as file:
        file.write(TEMPLATE)
    with Server(sys.argv[1], "--chat-template", "template.jinja") as server:
        check_apis(server)
        check_strict(server)
        agent = Agent(server)
        messages = []
        for number in range(turns):
            # A small model's context holds a few turns.
            if number % 4 == 0:
                messages = []
            messages.append({"role": "user", "content": QUESTIONS[number % len(QUESTIONS)]})
            if not agent.turn(messages, number):
                messages = []
        counts = agent.counts
    if "--stops" in sys.argv and counts["cut"]:
        sys.exit(f"expected no cut turn, got {counts}")
    print(f"{counts['turns']} turns, {counts['calls']} valid calls, {counts['cut']} turns cut by "
          f"their limit")


main()
