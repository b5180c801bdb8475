"""api.py ARTIFACT: checks mtp-serve's replies, path by path and field by field."""
import json, sys

from serving import Server, alone, check, texts

ARTIFACT = sys.argv[1]
PROMPT = "the one"
BODY = {"prompt": PROMPT, "max_tokens": 24, "temperature": 0}


def check_completions(server):
    expected = alone(ARTIFACT, **BODY)
    answer = server.complete(**BODY)
    check(answer["object"], "text_completion", "the object")
    choice = answer["choices"][0]
    check(choice["text"], expected["text"], "the text")
    check(choice["finish_reason"], "length", "the end")
    check("token_ids" in choice, False, "ids that were not requested")
    usage = answer["usage"]
    check(usage["prompt_tokens"], expected["prompt_tokens"], "tokens of the prompt")
    check(usage["completion_tokens"], 24, "tokens of the answer")
    rounds = usage["speculation"]
    check(rounds["rounds"] > 0 and rounds["drafted_tokens"] >= rounds["accepted_tokens"], True,
          f"drafts ({rounds})")
    for k in ("auto", 2):
        answer = server.complete(**BODY, k=k, return_round_tokens=True)
        choice, counts = answer["choices"][0], answer["usage"]["speculation"]
        check(sum(choice["round_tokens"]), 24, f"tokens that came together, k = {k}")
        check(sum(choice["round_drafted"]), counts["drafted_tokens"], f"drafts of rounds, k = {k}")
    check(counts["drafted_tokens"] > 0, True, "drafts at k = 2")
    answer = server.complete(**BODY, k=0, return_token_ids=True)
    check(answer["choices"][0]["token_ids"], expected["output_ids"], "ids at k = 0")
    check(answer["usage"]["speculation"]["drafted_tokens"], 0, "drafts at k = 0")
    ids = server.ask("POST", "/tokenize", {"prompt": PROMPT})[2]["tokens"]
    answer = server.complete(**dict(BODY, prompt=ids), k="auto")
    check(answer["choices"][0]["text"], expected["text"], "the text of ids")
    text = server.ask("POST", "/detokenize", {"tokens": ids})[2]["prompt"]
    check(text, PROMPT, "ids as text")
    answer = server.complete(**BODY, echo=True)
    check(answer["choices"][0]["text"], PROMPT + expected["text"], "the text with its prompt")


def check_streams(server):
    expected = alone(ARTIFACT, **BODY)
    events = server.stream(**BODY)
    check(texts(events), ([expected["text"]], ["length"]), "a stream")
    check([e for e in events if "usage" in e], [], "usage that was not requested")
    events = server.stream(**BODY, echo=True, stream_options={"include_usage": True})
    check(texts(events), ([PROMPT + expected["text"]], ["length"]), "a stream with its prompt")
    check(events[-1]["choices"], [], "choices of the last event")
    check(events[-1]["usage"]["completion_tokens"], 24, "its usage")
    check([e["usage"] for e in events[:-1]], [None] * (len(events) - 1), "usage before it")


def check_several(server):
    """Checks that prompts, answers and seeds are in order."""
    body = {"max_tokens": 12, "temperature": 1, "seed": 40, "n": 2}
    texts_of = [c["text"] for c in server.complete(prompt=[PROMPT, "and"], **body)["choices"]]
    expected = [alone(ARTIFACT, prompt, max_tokens=12, temperature=1, seed=40 + i)["text"]
                for prompt in (PROMPT, "and") for i in range(2)]
    check(texts_of, expected, "two answers to two prompts")
    check(texts(server.stream(prompt=[PROMPT, "and"], **body))[0], expected, "the same, streamed")
    ids = [[5, 6, 7], [9, 8]]
    answers = server.complete(prompt=ids, max_tokens=6, temperature=0)["choices"]
    check([c["text"] for c in answers],
          [alone(ARTIFACT, p, max_tokens=6, temperature=0)["text"] for p in ids], "lists of ids")
    # Without a seed, no two answers are equal.
    first, second = (server.complete(**dict(BODY, temperature=1))["choices"][0]["text"]
                     for _ in range(2))
    check(first != second, True, "two seeds")


