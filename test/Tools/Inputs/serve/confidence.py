"""confidence.py SURE CHAIN: tests the fields by which drafts end early. SURE is an artifact of
mtp-import --confidence, CHAIN one without it."""
import sys

from serving import Server, check

BODY = {"prompt": [1, 2, 3], "max_tokens": 30, "temperature": 0, "ignore_eos": True}


def drafts(server, **fields):
    """Returns the text of an answer, and the number of its drafts."""
    before = server.metric("vllm:spec_decode_num_draft_tokens_total")
    text = server.complete(**BODY, **fields)["choices"][0]["text"]
    return text, server.metric("vllm:spec_decode_num_draft_tokens_total") - before


with Server(sys.argv[1], "--no-request-log") as server:
    text, few = drafts(server)
    for name in ("draft_p_min", "speculative.p_min"):
        same, more = drafts(server, **{name: 0})
        check((same, more > few), (text, True), f"{more} drafts with {name}, else {few}")
with Server(sys.argv[2], "--no-request-log") as server:
    # Clients of llama-server send the field to any model.
    check(drafts(server, **{"speculative.p_min": 1}), drafts(server), "an ignored field")
    status, error = server.refuse(**BODY, draft_p_min=1)
    check((status, "confidence" in error["message"]), (400, True), error)
print("drafts end by the request's confidence")
