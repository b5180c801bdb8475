"""protocol.py ARTIFACT CASES: sends each request of CASES, a table by area, and compares the answer
with what clients of vLLM, llama-server, OpenAI and Anthropic expect.

A case has "ask" (method and target) and "body" (or "raw", its text). It may have:
- "headers" of the request, and "server": "keys" for a server with keys;
- "status" (200);
- "has": JSON pointers of the answer that are not null, and "is": pointers with values;
- "text": parts of the answer's text, and "lacks";
- "header": fields of the answer (null: any value), and "lackheader";
- "fails": the reason of a known failure. Such a case must not pass."""
import contextlib, http.client, json, sys

from serving import Server

ARTIFACT, CASES = sys.argv[1:]


def at(value, pointer):
    for name in pointer.split("/")[1:]:
        try:
            value = value[int(name)] if isinstance(value, list) else value[name]
        except (KeyError, IndexError, TypeError, ValueError):
            return None
    return value


def send(server, case):
    """Returns status, fields and text of the answer."""
    method, target = case["ask"].split(" ")
    body = case.get("raw", json.dumps(case["body"]) if "body" in case else None)
    fields = {"Content-Type": "application/json"} if body is not None else {}
    fields.update(case.get("headers", {}))
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", server.port,
                                                       timeout=60)) as connection:
        connection.request(method, target, body, {n: v for n, v in fields.items() if v})
        reply = connection.getresponse()
        return reply.status, reply.headers, reply.read().decode()


def wrong(case, status, fields, text):
    """Returns the first difference from the case, or None."""
    if status != case.get("status", 200):
        return f"status {status}: {text[:200]}"
    if fields["Content-Type"] == "application/json" and text:
        value = json.loads(text)
        for pointer in case.get("has", []):
            if at(value, pointer) is None:
                return f"no {pointer}: {text[:300]}"
        for pointer, expected in case.get("is", {}).items():
            if at(value, pointer) != expected:
                return f"{pointer} is {at(value, pointer)!r}"
    for part in case.get("text", []):
        if part not in "\n" + text:
            return f"no {part!r}: {text[:300]}"
    for part in case.get("lacks", []):
        if part in text:
            return f"{part!r} in it"
    for name, expected in case.get("header", {}).items():
        if name not in fields or (expected is not None and fields[name] != expected):
            return f"the field {name} is {fields[name]!r}"
    for name in case.get("lackheader", []):
        if name in fields:
            return f"a field {name}"
    return None


with open(CASES) as file:
    TABLE = json.load(file)
PASSED = ALL = 0
SURPRISES = []
with Server(ARTIFACT, "--no-request-log") as OPEN, \
     Server(ARTIFACT, "--no-request-log", "--api-key=k", "--cors-origin=http://page") as KEYS:
    OPEN.complete(prompt="the one and a house", max_tokens=20, temperature=0, k=2)
    for area, cases in TABLE.items():
        passed = 0
        for case in cases:
            difference = wrong(case, *send(KEYS if "server" in case else OPEN, case))
            passed += difference is None
            if (difference is not None) != ("fails" in case):
                SURPRISES.append(f"{area}: {json.dumps(case)}: {difference or 'passes'}")
        print(f"{area}: {passed} of {len(cases)}")
        PASSED, ALL = PASSED + passed, ALL + len(cases)
for line in SURPRISES:
    print(line, file=sys.stderr)
print(f"{PASSED} of {ALL} requests have the expected answer")
sys.exit(len(SURPRISES) > 0)
