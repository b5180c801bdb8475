"""ray_smoke.py ARTIFACT FOLDER: tests the deployment of Ray Serve in FOLDER with two replicas on
two CPUs. First a server and then a replica is killed. Also tests the fields that the gate forwards,
and the error if there is no room. Needs ray[serve]."""
import contextlib, http.client, json, os, pathlib, re, shlex, signal, socket, sys, threading, time
from concurrent.futures import ThreadPoolExecutor

ARTIFACT, FOLDER = (os.path.abspath(name) for name in sys.argv[1:])
os.environ.update(MTP_SERVE_COMMAND=f"mtp-serve {ARTIFACT} --threads 1 --no-request-log "
                  "--cors-origin http://page",
                  PYTHONPATH=FOLDER, RAY_USAGE_STATS_ENABLED="0", RAY_DEDUP_LOGS="0")
sys.path.insert(0, FOLDER)
import ray
from ray import serve

from serving import alone, check

BODY = {"prompt": [5, 6, 7], "max_tokens": 20, "temperature": 0, "ignore_eos": True}


def free_port():
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        return place.getsockname()[1]


def ask(port, begun=None, **body):
    """Returns status and text of an answer; `begun` is released at its first byte."""
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=300)) as client:
        client.request("POST", "/v1/completions", json.dumps({**BODY, **body}),
                       {"Content-Type": "application/json"})
        reply = client.getresponse()
        text = reply.read(1)
        if begun:
            begun.release()
        return reply.status, (text + reply.read()).decode()


def servers():
    """Returns the mtp-serve processes of this artifact, and the replicas that own them."""
    found = {}
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                command = (entry / "cmdline").read_bytes().split(b"\0")
                if command[0] == b"mtp-serve" and ARTIFACT.encode() in command:
                    parent = (entry / "stat").read_text().rsplit(")", 1)[1].split()[1]
                    found[int(entry.name)] = int(parent)
    return found


def wait_for_two(gone):
    """Waits for two servers that answer, neither of which is `gone`."""
    for _ in range(600):
        if len(servers()) == 2 and gone not in servers():
            return
        time.sleep(0.2)
    sys.exit(f"expected two servers again, got {servers()}")


def busiest():
    """Returns the server that has used most of a processor for a moment."""
    def ticks():
        found = {}
        for process in servers():
            with contextlib.suppress(OSError):
                fields = pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
                found[process] = int(fields[11]) + int(fields[12])
        return found
    before = ticks()
    time.sleep(0.5)
    return max((count - before[process], process) for process, count in ticks().items()
               if process in before)[1]


