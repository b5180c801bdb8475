"""streams.py ARTIFACT [DEVICE]: many streams at once (MTP_SERVE_STREAMS), some of them cancelled
and some not streamed. Each that ends is what mtp-run writes for it alone; nothing is left."""
import os, random, sys, time
from concurrent.futures import ThreadPoolExecutor

from serving import Server, alone, check, texts

ARTIFACT, COUNT = sys.argv[1], int(os.environ["MTP_SERVE_STREAMS"])
DEVICE = sys.argv[2] if len(sys.argv) > 2 else "cpu"
WORDS = ["the", "one", "and", "a", "house", "was", "great", "day", "b"]


def make(number):
    rng = random.Random(number)
    body = {"max_tokens": rng.randint(1, 60), "temperature": rng.choice([0, 0.7, 1.2]),
            "seed": number, "ignore_eos": True, "k": rng.choice([0, 1, 2, "auto"]),
            "top_p": rng.choice([1, 0.9]), "top_k": rng.choice([0, 40])}
    # Prompts share beginnings, as those of one application do.
    words = WORDS[:rng.randint(1, 8)] + [rng.choice(WORDS)]
    body["prompt"] = " ".join(words) if number % 3 else [rng.randint(1, 90) for _ in words]
    return body


def run(server, number):
    """A stream's text; nothing of one that was cancelled."""
    body = make(number)
    if number % 5 == 4:
        server.stream(most=1, **body)
        return None
    if number % 7 == 3:
        return server.complete(**body)["choices"][0]["text"]
    events = server.stream(**body)
    return texts(events)[0][0]


with Server(ARTIFACT, "--no-request-log", f"--device={DEVICE}") as server:
    before = server.descriptors()
    with ThreadPoolExecutor(16) as pool:
        got = list(pool.map(lambda number: run(server, number), range(COUNT)))
    for _ in range(200):
        if not any(server.metric(f"vllm:num_requests_{state}") for state in ("running", "waiting")):
            break
        time.sleep(0.05)
    check(server.metric("vllm:num_requests_running"), 0, "who runs still")
    check(server.metric("vllm:kv_cache_usage_perc"), 0, "pages that are held")
    ends = sum(server.metric("vllm:request_success_total", finished_reason=reason)
               for reason in ("length", "stop", "abort"))
    check(ends, COUNT, "sequences that have ended")
    check(server.metric("vllm:request_success_total", finished_reason="error"), 0, "errors")
    for _ in range(200):
        if server.descriptors() == before:
            break
        time.sleep(0.05)
    check(server.descriptors(), before, "descriptors")
    # Without work it sleeps.
    switches = [server.switches()]
    for _ in range(20):
        time.sleep(0.2)
        switches.append(server.switches())
        if switches[-1] == switches[-2]:
            break
    check(switches[-1], switches[-2], "switches of an idle server")

for number, text in enumerate(got):
    if text is not None:
        check(text, alone(ARTIFACT, device=DEVICE, **make(number))["text"],
              f"stream {number}, {make(number)}")
print(f"{sum(text is not None for text in got)} streams are what they are alone")
