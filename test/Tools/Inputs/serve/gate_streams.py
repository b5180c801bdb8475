"""gate_streams.py ARTIFACT GATE: 40 streams through the gate in the folder GATE, greedy and
sampled. Two of three servers end, one of them by SIGKILL. All streams must end as mtp-run's lone
run does."""
import contextlib, http.client, json, os, re, signal, subprocess, sys, threading, time
from concurrent.futures import ThreadPoolExecutor

from serving import Server, alone, check

ARTIFACT, GATE = sys.argv[1:]
STREAMS, TOKENS = 40, 400
PROMPTS = ["Once upon a time", "The little dog", "Tom and Lily went", "One day, a girl",
           "In the garden there was a"]
STOPS = [None, ["\n\n", "happy."], [" the", "zzz"]]


class Gate:
    """The gate before servers, on a free port."""

    def __init__(self, servers, *flags):
        self.process = subprocess.Popen(
            [sys.executable, os.path.join(GATE, "gate.py"), "--port", "0", *flags,
             *(word for s in servers for word in ("--server", f"127.0.0.1:{s.port}"))],
            stderr=subprocess.PIPE, text=True)
        match = re.search(r"http://[^ ]*:(\d+)$", self.process.stderr.readline().strip())
        if not match:
            sys.exit("expected the gate to listen")
        self.port, self.log = int(match[1]), []
        self.reader = threading.Thread(target=lambda: self.log.extend(self.process.stderr))
        self.reader.start()

    def __enter__(self):
        return self

    def __exit__(self, *rest):
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(60)
        self.reader.join()
        check("".join(self.log).find("Traceback"), -1, f"a traceback of the gate: {self.log}")
        check(status, 0, "the gate's exit status")

    def ask(self, method, path, body=None, **fields):
        """Returns status, fields and text of an answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        with contextlib.closing(connection):
            connection.request(method, path, None if body is None else json.dumps(body),
                               {name.replace("_", "-"): value for name, value in fields.items()})
            reply = connection.getresponse()
            return reply.status, reply.headers, reply.read().decode()

    def metric(self, name):
        text = self.ask("GET", "/metrics")[2]
        return float(re.search(rf"^{name} (.*)$", text, re.M)[1])


def body_of(number):
    """Returns path and body of a stream. Half of the streams are sampled, and some stop at a text.
    """
    body = {"prompt": PROMPTS[number % len(PROMPTS)], "max_tokens": TOKENS, "stream": True,
            "temperature": number % 2 * 0.8, "ignore_eos": True}
    if number % 2:
        body["seed"] = number // 2 % 3
    if stop := STOPS[number // 2 % 3]:
        body["stop"] = stop
    return ("/v1/completions", "/completion")[number // 6 % 2], body


def text_of(events):
    """Returns text and end of a stream of completions, in either form."""
    text, end = "", None
    for event in events.split("\n\n"):
        if not event or event == "data: [DONE]":
            continue
        check(event.startswith("data: {"), True, f"an event: {event}")
        data = json.loads(event[6:])
        if "error" in data:
            return text, data["error"]["message"]
        part = data["choices"][0] if "choices" in data else data
        text += part.get("text", "") + part.get("content", "")
        end = part.get("finish_reason") or part.get("stop_type") or end
    return text, end


class Expected:
    """The text of mtp-run, cut at a stop string."""

    def __init__(self):
        self.known = {}

    def of(self, path, body):
        key = body["prompt"], body["temperature"], body.get("seed")
        if key not in self.known:
            asked = {name: body[name] for name in ("max_tokens", "temperature", "seed")
                     if name in body}
            self.known[key] = alone(ARTIFACT, body["prompt"], ignore_eos=True, top_k=0, top_p=1,
                                    **asked)["text"]
        text = self.known[key]
        cuts = [at for at in (text.find(stop) for stop in body.get("stop", [])) if at >= 0]
        is_native = path == "/completion"
        if cuts:
            return text[:min(cuts)], "word" if is_native else "stop"
        return text, "limit" if is_native else "length"


def stream(gate, number, begun):
    """Returns the whole text of a stream; `begun` is released at its first byte."""
    path, body = body_of(number)
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", gate.port,
                                                       timeout=120)) as connection:
        connection.request("POST", path, json.dumps({"top_k": 0, "top_p": 1, **body}))
        reply = connection.getresponse()
        check(reply.status, 200, f"the status of stream {number}")
        first = reply.read(1)
        begun.release()
        return (first + reply.read()).decode()


def end_busiest(servers, number):
    """Sends a signal to the server with the most running sequences, and waits for its end."""
    living = [s for s in servers if s.process.poll() is None]
    victim = max(living, key=lambda s: s.metric("vllm:num_requests_running"))
    victim.process.send_signal(number)
    victim.process.wait(60)
    return victim


def check_streams(gate, servers):
    """Ends two servers while streams run: one is killed, and one is told to end at once."""
    begun = threading.Semaphore(0)
    with ThreadPoolExecutor(STREAMS) as pool:
        streams = [pool.submit(stream, gate, number, begun) for number in range(STREAMS)]
        for number in (signal.SIGKILL, signal.SIGTERM):
            for _ in range(STREAMS // 4):
                begun.acquire()
            end_busiest(servers, number)
        answers = [future.result() for future in streams]
    expected = Expected()
    wrong = []
    for number, events in enumerate(answers):
        path, body = body_of(number)
        check(": resume" in events, False, f"comments of stream {number}")
        if text_of(events) != expected.of(path, body):
            wrong.append((number, path, body, text_of(events), expected.of(path, body)))
    check(wrong, [], "streams that end otherwise than alone")
    continued = gate.metric("mtp:gate_continued_streams_total")
    check(continued >= 5, True, f"streams that went on elsewhere ({continued:g})")
    check(gate.metric("mtp:gate_failed_streams_total"), 0, "streams that failed")
    check(gate.metric("mtp:gate_servers"), 1, "servers that are left")
    return continued


def check_whole_answers(gate, servers, begin_again):
    """Kills the last server while whole answers are computed; another one takes its place.
    Returns its port."""
    def ask(number):
        body = {**body_of(number)[1], "stream": False, "top_k": 0, "top_p": 1}
        status, _, text = gate.ask("POST", "/v1/completions", body)
        check(status, 200, f"the status of a whole answer: {text}")
        return json.loads(text)["choices"][0], body

    last = next(s for s in servers if s.process.poll() is None)
    with ThreadPoolExecutor(10) as pool:
        asked = [pool.submit(ask, number) for number in range(10)]
        while last.metric("vllm:num_requests_running") == 0 and not all(a.done() for a in asked):
            time.sleep(0.005)
        end_busiest(servers, signal.SIGKILL)
        begin_again(last.port)
        answers = [future.result() for future in asked]
    expected = Expected()
    for choice, body in answers:
        check((choice["text"], choice["finish_reason"]), expected.of("/v1/completions", body),
              "a whole answer")
    return last.port


# Fields whose streams need more than tokens: numbers, counts of the output, a grammar's state.
FEATURES = [{"logprobs": 2}, {"presence_penalty": 0.9, "frequency_penalty": 0.4},
            {"repetition_penalty": 1.2, "logprobs": 0, "logit_bias": {"7": 1.5}},
            {"structured_outputs": {"regex": "([A-Z][a-z ,']*[.!?] )+"}, "logprobs": 1},
            {"response_format": {"type": "json_object"}, "frequency_penalty": 0.2},
            {"bad_words": ["the", "a little", "was very", "to play with"]},
            {"include": ["message.output_text.logprobs"], "top_logprobs": 1}]


def featured(number):
    """Returns path and body of a request with a feature."""
    feature = FEATURES[number // 2 % len(FEATURES)]
    body = {"temperature": number % 2 * 0.8, "seed": number // 2, "top_k": 0, "top_p": 1, **feature}
    prompt = PROMPTS[number % len(PROMPTS)]
    if "include" in feature:
        return "/v1/responses", {**body, "input": prompt, "max_output_tokens": 300}
    return "/v1/completions", {**body, "prompt": prompt, "max_tokens": 300}


def parts_of(choices):
    """Returns text, log-probabilities and end of a stream's or a whole answer's choices."""
    numbers = [choice["logprobs"] for choice in choices if choice.get("logprobs")]
    return ("".join(choice["text"] for choice in choices),
            *(sum((n[name] for n in numbers), [])
              for name in ("token_logprobs", "text_offset", "top_logprobs")),
            [choice["finish_reason"] for choice in choices if choice["finish_reason"]])


def response_of(response):
    """Returns texts, log-probabilities and end of a response."""
    return [item["content"] for item in response["output"]], response["status"]


def whole_of(server, path, body):
    """Returns what a server answers without a stream."""
    status, _, answer = server.ask("POST", path, body)
    check(status, 200, f"the status of {body}: {answer}")
    return response_of(answer) if path == "/v1/responses" else parts_of(answer["choices"])


def check_features(gate, begin_server):
    """Kills a server under streams with features; each must be as its lone whole answer."""
    servers = [begin_server(), begin_server()]
    asked = [featured(number) for number in range(28)]
    lone = [whole_of(servers[0], *one) for one in asked]
    begun, before = threading.Semaphore(0), gate.metric("mtp:gate_continued_streams_total")

    def run(path, body):
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", gate.port,
                                                           timeout=120)) as connection:
            connection.request("POST", path, json.dumps({**body, "stream": True}))
            reply = connection.getresponse()
            check(reply.status, 200, f"the status of {body}")
            first = reply.read(1)
            begun.release()
            events = (first + reply.read()).decode().split("\n\n")
        datas = [json.loads(line[6:]) for event in events for line in event.split("\n")
                 if line.startswith("data: {")]
        check([data for data in datas if "error" in data], [], f"errors of {body}")
        if path == "/v1/responses":
            check([data["sequence_number"] for data in datas], list(range(len(datas))),
                  "the numbers of a response's events")
            return response_of(datas[-1]["response"])
        return parts_of([choice for data in datas for choice in data["choices"]])

    with ThreadPoolExecutor(len(asked)) as pool:
        streams = [pool.submit(run, *one) for one in asked]
        for _ in range(len(asked) // 2):
            begun.acquire()
        end_busiest(servers, signal.SIGKILL)
        for one, stream_of, whole in zip(asked, streams, lone):
            check(stream_of.result(), whole, f"a stream of {one}")
    moved = gate.metric("mtp:gate_continued_streams_total") - before
    check(moved >= 3, True, f"streams with features that went on elsewhere ({moved:g})")


def killed(server):
    """Returns a server whose exit status does not matter."""
    server.stop = lambda: (server.process.kill(), server.process.wait(), server.reader.join())
    return server


FLAGS = ("--no-request-log", "--replica", "--shutdown-timeout", "0")
with contextlib.ExitStack() as stack:
    begin = time.monotonic()

    def begin_again(port):
        return stack.enter_context(killed(Server(ARTIFACT, *FLAGS, "--port", str(port))))

    SERVERS = [begin_again(0) for _ in range(3)]
    GATE_PROCESS = stack.enter_context(Gate(SERVERS))
    MOVED = check_streams(GATE_PROCESS, SERVERS)
    LIVING = check_whole_answers(GATE_PROCESS, SERVERS, begin_again)
    FREE = [s.port for s in SERVERS if s.port != LIVING]
    check_features(GATE_PROCESS, lambda: begin_again(FREE.pop()))
    print(f"{STREAMS} streams end as alone; {MOVED:g} continuations, "
          f"{time.monotonic() - begin:.1f} s", file=sys.stderr)
print("no stream was cut")