def kill_in_the_middle(port, victim_of):
    """Runs streams on both replicas while one is killed, and requests right after that."""
    begun = threading.Semaphore(0)
    with ThreadPoolExecutor(40) as pool:
        streams = [pool.submit(ask, port, begun, stream=True, max_tokens=3000, temperature=i % 2,
                               seed=i // 2) for i in range(8)]
        for _ in streams:
            begun.acquire()
        victim = busiest()
        os.kill(victim_of(victim), signal.SIGKILL)
        plain = [pool.submit(ask, port) for _ in range(20)]
        texts = [future.result() for future in streams]
        answers = [future.result() for future in plain]
    check({status for status, _ in answers}, {200}, "answers after a kill")
    ids = {tuple(json.loads(text)["choices"][0]["token_ids"]) for _, text in answers}
    check(ids, {EXPECTED}, "their tokens")
    check({status for status, _ in texts}, {200}, "streams")
    for i, (_, text) in enumerate(texts):
        events = [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: {")]
        ids = [token for event in events for token in event["choices"][0]["token_ids"]]
        check(text.endswith("data: [DONE]\n\n"), True, f"the end of stream {i}")
        check(ids, alone(ARTIFACT, BODY["prompt"], max_tokens=3000, temperature=i % 2, seed=i // 2,
                         ignore_eos=True)["output_ids"], f"the tokens of stream {i}")
    continued = re.search(r"^mtp:gate_continued_streams_total (\d+)$",
                          fields_of(port, "GET", "/metrics")[2], re.M)
    check(int(continued[1]) > 0, True, "streams that went on elsewhere")
    return victim


def fields_of(port, method, target, **fields):
    """Returns status, fields and text of an answer; names of fields have - for _."""
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=300)) as client:
        client.request(method, target, headers={k.replace("_", "-"): v for k, v in fields.items()})
        reply = client.getresponse()
        return reply.status, reply.headers, reply.read().decode()


def check_fields(port):
    """Checks that fields of an answer pass through the gate, each once."""
    _, fields, _ = fields_of(port, "GET", "/v1/models", X_Request_Id="mine-1", Origin="http://page")
    check(fields.get_all("X-Request-Id"), ["mine-1"], "one request id")
    check(fields.get_all("Access-Control-Allow-Origin"), ["http://page"], "CORS")
    check(fields.get_all("Server") and len(fields.get_all("Server")), 1, "one Server")
    status, fields, _ = fields_of(port, "OPTIONS", "/v1/completions", Origin="http://page",
                                  Access_Control_Request_Headers="x-one")
    check((status, fields["Access-Control-Allow-Headers"]), (204, "x-one"), "what a page asks")
    _, fields, page = fields_of(port, "GET", "/")
    check(len(fields.get_all("Content-Security-Policy")), 1, "the page's policy")
    check(int(fields["Content-Length"]), len(page.encode()), "the page's length")


# Answers with the request's path and fields, and prints its address like mtp-serve.
ECHO = """
import http.server, json, sys
class Echo(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        text = json.dumps([self.path, self.headers.items()]).encode()
        self.send_response(200)
        for value in ("a=1", "b=2"):
            self.send_header("Set-Cookie", value)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Echo)
assert sys.argv[1:] == ["--replica", "--host", "127.0.0.1", "--port", "0"]
print(f"echo: http://127.0.0.1:{server.server_port}", file=sys.stderr, flush=True)
server.serve_forever()
"""
ECHO_COMMAND = f"{sys.executable} -c {shlex.quote(ECHO)}"


def check_requests(port):
    """Checks that a server gets the request as the client wrote it."""
    target = "/v1/models/a%2Fb%20c?x=1&y=%2F"
    _, fields, text = fields_of(port, "GET", target, X_Prefix_Affinity="chat-17",
                                Authorization="Bearer key", Connection="X-Own", X_Own="1",
                                X_Request_Id="mine-2")
    asked, sent = json.loads(text)
    sent = {name.lower(): value for name, value in sent}
    check(asked, target, "path and query")
    check((sent["x-prefix-affinity"], sent["authorization"], sent["x-request-id"]),
          ("chat-17", "Bearer key", "mine-2"), "fields of a request")
    check("x-own" in sent, False, "a field of one connection is handed on")
    check(fields.get_all("Set-Cookie"), ["a=1", "b=2"], "a field that comes twice")


def check_room():
    """Checks the error if there is no room for replicas."""
    try:
        serve.run(serve_mtp.build(ECHO_COMMAND, cpus=1.5, seconds=10))
    except RuntimeError:
        pass
    else:
        sys.exit("expected an error where two replicas have no room")
    status = serve.status().applications["default"]
    text = status.message + "".join(d.message for d in status.deployments.values())
    reason = "expected room for 2 replicas (MTP_SERVE_REPLICAS)"
    check(reason in text, True, f"the reason in {text}")


EXPECTED = tuple(alone(ARTIFACT, BODY["prompt"], max_tokens=20, temperature=0,
                       ignore_eos=True)["output_ids"])
PORT = free_port()
ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="error")
serve.start(http_options={"host": "127.0.0.1", "port": PORT})
import serve_mtp
serve.run(serve_mtp.app)
try:
    wait_for_two(0)
    BODY["return_token_ids"] = True
    check(tuple(json.loads(ask(PORT)[1])["choices"][0]["token_ids"]), EXPECTED, "an answer")
    check(ask(PORT, k=99)[0], 400, "the status of a refusal")
    check_fields(PORT)
    wait_for_two(kill_in_the_middle(PORT, lambda server: server))
    wait_for_two(kill_in_the_middle(PORT, lambda server: servers()[server]))
    check(ask(PORT)[0], 200, "an answer of new replicas")
    serve.run(serve_mtp.build(ECHO_COMMAND))
    check_requests(PORT)
    serve.delete("default")
    check_room()
finally:
    serve.shutdown()
    ray.shutdown()
for _ in range(100):
    if not servers():
        break
    time.sleep(0.2)
check(servers(), {}, "servers that are left")
print("one replica of two may be killed")
