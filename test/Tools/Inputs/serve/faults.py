"""faults.py ARTIFACT: tests clients that are wrong, slow or gone, and the end of a server."""
import json, os, resource, signal, socket, subprocess, sys, time, urllib.request

from serving import Server, check, texts

ARTIFACT = sys.argv[1]
HEAD = b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"


def say(server, data, closes=False):
    """Returns a server's reply to bytes, until it closes."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as client:
        try:
            for part in data if isinstance(data, list) else [data]:
                client.sendall(part)
            if closes:
                client.shutdown(socket.SHUT_WR)
        except (BrokenPipeError, ConnectionResetError):
            pass
        answer = b""
        try:
            while block := client.recv(1 << 16):
                answer += block
        except ConnectionResetError:
            pass
        return answer


def status(answer):
    return answer.split(b"\r\n")[0].decode()


def sized(body):
    return HEAD + b"Connection: close\r\nContent-Length: %d\r\n\r\n" % len(body) + body


def check_bytes(server):
    """Checks bytes that are no request, or too many."""
    check(status(say(server, b"nonsense\r\n\r\n"))[:12], "HTTP/1.1 400", "no HTTP")
    check(status(say(server, b"GET / HTTP/1.1\r\nA: " + b"a" * 40000 + b"\r\n\r\n"))[:12],
          "HTTP/1.1 431", "a long header")
    check(status(say(server, HEAD + b"Content-Length: 100000000\r\n\r\n"))[:12],
          "HTTP/1.1 413", "a long body that is announced")
    chunk = b"10000\r\n" + b"a" * 0x10000 + b"\r\n"
    check(status(say(server, [HEAD + b"Transfer-Encoding: chunked\r\n\r\n"] + [chunk] * 40))[:12],
          "HTTP/1.1 413", "a long body in chunks")
    check(status(say(server, HEAD + b"Content-Length: -5\r\n\r\n"))[:12], "HTTP/1.1 400",
          "a negative length")
    check(status(say(server, HEAD + b"Transfer-Encoding: chunked\r\n\r\n-1\r\n"))[:12],
          "HTTP/1.1 400", "a negative chunk")
    for body in (b"", b"{", b"[" * 100000, b'{"prompt": "\xff\xfe"}', b'{"prompt": "\\ud800"}',
                 b'{"prompt": ' + b"[" * 5000 + b"]" * 5000 + b"}"):
        answer = say(server, sized(body))
        check(status(answer), "HTTP/1.1 400 Bad Request", f"the body {body[:20]}")
        json.loads(answer.split(b"\r\n\r\n", 1)[1])
    # A chunked body is accepted.
    text = b'{"prompt": [1], "max_tokens": 2}'
    parts = b"".join(b"1\r\n%c\r\n" % byte for byte in text) + b"0\r\n\r\n"
    answer = say(server, HEAD + b"Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n" + parts)
    check(status(answer), "HTTP/1.1 200 OK", "a body in chunks of a byte")
    answer = say(server, sized(text).replace(b"Connection", b"Expect: 100-continue\r\nConnection"))
    check(status(answer), "HTTP/1.1 100 Continue", "a client that asks first")
    check(b"HTTP/1.1 200 OK" in answer, True, "its answer")


def check_slow(server):
    """Checks that the server does not wait for a client that sends nothing, or a byte now and then.
    """
    began = time.monotonic()
    check(say(server, b"GET /health HTTP/1.1\r\nHost:"), b"", "half a header")
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as client:
        try:
            while True:
                client.sendall(b"G")
                time.sleep(0.1)
        except (BrokenPipeError, ConnectionResetError):
            pass
    check(time.monotonic() - began < 30, True, "an end of waiting")
    # Many clients that send a header byte by byte delay no other client.
    clients = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(200)]
    before = time.monotonic()
    while clients and time.monotonic() - before < 30:
        clients = [client for client in clients if drips(client)]
        check(server.complete(prompt=[1], max_tokens=2)["usage"]["completion_tokens"], 2,
              "an answer beside slow headers")
    check(len(clients), 0, "slow headers that are still read")


def drips(client):
    """Sends a byte; returns false if the server has closed the connection."""
    try:
        client.sendall(b"G")
        return True
    except (BrokenPipeError, ConnectionResetError):
        client.close()
        return False


def check_sides(server):
    """Checks a half-closed connection, two requests at once, and HTTP/1.0."""
    check(status(say(server, b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n", closes=True)),
          "HTTP/1.1 200 OK", "a client that says no more")
    one = b"GET /version HTTP/1.1\r\nHost: x\r\n\r\n"
    answer = say(server, one * 50 + one.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
    check(answer.count(b'{"version"'), 51, "requests at once")
    # Generations, too, one after the other.
    body = b'{"prompt": [1], "max_tokens": 3, "k": 0, "ignore_eos": true, "temperature": 0}'
    two = HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body
    check(say(server, two + two + sized(body)).count(b'"finish_reason": "length"'), 3,
          "generations at once")
    last = one.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
    check(say(server, last + b"x" * 200000).count(b'{"version"'), 1, "bytes after the last request")
    body = b'{"prompt": [1], "max_tokens": 3, "stream": true}'
    answer = say(server, b"POST /v1/completions HTTP/1.0\r\nContent-Type: application/json\r\n"
                 b"Content-Length: %d\r\n\r\n" % len(body) + body)
    check((b"chunked" in answer.lower(), answer.endswith(b"data: [DONE]\n\n")), (False, True),
          "a stream of HTTP/1.0")


def check_idle(server):
    """Checks many silent connections."""
    count = int(os.environ["MTP_SERVE_IDLE"])
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    before = server.descriptors()
    clients = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(count)]
    check(server.complete(prompt=[1], max_tokens=3)["usage"]["completion_tokens"], 3, "an answer")
    check(server.descriptors() >= before + count, True, "their descriptors")
    for client in clients:
        client.close()
    check(server.descriptors_after(before), before, "descriptors after the connections")


def check_context(server):
    """Checks that a prompt and its answer can fill the context to its last token, but not beyond.
    """
    for size in (1, 100, 190, 191):
        body = {"prompt": [1 + i % 50 for i in range(size)], "ignore_eos": True}
        for k in (0, 1, 2, "auto"):
            choice = server.complete(**body, max_tokens=192 - size, k=k, return_token_ids=True)
            ids = choice["choices"][0]["token_ids"]
            check((len(ids), choice["choices"][0]["finish_reason"]), (192 - size, "length"),
                  f"a context that is full after {size} tokens at k = {k}")
        answer = server.complete(**body, max_tokens=193 - size)
        check(answer["usage"]["completion_tokens"], 192 - size,
              f"a limit that is cut after {size} tokens")
    check(server.refuse(prompt=[1] * 192, max_tokens=1)[1]["code"], "context_length_exceeded",
          "a prompt as long as the context")
    check(server.refuse(prompt=[1], k=3)[1]["param"], "k", "more drafts than there can be")


def check_slow_reader(server):
    """Checks that a client that reads late gets the whole answer."""
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        client.connect(("127.0.0.1", server.port))
        body = b'{"prompt": [1], "max_tokens": 80, "stream": true, "n": 16, "ignore_eos": true}'
        client.sendall(sized(body))
        time.sleep(0.5)
        answer = b""
        while block := client.recv(512):
            answer += block
    check(answer.count(b'"finish_reason": "length"'), 16, "ends for a slow reader")
    check(b"[DONE]" in answer, True, "its end")


def first_bytes(client):
    """Returns the first bytes of the status; none if the server ended before it had the request."""
    try:
        return client.recv(12)
    except ConnectionResetError:
        return b""


def check_texts_at_the_end():
    """Checks that texts that wait for tokenization do not delay the server's end."""
    text = json.dumps({"prompt": "the house was great and " * 40000}).encode()
    server = Server(ARTIFACT, "--shutdown-timeout", "0", "--no-request-log")
    clients = [socket.create_connection(("127.0.0.1", server.port), timeout=60)
               for _ in range(40)]
    head = HEAD.replace(b"/v1/completions", b"/tokenize")
    for client in clients:
        client.sendall(head + b"Content-Length: %d\r\n\r\n" % len(text) + text)
    # Texts are read faster than they are encoded: others wait after the first.
    check(clients[0].recv(1 << 16)[:12], b"HTTP/1.1 200", "the first text")
    server.process.send_signal(signal.SIGTERM)
    answers = {first_bytes(client) for client in clients[1:]}
    check(b"HTTP/1.1 503" in answers, True, f"texts that were dropped ({answers})")
    for client in clients:
        client.close()
    server.wait(0)


