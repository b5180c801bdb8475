"""load.py ARTIFACT [DEVICE]: runs readers, slow readers and clients that go away, MTP_SERVE_STREAMS
at a time, for MTP_SERVE_SECONDS. Every third request is restricted by a grammar or bad words.
Checks that each completely read answer equals the answer to the request alone: mtp-run's output, or
for restricted requests a server's. Pages, descriptors and memory must return to their start values,
and an idle server must sleep."""
import asyncio, json, os, random, socket, sys, time
from concurrent.futures import ThreadPoolExecutor

from growth import EXACT, LONG_SECONDS, Growth
from restricted import restrict, texts_alone
from serving import Server, alone, check, texts

ARTIFACT = sys.argv[1]
DEVICE = sys.argv[2] if len(sys.argv) > 2 else "cpu"
STREAMS, SECONDS = int(os.environ["MTP_SERVE_STREAMS"]), float(os.environ["MTP_SERVE_SECONDS"])
WORDS = ["the", "one", "and", "a", "house", "was", "great", "day", "b"]
KINDS = ["reads"] * 6 + ["whole", "slow", "leaves", "leaves at once", "resets", "half"]
# Waves of requests: first for warm-up, then measured ones.
WARM_UP, WAVES = (10, 40) if SECONDS >= LONG_SECONDS else (4, 12)
AT_HAND = ["vllm:num_requests_running", "vllm:num_requests_waiting", "mtp:num_requests_paused"]


def make(number):
    """Returns a request: its prompt may share another's beginning, and its answer may have any
    length.
    """
    rng = random.Random(number)
    words = WORDS[:rng.randint(1, 8)] + [rng.choice(WORDS)]
    body = {"temperature": rng.choice([0, 0.7, 1.2]), "seed": number, "ignore_eos": True,
            "top_p": rng.choice([1, 0.9]), "top_k": rng.choice([0, 40]),
            "max_tokens": rng.choice([1, 5, 20, 60, 120])}
    body["prompt"] = " ".join(words) if number % 3 else [rng.randint(1, 90) for _ in words]
    return body if number % 3 != 1 else restrict(dict(body, max_tokens=120), number)


def request_bytes(body):
    data = json.dumps(body).encode()
    return (b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            b"Connection: close\r\nContent-Length: %d\r\n\r\n" % len(data)) + data


def body_of(reply):
    """Returns the body of a reply, decoded from chunks if necessary."""
    head, rest = reply.split(b"\r\n\r\n", 1)
    check(head.split(b"\r\n")[0], b"HTTP/1.1 200 OK", f"a status of {reply[:300]}")
    if b"chunked" not in head:
        return rest
    body = b""
    while (size := int((line := rest.split(b"\r\n", 1))[0], 16)):
        body += line[1][:size]
        rest = line[1][size + 2:]
    return body


def text_of(reply, streamed):
    body = body_of(reply).decode()
    if not streamed:
        return json.loads(body)["choices"][0]["text"]
    lines = [line[len("data: "):] for line in body.splitlines() if line]
    check(lines[-1], "[DONE]", "the end of a stream")
    return texts([json.loads(line) for line in lines[:-1]])[0][0]


async def ask(port, body, kind, rng):
    """Returns the whole reply; nothing if the client left early."""
    client = socket.socket()
    client.setblocking(False)
    if kind == "slow":
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    loop, reply = asyncio.get_running_loop(), b""
    try:
        await loop.sock_connect(client, ("127.0.0.1", port))
        await loop.sock_sendall(client, request_bytes(body))
        if kind == "leaves at once":
            return None
        if kind == "half":
            client.shutdown(socket.SHUT_WR)
        if kind == "resets":
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        while block := await loop.sock_recv(client, 300 if kind == "slow" else 1 << 16):
            reply += block
            if kind in ("leaves", "resets") and len(reply) > 300:
                return None
            if kind == "slow":
                await asyncio.sleep(rng.random() * 0.02)
        # The server treats a half-closed connection as gone, unless the answer was faster.
        return None if kind == "half" else reply
    except ConnectionResetError:
        check(kind, "half", "who is reset")
        return None
    finally:
        client.close()


class Load:
    """Clients that send requests until the time is up."""

    def __init__(self, server, bodies, expected):
        self.server, self.bodies, self.expected = server, bodies, expected
        self.counts = {}

    async def client(self, number, until):
        rng = random.Random(number)
        while time.monotonic() < until:
            which, kind = rng.randrange(len(self.bodies)), rng.choice(KINDS)
            body = dict(self.bodies[which], k=rng.choice([0, 1, 2, "auto"]), stream=kind != "whole")
            reply = await ask(self.server.port, body, kind, rng)
            self.counts[kind] = self.counts.get(kind, 0) + 1
            if reply is not None:
                check(text_of(reply, body["stream"]), self.expected[which], f"{kind}: {body}")

    async def clients(self, count, seconds, seed):
        until = time.monotonic() + seconds
        await asyncio.gather(*(self.client(seed + i, until) for i in range(count)))

    def run(self, count, seconds, seed):
        asyncio.run(self.clients(count, seconds, seed))
        self.settle()

    def settle(self):
        """Waits until no sequence is left."""
        for _ in range(400):
            if not any(self.server.metric(name) for name in AT_HAND):
                break
            time.sleep(0.05)
        for name in AT_HAND:
            check(self.server.metric(name), 0, f"who is at hand still ({name})")
        check(self.server.metric("vllm:kv_cache_usage_perc"), 0, "pages that are held")


def run_load(server, bodies, expected):
    load = Load(server, bodies, expected)
    descriptors = server.descriptors()
    growth = Growth()
    for wave in range(WARM_UP + WAVES):
        load.run(STREAMS, SECONDS / (WARM_UP + WAVES), seed=10000 * wave)
        if wave >= WARM_UP:
            growth.look(server, sum(load.counts.values()))
    check(server.descriptors_after(descriptors), descriptors, "descriptors")
    check(server.metric("vllm:request_success_total", finished_reason="error"), 0, "errors")
    missing = set(KINDS) - set(load.counts)
    check(missing, set(), f"kinds of clients that there were none of ({load.counts})")
    growth.report(SECONDS)
    return load.counts


def check_sleeps(server):
    switches = [server.switches()]
    for _ in range(20):
        time.sleep(0.2)
        switches.append(server.switches())
        if switches[-1] == switches[-2]:
            break
    check(switches[-1], switches[-2], "switches of an idle server")


BODIES = [make(number) for number in range(40)]
RESTRICTED = texts_alone(ARTIFACT, {i: BODIES[i] for i in range(len(BODIES)) if i % 3 == 1},
                         f"--device={DEVICE}")
with ThreadPoolExecutor(2) as pool:
    EXPECTED = list(pool.map(lambda i: RESTRICTED.get(i) or
                             alone(ARTIFACT, device=DEVICE, **BODIES[i])["text"],
                             range(len(BODIES))))
# Few slots and pages: sequences wait for both, and are preempted.
with Server(ARTIFACT, "--no-request-log", f"--device={DEVICE}", "--max-waiting",
            str(2 * STREAMS), "--kv-pages", "60", environment=EXACT) as server:
    COUNTS = run_load(server, BODIES, EXPECTED)
    check_sleeps(server)
print(f"{STREAMS} streams at a time leave nothing: {dict(sorted(COUNTS.items()))}")