def check_stops(server):
    """Checks that each part of a text stops it, wherever tokens and characters begin."""
    whole = alone(ARTIFACT, **BODY)["text"]
    for begin in range(1, len(whole) - 2, 3):
        for size in (1, 2, 5):
            stop = whole[begin:begin + size]
            cut = whole[:whole.find(stop)]
            choice = server.complete(**BODY, stop=stop)["choices"][0]
            check((choice["text"], choice["finish_reason"]), (cut, "stop"), f"stop {stop!r}")
    stop = [whole[9:12], "not in it"]
    cut = whole[:whole.find(stop[0])]
    check(texts(server.stream(**BODY, stop=stop)), ([cut], ["stop"]), "a stream with a stop")
    # A possible begin of a stop string is held back, and released at the end.
    check(server.complete(**BODY, stop=whole[-2:] + "x")["choices"][0]["text"], whole, "no stop")
    ids = alone(ARTIFACT, **BODY)["output_ids"]
    answer = server.complete(**BODY, stop_token_ids=[ids[7]], return_token_ids=True)
    check(answer["choices"][0]["token_ids"], ids[:ids.index(ids[7])], "a stop token")
    # Only after `least` tokens.
    for least in (8, 12, 24):
        answers = [server.complete(**BODY, stop_token_ids=[ids[7]], min_tokens=least, k=k,
                                   return_token_ids=True)["choices"][0]["token_ids"]
                   for k in (0, 2)]
        check(answers[1], answers[0], f"a stop token after {least}, with drafts")
        first = ids.index(ids[7])
        check(answers[0][:first], ids[:first], "tokens before a stop token that is masked")
        check((len(answers[0]) >= least, ids[7] in answers[0]), (True, False),
              f"a stop token after {least}")
    answer = server.complete(**BODY, stop=whole[:2], min_tokens=24)
    check(answer["choices"][0]["text"], whole, "a stop string after all tokens")


def joined(events):
    """Returns the log-probabilities of a streamed completion as one object."""
    parts = [e["choices"][0]["logprobs"] for e in events if e["choices"]]
    return {key: [v for part in parts if part for v in part[key]]
            for key in ("tokens", "token_logprobs", "top_logprobs", "text_offset")}


def check_scores(server):
    """Checks log-probabilities, which depend on neither k nor the form."""
    body = dict(BODY, logprobs=3)
    choices = [server.complete(**body, k=k, return_token_ids=True)["choices"][0] for k in (0, 2)]
    plain, scores = choices[0], choices[0]["logprobs"]
    check(choices[1]["logprobs"], scores, "numbers at k = 2")
    check(joined(server.stream(**body)), scores, "streamed numbers")
    check([len(scores[key]) for key in sorted(scores)], [24] * 4, "one for each token")
    check([len(top) >= 3 for top in scores["top_logprobs"]], [True] * 24, "likeliest tokens")
    check([max(top.values()) for top in scores["top_logprobs"]], scores["token_logprobs"],
          "greedy tokens")
    # The answer as part of a prompt has the same numbers.
    ids = plain["prompt_token_ids"] + plain["token_ids"]
    echo = server.complete(prompt=ids, max_tokens=0, echo=True, logprobs=3)
    again = echo["choices"][0]["logprobs"]
    check(again["token_logprobs"][:1] + again["token_logprobs"][-24:],
          [None] + scores["token_logprobs"], "numbers of an echoed prompt")
    check(again["top_logprobs"][-24:], scores["top_logprobs"], "its likeliest tokens")
    by_ids = server.complete(prompt=ids, max_tokens=1, prompt_logprobs=0)["choices"][0]
    check([top[str(id)]["logprob"] for top, id in zip(by_ids["prompt_logprobs"][-24:], ids[-24:])],
          scores["token_logprobs"], "prompt_logprobs")
    native = server.complete("/completion", **BODY, n_predict=24, n_probs=3)
    check([p["logprob"] for p in native["completion_probabilities"]], scores["token_logprobs"],
          "numbers of llama-server's form")
    sampled = dict(BODY, temperature=0.8, top_k=4, seed=3, logprobs=20,
                   logprobs_mode="processed_logprobs")
    tops = [server.complete(**sampled, k=k)["choices"][0]["logprobs"]["top_logprobs"]
            for k in (0, 2)]
    check(tops[1], tops[0], "numbers after the filters")
    check({len(top) <= 4 for top in tops[0]}, {True}, "tokens that top-k keeps")
    stop = plain["text"][9:12]
    cut = server.complete(**body, stop=stop)["choices"][0]
    count = len(cut["logprobs"]["tokens"])
    check(cut["logprobs"]["tokens"], scores["tokens"][:count], "tokens before a stop string")
    check(scores["text_offset"][count] >= len(cut["text"]), True, "their number")


