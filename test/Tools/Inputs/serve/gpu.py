"""gpu.py ARTIFACT: tests a server on a GPU. Each of several streams equals mtp-run's output alone,
a cancelled stream leaves nothing, and the server ends on request."""
import sys, time
from concurrent.futures import ThreadPoolExecutor

from serving import Server, alone, check, texts

ARTIFACT = sys.argv[1]
BODIES = [{"prompt": prompt, "max_tokens": tokens, "temperature": 0.8 * (number % 2),
           "seed": number, "ignore_eos": True}
          for number, (prompt, tokens) in enumerate(
              [("the one", 6), ([7, 8, 9], 9), ("the one and a", 4), ([5], 7), ("the one", 5)])]

with Server(ARTIFACT, "--no-request-log", "--device=cuda") as server:
    def run(body):
        return texts(server.stream(k=2, **body))[0][0]
    with ThreadPoolExecutor(len(BODIES) + 1) as pool:
        gone = pool.submit(server.stream, most=1, prompt=[3, 4], max_tokens=100, k=2)
        got = list(pool.map(run, BODIES))
        gone.result()
    for _ in range(600):
        if not any(server.metric(f"vllm:num_requests_{state}") for state in ("running", "waiting")):
            break
        time.sleep(0.05)
    check(server.metric("vllm:num_requests_running"), 0, "who runs still")
    check(server.metric("vllm:kv_cache_usage_perc"), 0, "pages that are held")
    check(server.metric("vllm:request_success_total", finished_reason="length"), len(BODIES),
          "answers")
    check(server.metric("vllm:request_success_total", finished_reason="abort"), 1, "cancels")
    check(server.metric("vllm:spec_decode_num_drafts_total") > 0, True, "drafts")
for body, text in zip(BODIES, got):
    check(text, alone(ARTIFACT, device="cuda", **body)["text"], f"the text of {body}")
print("all answers are those of the GPU alone")
