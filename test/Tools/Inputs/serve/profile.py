"""profile.py MODEL FILE: checks that mtp-serve records a profile, goes on with it, and writes equal
tokens with and without one."""
import json, subprocess, sys

from serving import Server, check

MODEL, FILE = sys.argv[1:]
BODY = {"prompt": [1, 2, 3], "max_tokens": 40, "temperature": 0, "return_token_ids": True}


def run(*flags):
    """Returns the tokens of a request, and the log of the server."""
    with Server(MODEL, "-k", "auto", *flags) as server:
        tokens = server.complete(**BODY)["choices"][0]["token_ids"]
        return tokens, server.stop()


def recorded():
    text = subprocess.run(["mtp-dump", FILE, "--json"], capture_output=True, text=True,
                          check=True).stdout
    return json.loads(text)


plain, _ = run()
first, _ = run("--record", FILE)
check(first, plain, "tokens while a profile is recorded")
once = recorded()
tried = sum(sum(of["tried"]) for of in once["outcomes"])
check(tried > 0, True, "outcomes of drafts")
check(sum(once["load"]["prompts"]), 1, "prompts")
check(once["machines"][0]["threads"], 1, "threads")
check(len(once["machines"][0]["costs"]) > 0, True, "costs")
second, _ = run("--record", FILE, "--profile", FILE)
check(second, plain, "tokens with a profile")
check(sum(recorded()["load"]["prompts"]), 2, "prompts of both runs")
print("records and goes on")