def check_schedule(server):
    """Checks fields that change no token."""
    expected = alone(ARTIFACT, **BODY)["text"]
    answers = [server.complete(**BODY, priority=priority, cache_salt=salt, timeout=60)
               for priority in (-1, 5) for salt in ("one salt", "another")]
    check([a["choices"][0]["text"] for a in answers], [expected] * 4, "texts")
    long = dict(BODY, prompt=" ".join(["the one"] * 10), max_tokens=2)
    cached = [server.complete(**long, cache_salt=salt)["usage"]["prompt_tokens_details"]
              ["cached_tokens"] > 0 for salt in ("x", "y", "x")]
    check(cached, [False, False, True], "pages that are shared by salts")
    check(server.refuse(**dict(BODY, max_tokens=160), timeout=1e-6)[0], 504, "no time")


def check_refusals(server):
    for field, value in [("logit_bias", {"x": 1}), ("logprobs", 21), ("min_tokens", 25),
                         ("presence_penalty", 3), ("k", 3), ("mirostat", 2),
                         ("max_tokens", -2), ("temperature", "hot"), ("tools", [{}])]:
        status, error = server.refuse(**{**BODY, field: value})
        check((status, error["param"].split(".")[0]), (400, field), f"{field} = {value}")
        check(error["type"], "invalid_request_error", "its type")
    status, error = server.refuse(**dict(BODY, prompt="word " * 200))
    check((status, error["code"]), (400, "context_length_exceeded"), "a long prompt")
    # The first request is refused before it begins, the second one after its prompt.
    for rules, names in [({"logit_bias": [[5, False]]}, "allowed tokens, a bias of -infinity"),
                         ({"guided_regex": "0+"}, "allowed tokens, grammar")]:
        status, error = server.refuse(**BODY, allowed_token_ids=[5], **rules)
        check((status, error["message"].endswith(f"logit rules leave none ({names})")),
              (400, True), error["message"])


def check_strictness(server):
    """Checks what only a strict server refuses."""
    body = {"prompt": PROMPT, "max_tokens": 1000, "model": "none", "odd": 1, "keep_alive": "5m"}
    status, fields, answer = server.ask("POST", "/v1/completions/", body)
    check((status, fields["X-Ignored-Fields"]), (200, "odd"), "ignored fields")
    choice = answer["choices"][0]
    check(choice["finish_reason"] == "stop" or answer["usage"]["total_tokens"] == 192, True,
          "a limit beyond the context")
    with Server(ARTIFACT, "--strict") as strict:
        for field, value, code in [("max_tokens", 1000, 400), ("max_tokens", 190, 400),
                                   ("max_tokens", -1, 400), ("odd", 1, 400),
                                   ("model", "none", 404)]:
            status, error = strict.refuse(**{**BODY, field: value})
            check((status, error["param"]), (code, field), f"{field} = {value}, strictly")
    # curl's default type, which a page can send as well.
    for origin, expected in [({}, 200), ({"Origin": "http://a"}, 415)]:
        fields = dict(origin, **{"Content-Type": "application/x-www-form-urlencoded"})
        status = server.ask("POST", "/v1/completions", json.dumps(BODY), **fields)[0]
        check(status, expected, f"a form's type {origin}")


