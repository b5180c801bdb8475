"""A server for tests of the page at /: it serves the page, and answers as a test says."""
import http.server, json, queue, threading

POLICY = ("default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
          "img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
          "frame-ancestors 'none'")


class Answer:
    """An answer of texts, one event each. `rounds` has pairs of tokens and drafts, one for each
    text. It waits for `gate` before the text of that index. `end` is the finish reason, or None
    for a stream that breaks off."""

    def __init__(self, *texts, rounds=None, gates=(), end="stop", prompt=10, thoughts=()):
        self.texts, self.end, self.prompt = texts, end, prompt
        self.rounds = rounds or [(1, 0)] + [(3, 4)] * (len(texts) - 1)
        self.gates = dict(gates)
        self.thoughts = thoughts

    def usage(self):
        tokens = sum(made for made, _ in self.rounds)
        drafted = [sum(n > i for _, n in self.rounds) for i in range(4)]
        accepted = [sum(made - 1 > i for made, n in self.rounds if n) for i in range(4)]
        return {"prompt_tokens": self.prompt, "completion_tokens": tokens,
                "total_tokens": self.prompt + tokens,
                "prompt_tokens_details": {"cached_tokens": 4},
                "speculation": {"rounds": len(self.rounds) - 1, "drafted_tokens": sum(drafted),
                                "accepted_tokens": sum(accepted), "drafted_by_position": drafted,
                                "accepted_by_position": accepted}}

    def events(self):
        """Yields events as bytes. A text of bytes is put into its event as it is."""
        yield event({"role": "assistant", "content": ""})
        for thought in self.thoughts:
            yield event({"reasoning_content": thought})
        for i, text in enumerate(self.texts):
            if i in self.gates:
                self.gates[i].wait(30)
            raw = text if isinstance(text, bytes) else None
            made, drafted = self.rounds[i]
            data = event({"content": "RAW" if raw else text}, round_tokens=[made],
                         round_drafted=[drafted])
            yield data.replace(b"RAW", raw) if raw else data
        if self.end:
            yield event({}, finish=self.end)
            yield b"data: " + json.dumps({"choices": [], "usage": self.usage()}).encode() + b"\n\n"
            yield b"data: [DONE]\n\n"


class Refusal:
    """An error as the server sends it."""

    def __init__(self, status, message, retry=0, **fields):
        self.status, self.retry = status, retry
        self.body = {"error": {"message": message, **fields}}


def event(delta, finish=None, **fields):
    choice = {"index": 0, "delta": delta, "finish_reason": finish, **fields}
    return b"data: " + json.dumps({"choices": [choice]}).encode() + b"\n\n"


class PageServer:
    """Serves the page of a file. `answers` are given in order; `bodies` are the requests."""

    def __init__(self, page):
        self.page = open(page, "rb").read()
        self.answers, self.bodies = queue.Queue(), []
        self.running = self.waiting = 0
        self.has_chat, self.context = True, 1024
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                outer.get(self)

            def do_POST(self):
                outer.post(self)

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.http.server_port}/"

    def __enter__(self):
        threading.Thread(target=self.http.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.http.shutdown()
        self.http.server_close()

    @staticmethod
    def send(handler, status, kind, data, **headers):
        handler.send_response(status)
        handler.send_header("Content-Type", kind)
        handler.send_header("Content-Length", str(len(data)))
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()
        handler.wfile.write(data)

    def get(self, handler):
        if handler.path == "/":
            self.send(handler, 200, "text/html; charset=utf-8", self.page,
                      Content_Security_Policy=POLICY)
        elif handler.path == "/props":
            self.send(handler, 200, "application/json", json.dumps(self.props()).encode())
        elif handler.path == "/metrics":
            text = "".join(f'vllm:num_requests_{name}{{model_name="m"}} {value}\n'
                           for name, value in [("running", self.running),
                                               ("waiting", self.waiting)])
            self.send(handler, 200, "text/plain", text.encode())
        else:
            self.send(handler, 404, "text/plain", b"")

    def props(self):
        params = {"temperature": 0.7, "top_k": 40, "top_p": 0.95, "min_p": 0}
        template = {"chat_template": "{{ messages }}"} if self.has_chat else {}
        return {"default_generation_settings": {"n_ctx": self.context, "params": params},
                "total_slots": 4, "max_k": 4, "model_alias": "Small-1B-Instruct", **template}

    def post(self, handler):
        body = json.loads(handler.rfile.read(int(handler.headers["Content-Length"])))
        body["affinity"] = handler.headers["X-Prefix-Affinity"]
        self.bodies.append(body)
        answer = self.answers.get(timeout=30)
        if isinstance(answer, Refusal):
            headers = {"Retry_After": str(answer.retry)} if answer.retry else {}
            self.send(handler, answer.status, "application/json",
                      json.dumps(answer.body).encode(), **headers)
            return
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.send_header("Connection", "close")
        handler.end_headers()
        try:
            for data in answer.events():
                handler.wfile.write(data)
                handler.wfile.flush()
        except OSError:
            pass  # The page has stopped the answer.
        handler.close_connection = True
