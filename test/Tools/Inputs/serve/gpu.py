"""gpu.py ARTIFACT: tests a server on a GPU. Concurrent streams, with and without a grammar, equal
the output for each alone, a cancelled stream leaves nothing, and the server ends when told."""
import sys, time
from concurrent.futures import ThreadPoolExecutor

from restricted import restrict, texts_alone
from serving import Server, alone, check, texts

ARTIFACT = sys.argv[1]
BODIES = [{"prompt": prompt, "max_tokens": tokens, "temperature": 0.8 * (number % 2),
           "seed": number, "ignore_eos": True}
          for number, (prompt, tokens) in enumerate(
              [("the one", 6), ([7, 8, 9], 9), ("the one and a", 4), ([5], 7), ("the one", 5)])]
# An expression and a list of choices.
RESTRICTED = {number: restrict({"prompt": "the one", "max_tokens": 40, "seed": 1}, number)
              for number in (2, 3)}

with Server(ARTIFACT, "--no-request-log", "--device=cuda") as server:
    def run(body):
        return texts(server.stream(k=2, **body))[0][0]
    with ThreadPoolExecutor(len(BODIES) + len(RESTRICTED) + 1) as pool:
        gone = pool.submit(server.stream, most=1, prompt=[3, 4], max_tokens=100, k=2)
        got = list(pool.map(run, BODIES + list(RESTRICTED.values())))
        gone.result()
    for _ in range(600):
        if not any(server.metric(f"vllm:num_requests_{state}") for state in ("running", "waiting")):
            break
        time.sleep(0.05)
    check(server.metric("vllm:num_requests_running"), 0, "who runs still")
    check(server.metric("vllm:kv_cache_usage_perc"), 0, "pages that are held")
    check(server.metric("vllm:request_success_total", finished_reason="length"), len(BODIES),
          "answers")
    check(server.metric("vllm:request_success_total", finished_reason="stop"), len(RESTRICTED),
          "answers that end")
    check(server.metric("vllm:request_success_total", finished_reason="abort"), 1, "cancels")
    check(server.metric("vllm:spec_decode_num_drafts_total") > 0, True, "drafts")
for body, text in zip(BODIES, got):
    check(text, alone(ARTIFACT, device="cuda", **body)["text"], f"the text of {body}")
ALONE = texts_alone(ARTIFACT, RESTRICTED, "--device=cuda")
check(got[len(BODIES):], list(ALONE.values()), "the texts of restricted requests")
print("all answers are those of the GPU alone")