def check_rest(server):
    check(server.ask("GET", "/health")[0], 200, "/health")
    models = server.ask("GET", "/v1/models")[2]["data"]
    check([m["id"] for m in models], ["one", "two"], "models")
    check(models[0]["max_model_len"], 192, "the context")
    check(server.complete(**BODY, model="two")["model"], "one", "the model's name")
    check(server.ask("GET", "/props")[2]["total_slots"], 4, "slots")
    check(list(server.ask("GET", "/version")[2]), ["version"], "/version")
    status, fields, _ = server.ask("GET", "/health", X_Request_Id="mine-1")
    check(fields["X-Request-Id"], "mine-1", "the id of a request")
    check(server.ask("GET", "/health", X_Request_Id="a b")[1]["X-Request-Id"] == "a b", False,
          "an id that is none")
    fields = server.ask("OPTIONS", "/v1/completions", Origin="http://page",
                        Access_Control_Request_Headers="authorization,x-a")[1]
    check(fields["Access-Control-Allow-Origin"], "http://page", "an origin")
    check(fields["Access-Control-Allow-Headers"], "authorization,x-a", "its headers")
    fields = server.ask("GET", "/health", Origin="http://other")[1]
    check(fields["Access-Control-Allow-Origin"], None, "another origin")
    check(server.metric("vllm:request_success_total", finished_reason="length") > 10, True,
          "counted ends")
    check(server.metric("vllm:spec_decode_num_drafts_total") > 10, True, "counted drafts")
    rounds, rows, room = (server.metric(f"mtp:{name}_total") for name in
                          ("rounds", "round_rows", "round_rows_capacity"))
    check(0 < rounds <= rows <= room, True, f"rounds {rounds}, rows {rows} and room {room}")
    check(server.metric("vllm:num_requests_running"), 0, "who runs")
    check(server.metric("vllm:kv_cache_usage_perc"), 0, "pages")


TEMPLATE = """{% for m in messages %}<|endoftext|>{{ m.role }}: {{ m.content }}
{% endfor %}{{ mood }}{% if add_generation_prompt %}a:{% endif %}"""
CHAT = "/v1/chat/completions"
TALK = {"messages": [{"role": "s", "content": "be"},
                     {"role": "u", "content": [{"type": "text", "text": "one"},
                                               {"type": "text", "text": "<|endoftext|>"}]}],
        "max_tokens": 20, "temperature": 0}


def check_chat(server):
    # The user's special token is text; no prompt of a single text can express this.
    simple = dict(TALK, messages=[{"role": "u", "content": "the one"}])
    expected = alone(ARTIFACT, "<|endoftext|>u: the one\na:", special=True, max_tokens=20,
                     temperature=0)
    answer = server.complete(CHAT, **simple)
    check(answer["object"], "chat.completion", "the object of a chat")
    check(answer["choices"][0]["message"], {"role": "assistant", "content": expected["text"]},
          "an answer in a chat")
    check(answer["usage"]["prompt_tokens"], expected["prompt_tokens"], "tokens of a chat")
    events = server.stream(CHAT, **simple, stream_options={"include_usage": True})
    check(texts(events), ([expected["text"]], ["length"]), "a streamed chat")
    check(events[0]["choices"][0]["delta"]["role"], "assistant", "who answers")
    check(["role" in e["choices"][0]["delta"] for e in events[1:-1]],
          [False] * (len(events) - 2), "who answers, again")
    spelled = server.complete(CHAT, **TALK, return_token_ids=True)
    ids = spelled["choices"][0]["prompt_token_ids"]
    mark = server.ask("POST", "/tokenize", {"prompt": "<|endoftext|>", "parse_special": True,
                                            "add_special_tokens": False})[2]["tokens"]
    check((len(mark), ids.count(mark[0])), (1, 2), "marks that the template wrote")
    other = server.complete(CHAT, **simple, chat_template_kwargs={"mood": "day "},
                            add_generation_prompt=False)
    expected = alone(ARTIFACT, "<|endoftext|>u: the one\nday ", special=True, max_tokens=20,
                     temperature=0)
    check(other["choices"][0]["message"]["content"], expected["text"], "variables of a template")
    for field, value in [("messages", []), ("messages", [3]), ("messages", None),
                         ("messages", [{"content": "x"}]), ("tools", [{"type": "function"}]),
                         ("messages", [{"role": "u", "content": [{"type": "image_url"}]}]),
                         ("chat_template_kwargs", {"messages": 1}), ("top_logprobs", 1),
                         ("prompt", "x")]:
        status, error = server.refuse(CHAT, **dict(simple, **{field: value}))
        check((status, error["param"].split(".")[0].split("[")[0]), (400, field),
              f"{field} {value}")


