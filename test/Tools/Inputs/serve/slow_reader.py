"""slow_reader.py ARTIFACT: tests that clients that do not read are paused. Other clients get their
slots and pages, and a paused sequence continues with the tokens that it has alone. The context
must have room for more text than is kept for a connection, 6,000 tokens."""
import json, socket, sys, time

from serving import Server, alone, check, texts

ARTIFACT = sys.argv[1]
SLOW = {"prompt": [1, 2, 3], "max_tokens": 6000, "ignore_eos": True, "temperature": 0.7, "seed": 5,
        "return_token_ids": True}


class Reader:
    """A client that requests a stream and reads it on demand."""

    def __init__(self, server, body):
        self.client = socket.socket()
        self.client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        self.client.connect(("127.0.0.1", server.port))
        data = json.dumps(dict(body, stream=True)).encode()
        # HTTP/1.0 has no chunks.
        self.client.sendall(b"POST /v1/completions HTTP/1.0\r\nContent-Type: application/json\r\n"
                            b"Content-Length: %d\r\n\r\n" % len(data) + data)

    def read(self):
        """Returns the events, to the end."""
        reply = b""
        while block := self.client.recv(1 << 16):
            reply += block
        body = reply.split(b"\r\n\r\n", 1)[1].decode()
        lines = [line[len("data: "):] for line in body.splitlines() if line]
        check(lines[-1], "[DONE]", "the end of a stream")
        return [json.loads(line) for line in lines[:-1]]

    def close(self):
        self.client.close()


def await_metric(server, name, expected):
    for _ in range(3000):
        if (got := server.metric(name)) == expected:
            return
        time.sleep(0.02)
    check(got, expected, name)


def ids_of(events):
    """Returns the output ids; those of the prompt come first."""
    return [i for event in events for choice in event["choices"]
            for i in choice.get("token_ids") or []]


def check_paused(server):
    """Checks that a client that does not read has no slot, and gets all its tokens at the end."""
    slow = Reader(server, SLOW)
    await_metric(server, "mtp:num_requests_paused", 1)
    await_metric(server, "vllm:num_requests_running", 0)
    check(server.metric("vllm:kv_cache_usage_perc"), 0, "pages of who is paused")
    other = {"prompt": [4, 5], "max_tokens": 100, "ignore_eos": True, "temperature": 0}
    choice = server.complete(**other, return_token_ids=True)["choices"][0]
    check(choice["token_ids"], alone(ARTIFACT, **other)["output_ids"], "ids in the slot given away")
    # The sequence runs a moment longer if the kernel has buffered more of it.
    await_metric(server, "mtp:num_requests_paused", 1)
    events = slow.read()
    expected = alone(ARTIFACT, **SLOW)
    check(ids_of(events), expected["output_ids"], "ids of a slow reader")
    check(texts(events), ([expected["text"]], ["length"]), "the text of a slow reader")
    await_metric(server, "mtp:num_requests_paused", 0)


def check_gone(server):
    """Checks that several sequences can be paused at once, also the answers to one request,
    and that those of a client that leaves are removed."""
    readers = [Reader(server, dict(SLOW, seed=seed)) for seed in (6, 7)]
    both = Reader(server, dict(SLOW, n=2))
    await_metric(server, "mtp:num_requests_paused", 4)
    readers[0].close()
    await_metric(server, "mtp:num_requests_paused", 3)
    both.close()
    await_metric(server, "mtp:num_requests_paused", 1)
    check(server.metric("vllm:request_success_total", finished_reason="abort"), 3, "who has gone")
    expected = alone(ARTIFACT, **dict(SLOW, seed=7))["text"]
    check(texts(readers[1].read()), ([expected], ["length"]), "the text of who has stayed")
    await_metric(server, "mtp:num_requests_paused", 0)
    check(server.metric("vllm:kv_cache_usage_perc"), 0, "pages that are held")


with Server(ARTIFACT, "--stream-buffer", "4096", "--kernel-buffer", "8192", "--max-batch", "1",
            "--no-request-log") as server:
    check_paused(server)
    check_gone(server)
print("slow readers are paused and go on")
