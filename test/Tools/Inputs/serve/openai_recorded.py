"""openai_recorded.py ARTIFACT REQUESTS: sends the requests that openai_client.py recorded, and
checks that the answers have the fields of that client's types."""
import contextlib, json, sys

from serving import Server, check

ARTIFACT, REQUESTS = sys.argv[1:]
REFUSED = {"logit_bias": 400, '"other"': 404}


def send(server, request):
    with contextlib.closing(server.connect()) as connection:
        connection.request(request["method"], request["path"], request["body"] or None,
                           dict(request["headers"], Authorization="Bearer secret"))
        reply = connection.getresponse()
        return reply.status, reply.headers, reply.read().decode()


def need(value, kinds, where):
    """Checks that an object has fields of these types."""
    for name, kind in kinds.items():
        if not isinstance(value.get(name), kind):
            sys.exit(f"{where}: expected {name} of {kind}, got {value}")


def check_answer(answer, path, part):
    chat = "chat" in path
    kind = ("chat.completion" + (".chunk" if part else "")) if chat else "text_completion"
    need(answer, {"id": str, "object": str, "created": int, "model": str, "choices": list}, path)
    check(answer["object"], kind, "an object")
    for choice in answer["choices"]:
        need(choice, {"index": int, "finish_reason": (str, type(None))}, path)
        if not chat:
            need(choice, {"text": str}, path)
        else:
            need(choice, {"delta" if part else "message": dict}, path)
            if not part:
                need(choice["message"], {"role": str, "content": str}, path)
    if not part:
        need(answer["usage"], {name + "_tokens": int for name in ("prompt", "completion", "total")},
             path)


def check_reply(request, status, headers, text):
    body, path = request["body"], request["path"]
    expected = next((number for mark, number in REFUSED.items() if mark in body), 200)
    check(status, expected, f"the status of {request}: {text}")
    check(bool(headers["x-request-id"]), True, "an id")
    if status != 200:
        need(json.loads(text)["error"], {"message": str, "type": str}, path)
    elif request["method"] == "GET":
        models = json.loads(text)
        for model in models.get("data", [models]):
            need(model, {"id": str, "created": int, "object": str, "owned_by": str}, path)
    elif json.loads(body).get("stream"):
        check(headers["Content-Type"].split(";")[0], "text/event-stream", "a stream's type")
        lines = [line for line in text.split("\n\n") if line]
        check(lines[-1], "data: [DONE]", "the end of a stream")
        for line in lines[:-1]:
            check_answer(json.loads(line[len("data: "):]), path, part=True)
    else:
        check_answer(json.loads(text), path, part=False)


with open(REQUESTS) as file:
    requests = json.load(file)
with open("recorded.jinja", "w") as file:
    file.write("{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}a:")
with Server(ARTIFACT, "--chat-template", "recorded.jinja", "--api-key", "secret",
            "--served-model-name", "m", "--strict") as server:
    for request in requests:
        check_reply(request, *send(server, request))
print(f"{len(requests)} requests of the openai package are answered")
