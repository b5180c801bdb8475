"""A server under test, and a client that needs only the standard library."""
import contextlib, http.client, json, os, re, signal, subprocess, sys, threading, time


class Server:
    """mtp-serve with an artifact, on a free port."""

    def __init__(self, artifact, *flags, environment={}):
        self.artifact = artifact
        self.process = subprocess.Popen(
            ["mtp-serve", artifact, *([] if "--port" in flags else ["--port", "0"]),
             "--threads", "1", *flags],
            stderr=subprocess.PIPE, text=True, env={**os.environ, **environment})
        self.log, match = [], None
        for line in self.process.stderr:
            match = re.search(r"(http://[^ ]*):(\d+)$", line.strip())
            if match:
                break
            # Warnings, and the compilation of a model.
            self.log.append(line)
        if not match:
            sys.exit(f"expected an address, got {''.join(self.log)}")
        self.url, self.port = match[0], int(match[2])
        # A full pipe without a reader would block the server.
        self.reader = threading.Thread(target=lambda: self.log.extend(self.process.stderr))
        self.reader.start()

    def stop(self, number=signal.SIGTERM, expected=0):
        self.process.send_signal(number)
        return self.wait(expected)

    def wait(self, expected=0):
        status = self.process.wait(60)
        self.reader.join()
        check(status, expected, "the server's exit status")
        return "".join(self.log)

    def __enter__(self):
        return self

    def __exit__(self, kind, *rest):
        if self.process.poll() is None:
            self.process.kill() if kind else self.stop()
        self.reader.join()
        if kind:
            sys.stderr.write("".join(self.log[-20:]))

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def descriptors_after(self, expected):
        """Returns the number of descriptors, once it is as expected or after a timeout."""
        for _ in range(200):
            if self.descriptors() == expected:
                break
            time.sleep(0.05)
        return self.descriptors()

    def resident(self):
        """Returns the bytes of the server's own memory, without mapped files."""
        with open(f"/proc/{self.process.pid}/status") as status:
            return int(re.search(r"RssAnon:\s+(\d+) kB", status.read())[1]) << 10

    def switches(self):
        """Returns the number of context switches of its threads."""
        count = 0
        for task in os.listdir(f"/proc/{self.process.pid}/task"):
            with open(f"/proc/{self.process.pid}/task/{task}/status") as status:
                count += sum(int(n) for n in re.findall(r"ctxt_switches:\s+(\d+)", status.read()))
        return count

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)

    def ask(self, method, path, body=None, **headers):
        """Returns status, fields and JSON (else text) of a reply."""
        with contextlib.closing(self.connect()) as connection:
            data = None
            if body is not None:
                data = body if isinstance(body, (bytes, str)) else json.dumps(body)
                headers.setdefault("Content-Type", "application/json")
            connection.request(method, path, data,
                               {name.replace("_", "-"): value for name, value in headers.items()})
            reply = connection.getresponse()
            text = reply.read().decode()
            is_json = reply.headers.get("Content-Type", "").startswith("application/json")
            return reply.status, reply.headers, json.loads(text) if is_json else text

    def complete(self, path="/v1/completions", **body):
        status, _, answer = self.ask("POST", path, body)
        check(status, 200, f"the status of {body}: {answer}")
        return answer

    def refuse(self, path="/v1/completions", **body):
        """Returns status and error of a refused body."""
        status, _, answer = self.ask("POST", path, body)
        if status < 400:
            sys.exit(f"expected an error for {body}, got {answer}")
        return status, answer["error"]

    def stream(self, path="/v1/completions", most=None, **body):
        """Returns the events of a stream, or its first events, after which the client leaves."""
        with contextlib.closing(self.connect()) as connection:
            connection.request("POST", path, json.dumps(dict(body, stream=True)),
                               {"Content-Type": "application/json"})
            reply = connection.getresponse()
            if reply.status != 200:
                sys.exit(f"expected a stream for {body}, got {reply.read()}")
            check(reply.headers["Content-Type"], "text/event-stream", "the type of a stream")
            events = []
            while most is None or len(events) < most:
                line = reply.readline().decode()
                if not line:
                    sys.exit(f"expected [DONE] at the end, got {events[-1:]}")
                if line.strip() == "data: [DONE]":
                    check(reply.read(), b"\n", "the bytes after [DONE]")
                    break
                if line.strip():
                    if not line.startswith("data: "):
                        sys.exit(f"expected an event, got {line}")
                    events.append(json.loads(line[len("data: "):]))
            return events

    def events(self, path, **body):
        """Returns the events of a stream whose last event is not [DONE]."""
        status, _, text = self.ask("POST", path, dict(body, stream=True))
        check(status, 200, f"the status of {body}: {text}")
        return [json.loads(line[len("data: "):]) for line in text.splitlines()
                if line.startswith("data: ")]

    def metric(self, name, **labels):
        """Returns the value of a metric whose labels include these."""
        text = self.ask("GET", "/metrics")[2]
        for line in text.splitlines():
            if line.startswith(name + "{") and all(f'{k}="{v}"' in line for k, v in labels.items()):
                return float(line.rsplit(" ", 1)[1])
        sys.exit(f"expected a metric {name}, got {text}")


def check(got, expected, what):
    if got != expected:
        sys.exit(f"{what}: expected {expected!r}, got {got!r}")


def texts(events):
    """Returns the text and the finish reason of each choice of a stream."""
    parts, ends = {}, {}
    for event in events:
        for choice in event["choices"]:
            index = choice["index"]
            text = choice["text"] if "text" in choice else choice["delta"].get("content", "")
            text += choice.get("delta", {}).get("reasoning_content", "")
            parts[index] = parts.get(index, "") + text
            if index in ends:
                sys.exit(f"expected nothing after the end, got {choice}")
            if choice["finish_reason"]:
                ends[index] = choice["finish_reason"]
    return [parts[i] for i in sorted(parts)], [ends.get(i) for i in sorted(parts)]


def alone(artifact, prompt, special=False, device="cpu", **body):
    """Returns mtp-run's output for a prompt (a text or ids), without drafts and alone."""
    flags = ["--prompt", prompt]
    if not isinstance(prompt, str):
        flags = ["--ids", ",".join(map(str, prompt))]
    for name, flag in [("max_tokens", "-n"), ("temperature", "--temperature"), ("seed", "--seed"),
                       ("top_p", "--top-p"), ("top_k", "--top-k"), ("min_p", "--min-p")]:
        if name in body:
            flags += [flag, str(body[name])]
    if special:
        flags += ["--special", "--no-bos"]
    if body.get("ignore_eos"):
        flags.append("--ignore-eos")
    output = subprocess.run(["mtp-run", artifact, "--json", "--threads", "1", "-k", "0",
                             f"--device={device}", *flags],
                            check=True, capture_output=True, text=True).stdout
    return json.loads(output)["sequences"][0]