def check_chat_scores(server):
    body = dict(TALK, messages=[{"role": "u", "content": "the one"}], logprobs=True)
    answers = [server.complete(CHAT, **body, top_logprobs=2, k=k) for k in (0, 2)]
    content = answers[0]["choices"][0]["logprobs"]["content"]
    check(answers[1]["choices"][0]["logprobs"]["content"], content, "a chat's numbers")
    check([t["top_logprobs"][0]["bytes"] == t["bytes"] for t in content], [True] * len(content),
          "bytes of greedy tokens")
    text = b"".join(bytes(t["bytes"]) for t in content).decode(errors="replace")
    check(text, answers[0]["choices"][0]["message"]["content"], "the text of these bytes")
    parts = [e["choices"][0]["logprobs"] for e in server.stream(CHAT, **body, top_logprobs=2)]
    check([t for part in parts if part for t in part["content"]], content, "streamed numbers")


def check_reasoning(server):
    """Checks a prompt that begins with reasoning."""
    text = alone(ARTIFACT, "the one<think>", special=True, max_tokens=20, temperature=0)["text"]
    body = dict(TALK, messages=[{"role": "u", "content": "the one"}])
    message = server.complete(CHAT, **body)["choices"][0]["message"]
    check(message, {"role": "assistant", "reasoning_content": text, "content": ""}, "thoughts")
    check(texts(server.stream(CHAT, **body))[0], [text], "streamed thoughts")


with Server(ARTIFACT) as server:
    status, error = server.refuse(CHAT, **TALK)
    check((status, "template" in error["message"]), (400, True), "a chat without a template")
with open("chat.jinja", "w") as file:
    file.write(TEMPLATE)
with Server(ARTIFACT, "--chat-template", "chat.jinja", "--reasoning-format", "none") as server:
    check_chat(server)
    check_chat_scores(server)
with open("think.jinja", "w") as file:
    file.write("{{ messages[0].content }}<think>")
with Server(ARTIFACT, "--chat-template", "think.jinja") as server:
    check_reasoning(server)

with Server(ARTIFACT, "--served-model-name", "one", "--served-model-name", "two",
            "--cors-origin", "http://page") as server:
    for part in (check_completions, check_streams, check_several, check_stops, check_scores,
                 check_schedule, check_refusals, check_strictness, check_rest):
        part(server)
    log = server.stop()
    check('"POST /v1/completions" 200 prompt=' in log and " mine-1 " in log, True, "the log")
    check(" ignored=odd " in log, True, "the log of ignored fields")

with open("keys", "w") as keys:
    keys.write("first\n\nsecond\n")
with Server(ARTIFACT, "--api-key-file", "keys", "--no-request-log") as server:
    check(server.ask("GET", "/v1/models")[0], 401, "no key")
    check(server.ask("GET", "/v1/models", Authorization="Bearer third")[0], 401, "a wrong key")
    check(server.ask("GET", "/v1/models", Authorization="Bearer second")[0], 200, "a key")
    check(server.ask("GET", "/v1/models", X_Api_Key="second")[0], 200, "a key of Anthropic's")
    check(server.ask("GET", "/health")[0], 200, "/health without a key")
    check(server.stop(), "", "a log that is turned off")
print("all answers are right")
