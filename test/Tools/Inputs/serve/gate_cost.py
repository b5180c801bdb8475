"""gate_cost.py ARTIFACT GATE cost|gap: by hand, for MEASURED.md. What the gate in the folder GATE
costs beside one server asked directly, or the time from SIGKILL to a stream's next event."""
import contextlib, http.client, json, os, re, signal, statistics, subprocess, sys, threading, time
from concurrent.futures import ThreadPoolExecutor

from serving import Server

ARTIFACT, GATE, PART = sys.argv[1:]
FLAGS = ("--no-request-log", "--replica", "--shutdown-timeout", "0")


def begin_gate(ports):
    process = subprocess.Popen(
        [sys.executable, os.path.join(GATE, "gate.py"), "--port", "0",
         *(word for port in ports for word in ("--server", f"127.0.0.1:{port}"))],
        stderr=subprocess.PIPE, text=True)
    port = int(re.search(r":(\d+)$", process.stderr.readline().strip())[1])
    threading.Thread(target=process.stderr.read, daemon=True).start()
    return process, port


def cpu_seconds(process):
    with open(f"/proc/{process.pid}/stat") as stat:
        user, system = stat.read().rsplit(")", 1)[1].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def requests_per_second(port, body, clients, seconds):
    """Returns requests per second, and the median time of one in milliseconds."""
    until = time.monotonic() + seconds

    def run():
        times = []
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        while time.monotonic() < until:
            begin = time.monotonic()
            connection.request("POST", "/v1/completions", body)
            connection.getresponse().read()
            times.append(time.monotonic() - begin)
        return times

    with ThreadPoolExecutor(clients) as pool:
        every = sum(pool.map(lambda _: run(), range(clients)), [])
    return len(every) / seconds, statistics.median(every) * 1000


def cost():
    whole = json.dumps({"prompt": [1, 2, 3], "max_tokens": 1})
    stream = json.dumps({"prompt": [1, 2, 3], "max_tokens": 200, "stream": True,
                         "ignore_eos": True})
    with Server(ARTIFACT, *FLAGS) as server:
        process, port = begin_gate([server.port])
        for name, body, clients in (("whole answers of 1 token", whole, 1),
                                    ("whole answers of 1 token", whole, 8),
                                    ("streams of 200 tokens", stream, 1),
                                    ("streams of 200 tokens", stream, 8)):
            direct = requests_per_second(server.port, body, clients, 3)
            before = cpu_seconds(process)
            through = requests_per_second(port, body, clients, 3)
            spent = (cpu_seconds(process) - before) / (through[0] * 3) * 1000
            print(f"{name}, {clients} clients: direct {direct[0]:.1f}/s {direct[1]:.2f} ms, gate "
                  f"{through[0]:.1f}/s {through[1]:.2f} ms, {spent:.2f} ms of its CPU each")
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def gap():
    """Returns the longest pause in milliseconds of a stream whose server is killed. The pause
    begins with SIGKILL at the earliest."""
    with contextlib.ExitStack() as stack:
        servers = [stack.enter_context(Server(ARTIFACT, *FLAGS)) for _ in range(2)]
        for server in servers:
            server.complete(prompt=[1, 2, 3], max_tokens=1)
        process, port = begin_gate([s.port for s in servers])
        # Requests of one affinity have one server.
        affinity = {"X-Prefix-Affinity": "a"}
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        connection.request("POST", "/v1/completions",
                           json.dumps({"prompt": [1, 2, 3], "max_tokens": 1}), affinity)
        connection.getresponse().read()
        victim = max(servers, key=lambda s: s.metric("vllm:generation_tokens_total"))
        for server in servers:
            server.stop = lambda: None
        connection.request("POST", "/v1/completions", json.dumps(
            {"prompt": [1, 2, 3], "max_tokens": 500, "stream": True, "ignore_eos": True}),
            affinity)
        reply = connection.getresponse()
        for _ in range(20):
            reply.readline()
        victim.process.send_signal(signal.SIGKILL)
        killed = time.monotonic()
        # Events that the client has already been sent come at once.
        longest = 0
        last = killed
        while line := reply.readline():
            now = time.monotonic()
            if line.startswith(b"data: {"):
                longest, last = max(longest, now - last), now
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port)) as metrics:
            metrics.request("GET", "/metrics")
            text = metrics.getresponse().read().decode()
        if "mtp:gate_continued_streams_total 1" not in text:
            sys.exit("expected a stream that goes on elsewhere")
        for ended in (process, *(s.process for s in servers)):
            ended.kill()
            ended.wait(60)
        return longest * 1000


if PART == "cost":
    cost()
else:
    GAPS = sorted(gap() for _ in range(10))
    print(f"from SIGKILL to the next event: median {statistics.median(GAPS):.1f} ms, "
          f"{GAPS[0]:.1f} to {GAPS[-1]:.1f} ms")