def check_address():
    """Checks an IPv6 address in brackets, if the machine has IPv6."""
    with socket.socket(socket.AF_INET6) as place:
        try:
            place.bind(("::1", 0))
        except OSError:
            print("without IPv6")
            return
    with Server(ARTIFACT, "--host", "::1", "--no-request-log") as server:
        check(server.url, f"http://[::1]:{server.port}", "the address")
        with urllib.request.urlopen(server.url + "/v1/models", timeout=60) as reply:
            check(reply.status, 200, "an answer over IPv6")
        with socket.socket() as client:
            check(client.connect_ex(("127.0.0.1", server.port)) != 0, True, "one address alone")


def check_end():
    """Checks that SIGTERM lets running requests end, and checks wrong flags and ports in use."""
    server = Server(ARTIFACT, "--no-request-log")
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as client:
        client.sendall(sized(b'{"prompt": [1], "max_tokens": 90, "stream": true, "n": 200,'
                             b' "ignore_eos": true}'))
        answer = client.recv(1 << 16)
        server.process.send_signal(signal.SIGTERM)
        while block := client.recv(1 << 16):
            answer += block
    check(answer.count(b'"finish_reason": "length"'), 200, "answers at hand")
    server.wait(0)
    with Server(ARTIFACT) as server:
        second = subprocess.run(["mtp-serve", ARTIFACT, "--port", str(server.port)],
                                capture_output=True, text=True)
        check((second.returncode, "--port" in second.stderr), (1, True), "one port")
    check_texts_at_the_end()
    for flags in (["--port", "70000"], ["--api-key", ""], ["--max-waiting", "x"]):
        wrong = subprocess.run(["mtp-serve", ARTIFACT, *flags], capture_output=True)
        check(wrong.returncode, 2, f"the flags {flags}")


with Server(ARTIFACT, "--header-timeout", "1", "--max-body-bytes", "1048576") as server:
    for part in (check_bytes, check_slow, check_sides, check_idle, check_context,
                 check_slow_reader):
        part(server)
    check(server.ask("GET", "/health")[0], 200, "/health after all faults")
    check(texts(server.stream(prompt=[1], max_tokens=3))[1], ["length"], "a stream after faults")
check_address()
check_end()
print("all faults are borne")
