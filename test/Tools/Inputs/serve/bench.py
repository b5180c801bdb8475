"""bench.py ARTIFACT: compares mtp-bench's report on a server with the server's counters."""
import json, socketserver, subprocess, sys, threading

from serving import Server, check

ARTIFACT = sys.argv[1]


def bench(port, *flags, status=0):
    done = subprocess.run(["mtp-bench", "--serve", f"http://127.0.0.1:{port}", "--json", *flags],
                          capture_output=True, text=True)
    check((done.returncode, done.stderr != ""), (status, status != 0), f"{flags}: {done.stderr}")
    return json.loads(done.stdout)


def check_spreads(report):
    for name in ("first_token", "between_events", "per_token", "request"):
        spread = report[name + "_seconds"]
        values = [spread[share] for share in ("p50", "p90", "p99", "most")]
        # On a busy machine each answer may come in a single event.
        if name == "between_events" and values == [None] * 4:
            continue
        check(values, sorted(values), f"the order of {name}")
        check(values[0] >= 0, True, f"{name} of {values}")


def check_counts(server):
    """Checks a closed loop, then an open one; requests do not depend on the answers."""
    flags = ["--vocab", "90", "--requests", "30", "--prompt-ids", "2-40", "--least-tokens", "2",
             "--max-tokens", "30"]
    closed = bench(server.port, *flags, "--clients", "4")
    check((closed["loop"], closed["clients"], closed["answered"]), ("closed", 4, 30), "a load")
    check(server.metric("vllm:generation_tokens_total"), closed["output_tokens"], "its tokens")
    check(server.metric("vllm:prompt_tokens_total"), closed["prompt_tokens"], "its prompts")
    check(60 <= closed["prompt_tokens"] <= 1200, True, "their lengths")
    check_spreads(closed)
    opened = bench(server.port, *flags, "--rate", "200")
    check((opened["loop"], opened["rate"]), ("open", 200), "another load")
    for name in ("answered", "prompt_tokens", "output_tokens", "errors"):
        check(opened[name], closed[name], f"{name} of the same seed")
    check(opened["cached_tokens"] > 0, True, "prompts that were there")
    check_spreads(opened)
    other = bench(server.port, *flags, "--seed", "2")
    check(other["prompt_tokens"] != closed["prompt_tokens"], True, "another seed")


def check_fields(server):
    """Checks texts, and further fields of requests."""
    with open("prompts.txt", "w") as file:
        file.write("the one\n\nand a house\n")
    before = server.metric("vllm:spec_decode_num_drafts_total")
    report = bench(server.port, "--prompts", "prompts.txt", "--requests", "8", "--field", "k=0",
                   "--temperature", "0.5", "--max-tokens", "9", "--model", "m")
    check((report["answered"], report["output_tokens"], report["prompts"]), (8, 72, 2), "texts")
    check(server.metric("vllm:spec_decode_num_drafts_total"), before, "drafts at k = 0")
    report = bench(server.port, "--requests", "4", "--max-tokens", "400", status=1)
    check((report["answered"], report["errors"]), (0, {"HTTP 400": 4}), "too long a context")


class Fake(socketserver.StreamRequestHandler):
    """Ends the first answers in invalid ways."""
    answers = 0

    def handle(self):
        while (line := self.rfile.readline()).strip():
            if line.lower().startswith(b"content-length:"):
                size = int(line.split(b":")[1])
        self.rfile.read(size)
        number, Fake.answers = Fake.answers, Fake.answers + 1
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
        event = b'data: {"choices":[{"text":" x"}]}\n\n'
        done = b"data: [DONE]\n\n"
        error = b'data: {"error":{"message":"no"}}\n\n'
        self.wfile.write([head[:30], head + event * 3, head + error, head + event * 3 + done,
                          head + done][number])


def check_wrong_servers():
    """Checks a body without length, and four incomplete answers."""
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Fake) as fake:
        threading.Thread(target=fake.serve_forever).start()
        report = bench(fake.server_address[1], "--requests", "5")
        fake.shutdown()
    check(report["errors"], {"the connection was closed": 1, "the stream had no [DONE]": 1, "no": 1,
                             "the stream had no output": 1}, "errors")
    check((report["answered"], report["output_tokens"]), (1, 3), "events without usage")


# Enough pages for all requests.
with Server(ARTIFACT, "--no-request-log", "--kv-pages", "400") as server:
    check_counts(server)
    check_fields(server)
with Server(ARTIFACT, "--no-request-log", "--api-key", "secret") as server:
    check(bench(server.port, "--requests", "2", status=1)["errors"], {"HTTP 401": 2}, "no key")
    check(bench(server.port, "--requests", "2", "--vocab", "90", "--api-key", "secret")["answered"],
          2, "a key")
check_wrong_servers()
print("the reports are what the server says")
